// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
package import DivanModel

/// Looks at a new revision before it is stored, and throws to refuse it.
///
/// ```swift
/// database.setValidation(named: "tasks have titles") { revision, context in
///     if revision["type"].string == "task", revision["title"].string == nil, !revision.isDeleted {
///         throw context.rejection("A task needs a title.")
///     }
/// }
/// ```
///
/// It gets the revision as it would be stored, tombstones included, and what that would replace.
public typealias ValidationFunction =
    @Sendable (_ revision: Document, _ context: ValidationContext) throws -> Void

/// What a validation function may know of a new revision beside the revision itself.
public struct ValidationContext: Sendable {
    /// The revision that the new one was made from, with its body.
    ///
    /// For an edit made here that is its parent; for one that arrived, the newest of its ancestors
    /// that is known here. It may be a tombstone. nil for the first revision of a document, and where
    /// that body is gone or no ancestor is known.
    public let oldRevision: Document?
    /// The document as reading it shows it now; nil when it does not exist or is deleted.
    ///
    /// It is the old revision, unless the new one makes or continues another branch.
    public let currentRevision: Document?
    /// Whether the revision is an edit made here.
    ///
    /// false for one that was made elsewhere and arrives, as by a replication: refusing it means to
    /// skip it, not to undo it where it was made.
    public let isLocal: Bool
    /// The ancestors of the new revision, newest first, as far as they are told.
    package let ancestors: [RevisionID]
    let newRevision: Document

    /// The top-level properties in which the new revision differs from the old one, in order:
    /// changed, added or removed.
    ///
    /// `_attachments` stands for all attachments. Without an old revision, all properties.
    public var changedKeys: [String] {
        let old = oldRevision?.body
        let keys = Set(newRevision.body.keys.map(JSONValue.string))
            .union((old?.keys ?? []).map(JSONValue.string))
        return keys.compactMap(\.string).filter { newRevision.body[$0] != old?[$0] }
            .sorted { $0.utf16.lexicographicallyPrecedes($1.utf16) }
    }

    /// Calls `body` with each changed property and its old and new values, which may be absent.
    public func forEachChange(
        _ body: (_ key: String, _ old: Fragment, _ new: Fragment) throws -> Void
    ) rethrows {
        for key in changedKeys {
            try body(key, Fragment(oldRevision?.body[key]), Fragment(newRevision.body[key]))
        }
    }

    /// The error to throw to refuse the revision.
    ///
    /// - Parameter message: A sentence for the author of the edit. It becomes the message of the
    ///   `DatabaseError`, and goes to the peer that sent the revision.
    /// - Returns: An error with code `.forbidden`.
    public func rejection(_ message: String = "The document is not valid.") -> DatabaseError {
        DatabaseError(
            .forbidden, message, documentID: newRevision.id, revisionID: newRevision.revisionID)
    }
}

extension Database {
    /// Registers a function that every new revision must pass, or replaces the one of that name.
    ///
    /// It is called for each revision that would be added, by a save, a deletion, `put`,
    /// `putExistingRevision`, the resolution of a conflict or a replication, before anything of it is
    /// written. When it throws, that operation fails and changes nothing; a batch may catch that and go
    /// on. All functions are asked, in the order of their names, until one throws.
    ///
    /// It runs inside the write transaction, on the thread that writes: reading the database in it
    /// shows what the transaction has done so far, writing to it throws `.databaseBusy`, and no
    /// other thread or process can write until it returns. Reads by others go on. One that takes
    /// over five seconds is logged, with its name and the document's ID.
    ///
    /// Functions hold for every handle on the database in this process, until they are removed or the
    /// last handle is closed. They are not stored. Other processes have their own. Functions are not
    /// asked about purges and local documents.
    ///
    /// A function under the ID of a design document, such as `_design/auth`, takes the place of the
    /// `validate_doc_update` in that document, also where an app runs such functions; see ``unrunValidations()``.
    ///
    /// - Parameters:
    ///   - name: The name under which to replace, find and remove it.
    ///   - function: The function. To refuse, it throws `context.rejection(_:)`, or any error, of which
    ///     the description becomes the message; a `DatabaseError` goes to the caller as it is.
    public func setValidation(named name: String, _ function: @escaping ValidationFunction) {
        core.validations[name] = function
    }

    /// The validation function of a name; nil when there is none.
    public func validation(named name: String) -> ValidationFunction? { core.validations[name] }

    /// Removes the validation function of a name; a missing one is fine.
    public func removeValidation(named name: String) { core.validations[name] = nil }

    /// The names of all validation functions, in the order in which they are asked.
    public var validationNames: [String] { core.validations.all.map(\.name) }
}
