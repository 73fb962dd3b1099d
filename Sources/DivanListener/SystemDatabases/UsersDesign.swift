// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel

/// The document `_design/_auth` of the database of users, which clients of CouchDB look for, and which says the rules of that database to
/// a CouchDB that it is replicated to.
///
/// Here the listener itself checks accounts (`UserDocument`), so a function of its own stands for the one in the document.
enum UsersDesign {
    static let id: DocumentID = "_design/_auth"

    /// Puts it into the database of users, and has nothing run its function here.
    static func add(to database: Database) throws {
        register(in: database)
        guard try database.document(withID: id) == nil else { return }
        _ = try database.put(
            id, ["language": "javascript", "validate_doc_update": .string(function)], parent: nil)
    }

    /// The name of the rule that there are accounts alone, without passwords.
    private static let rule = "accounts have the form of users, and hashes of passwords"

    /// Has nothing run its function, and nothing stored but accounts, whose passwords are hashed, by whatever way they come.
    /// Another function that was stored in place of this one is run.
    static func register(in database: Database) {
        if database.validation(named: rule) == nil {
            database.setValidation(named: rule) { revision, context in
                if UserDocument.hasPassword(revision) {
                    throw context.rejection(
                        "An account has the hash of a password, and not itself.")
                }
                guard !revision.isDeleted, !revision.id.isDesign else { return }
                do throws(HTTPFailure) {
                    try UserDocument.checked(revision.id, revision.body)
                } catch { throw context.rejection(error.reason) }
            }
        }
        guard database.validation(named: id.text) == nil else { return }
        if let stored = try? database.document(withID: id),
            !function.hasSameBytes(as: stored["validate_doc_update"].string)
        {
            return
        }
        database.setValidation(named: id.text) { _, _ in }
    }

    /// Undoes `register`: the database is none of users any more.
    static func unregister(in database: Database) {
        database.removeValidation(named: rule)
        database.removeValidation(named: id.text)
    }

    /// The rules as a validation function.
    static let function = """
        function (after, before, user, security) {
          function refuse(why) { throw({forbidden: why}); }
          function shares(some, others) {
            return (some || []).some(function (one) { return (others || []).indexOf(one) >= 0; });
          }
          var admins = (security && security.admins) || {};
          var isAdmin = user.roles.indexOf('_admin') >= 0 || shares(user.roles, admins.roles)
            || (admins.names || []).indexOf(user.name) >= 0;
          if (after._deleted === true) {
            if (!isAdmin && (!before || before.name !== user.name)) {
              refuse('Only administrators may delete the accounts of others.');
            }
            return;
          }
          if (after.type !== 'user') { refuse('doc.type must be user'); }
          if (!after.name) { refuse('doc.name is required'); }
          if (after._id !== 'org.couchdb.user:' + after.name) {
            refuse('Docs id must be of the form org.couchdb.user:name.');
          }
          if (!Array.isArray(after.roles)) { refuse('doc.roles must be an array'); }
          after.roles.forEach(function (role) {
            if (typeof role !== 'string') { refuse('doc.roles must be an array of strings'); }
            if (role.charAt(0) === '_') {
              refuse('No system roles (starting with underscore) in users db.');
            }
          });
          if (isAdmin) { return; }
          if (before && before.name !== user.name) { refuse('This account is not yours.'); }
          var former = before ? before.roles : [];
          if (JSON.stringify(after.roles.slice().sort()) !== JSON.stringify(former.slice().sort())) {
            refuse('Only _admin may set roles');
          }
        }
        """
}
