// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel
internal import DivanReplication
internal import DivanSystem

/// A document of the database of users, which is `_users` unless configured: a user who may sign in.
///
///     {"_id": "org.couchdb.user:ann", "name": "ann", "type": "user", "roles": ["staff"],
///      "password": "secret"}                               as it is sent
///      "password_scheme": "pbkdf2", "pbkdf2_prf": "sha256", "iterations": 600000,
///      "salt": "9f…", "derived_key": "07…"}                as it is stored, in place of the password
///
/// The form is CouchDB 3.4's, so the database can be replicated from there and back. What was hashed in
/// another way (with SHA-1, by CouchDB 3.3 and earlier) stays as it is, and its user cannot sign in here.
enum UserDocument {
    /// How the IDs of such documents begin.
    static let prefix = "org.couchdb.user:"
    /// What stands behind the last of such IDs.
    static let end: DocumentID = "org.couchdb.user;"

    /// The longest that a user may make an account, in bytes: it is read for each request in the user's name, also where the
    /// password is wrong, before any other client is served.
    private static let longest = 64 << 10

    /// Checks a document and hashes the password in it.
    ///
    /// - Parameters:
    ///   - id: The document's ID.
    ///   - received: The document as it was sent.
    ///   - user: Who sends it.
    ///   - base: The revision that a user edits who is no administrator; nil for a new account.
    ///   - requirements: What a password must be like.
    /// - Returns: The document as it is stored.
    /// - Throws: `HTTPFailure` 400 or 403 where it describes no user, or changes what only administrators may, or the password
    ///   is not as it must be.
    static func prepared(
        _ id: DocumentID, _ received: ReceivedDocument, by user: ListenerUser,
        editing base: Document?, _ requirements: PasswordRequirements
    ) throws -> ReceivedDocument {
        let body = try checked(id, received.body)
        if !user.isAdmin {
            try checkKept(body, of: base)
            guard received.body.byteCount <= longest else {
                throw HTTPFailure(
                    413, "document_too_large",
                    "An account may be \(longest / 1_024) kB long; keep other data in another database."
                ).ofDocument
            }
        }
        var received = received
        received.body = try stored(received.body, body, requirements)
        return received
    }

    /// Reads a document that must be an account, by whatever way it has come.
    ///
    /// - Parameters:
    ///   - id: The document's ID.
    ///   - packed: Its properties.
    /// - Returns: Its properties.
    /// - Throws: `HTTPFailure` 403 where it describes no user.
    @discardableResult
    static func checked(_ id: DocumentID, _ packed: PackedValue) throws(HTTPFailure) -> JSONObject {
        let body = packed.jsonValue().object ?? [:]
        // One without a type is a user's by its ID and name.
        let isNamed = body["name"]?.string.map { id == DocumentID(prefix + $0) } ?? false
        guard body["type"].map({ $0.string == "user" }) ?? isNamed else {
            throw HTTPFailure.forbidden("doc.type must be user")
        }
        guard let name = body["name"]?.string, !name.isEmpty else {
            throw HTTPFailure.forbidden("doc.name is required")
        }
        guard let given = body["roles"] else { throw HTTPFailure.forbidden("doc.roles must exist") }
        guard let roles = given.array else {
            throw HTTPFailure.forbidden("doc.roles must be an array")
        }
        guard roles.allSatisfy({ $0.string != nil }) else {
            throw HTTPFailure.forbidden("doc.roles can only contain strings")
        }
        guard id == DocumentID(prefix + name) else {
            throw HTTPFailure.forbidden("Doc ID must be of the form org.couchdb.user:name")
        }
        try checkScheme(body)
        guard roles.compactMap(\.string).allSatisfy(isGivenRole) else {
            throw HTTPFailure.forbidden(
                "No system roles (starting with underscore) in users db.")
        }
        try check(name: name)
        return body
    }

    /// An account as it is stored: with its type, and the hash in place of the password.
    ///
    /// - Throws: `HTTPFailure` 400 or 403 where the password is not as it must be.
    private static func stored(
        _ packed: PackedValue, _ body: JSONObject, _ requirements: PasswordRequirements
    ) throws -> PackedValue {
        var changes: NameMap<JSONValue?> = [:]
        if body["type"] == nil { changes["type"] = .some("user") }
        if body["password"] != nil { changes["password"] = .some(nil) }
        if let password = body["password"], !password.isNull {
            guard let text = password.string else {
                throw HTTPFailure.forbidden("Password must be a string")
            }
            try requirements.check(text)
            for (key, value) in hashed(text) { changes[key] = value }
        }
        return changes.isEmpty ? packed : packed.replacing(changes)
    }

    /// Whether an account may have a role: of those that the listener gives a meaning only the one that shows metrics.
    private static func isGivenRole(_ role: String) -> Bool {
        !role.hasBytePrefix("_") || role.hasSameBytes(as: ListenerUser.metricsRole)
    }

    private static func check(name: String) throws(HTTPFailure) {
        guard !name.hasBytePrefix("_") else {
            throw HTTPFailure.forbidden("Username may not start with underscore.")
        }
        guard !name.utf8.contains(UInt8(ascii: ":")) else {
            throw HTTPFailure.forbidden("Character `:` is not allowed in usernames.")
        }
        guard !ListenerDevice.isUser(name) else {
            throw HTTPFailure.forbidden("Usernames of this form are those of paired devices.")
        }
    }

    /// Refuses a stored hash that no CouchDB can read; where a password is sent, the one in the document is replaced.
    private static func checkScheme(_ body: JSONObject) throws(HTTPFailure) {
        guard body["password"]?.string == nil, let scheme = body["password_scheme"] else { return }
        switch scheme.string {
        case "pbkdf2":
            guard body["iterations"]?.double != nil else {
                throw HTTPFailure.forbidden("iterations must be a number.")
            }
            guard body["derived_key"]?.string != nil else {
                throw HTTPFailure.forbidden("derived_key must be a string.")
            }
        case "simple": return
        default:
            guard !scheme.isNull, scheme.string != "" else { return }
            let name = scheme.string ?? scheme.description
            throw HTTPFailure.forbidden("Password scheme `\(name.prefix(60))` not supported.")
        }
    }

    /// Refuses changes of what is not the user's to change: the roles, and the hash but by a new password. A hash of the
    /// user's own choice could be one that takes minutes to check, or an old password that an administrator has replaced.
    private static func checkKept(_ body: JSONObject, of base: Document?) throws {
        func isKept(_ key: String, else value: JSONValue?) -> Bool {
            let former = base?.body[key]?.jsonValue() ?? value
            return body[key].map(exact) == former.map(exact)
        }
        guard isKept("roles", else: []) else {
            throw HTTPFailure.forbidden(
                base == nil ? "Only _admin may set roles" : "Only _admin may edit roles")
        }
        guard body["password"]?.string == nil else { return }
        guard hashKeys.allSatisfy({ isKept($0, else: nil) }) else {
            throw HTTPFailure.forbidden(
                "Send a `password` to change it, and leave its hash as it is.")
        }
    }

    private static func exact(_ value: JSONValue) -> ExactString { ExactString(value.description) }

    /// What is stored in place of a password.
    private static let hashKeys = [
        "password_scheme", "pbkdf2_prf", "iterations", "salt", "derived_key",
    ]

    private static func hashed(_ password: String) -> JSONObject {
        let salt = Hexadecimal.text(RandomBytes.make(16))
        let iterations = AccountsFile.iterations
        let key = Secrets.derive(password, salt: Array(salt.utf8), iterations: iterations)
        return [
            "password_scheme": "pbkdf2", "pbkdf2_prf": "sha256",
            "iterations": JSONValue(iterations), "salt": .string(salt),
            "derived_key": .string(Hexadecimal.text(key)),
        ]
    }

    /// An account that a replication brings as it is stored, under the revision ID that it came with, as in CouchDB.
    ///
    /// - Throws: `ReplicationError` where it describes no user, or its password is not as it must be.
    static func arriving(_ document: WireDocument, _ requirements: PasswordRequirements) throws
        -> WireDocument
    {
        guard let id = document.id, !id.isDesign else { return document }
        var document = document
        if document.isDeleted {
            document.body = document.body.replacing(["password": nil])
            return document
        }
        do {
            document.body = try stored(document.body, checked(id, document.body), requirements)
            return document
        } catch let failure as HTTPFailure {
            throw ReplicationError(.forbidden, failure.reason, documentID: id)
        }
    }

    /// Whether a document is an account with a password that was not hashed.
    static func hasPassword(_ document: Document) -> Bool {
        guard document.id.text.hasBytePrefix(prefix), let password = document.body["password"]
        else { return false }
        return !password.isNull
    }

    // MARK: - Signing in

    /// The live revisions of a document, the winner first.
    static func branches(_ id: DocumentID, in database: Database) throws -> [Document] {
        try database.read { transaction in
            let leaves = try transaction.recentTree(of: id)?.leaves ?? []
            return try leaves.filter { !$0.isTombstone }.map { leaf in
                guard let branch = try transaction.document(withID: id, revision: leaf.id) else {
                    throw HTTPFailure.missing
                }
                return branch
            }
        }
    }

    /// The account of a user; nil when there is no such document, or it was hashed in a way that is not
    /// known here.
    ///
    /// While the document has conflicting revisions, the user has the roles that all of them have, and signs in with
    /// a password that all of them have; without one, not at all. Nothing in a revision proves who made it, so
    /// none of them may give what another one does not.
    static func account(_ name: String, in database: Database?) -> AccountsFile.User? {
        account(of: branches(name, in: database))
    }

    /// The roles of a user's document, however its password was hashed: those that all of its revisions have.
    static func roles(_ name: String, in database: Database?) -> NameSet {
        let branches = branches(name, in: database)
        guard let first = branches.first else { return [] }
        return branches.dropFirst().reduce(into: roles(of: first)) { roles, branch in
            roles.formIntersection(self.roles(of: branch))
        }
    }

    private static func roles(of document: Document) -> NameSet {
        let roles = document.body["roles"]?.jsonValue().array ?? []
        return NameSet(roles.compactMap(\.string).filter(isGivenRole))
    }

    /// Whether the document of a user has conflicting revisions, by which the user cannot sign in.
    static func isBlocked(_ name: String, in database: Database?) -> Bool {
        let branches = branches(name, in: database)
        return branches.count > 1 && account(of: branches) == nil
    }

    private static func branches(_ name: String, in database: Database?) -> [Document] {
        guard let database, let branches = try? branches(DocumentID(prefix + name), in: database)
        else { return [] }
        return branches
    }

    private static func account(of branches: [Document]) -> AccountsFile.User? {
        guard let first = branches.first, var account = account(first) else { return nil }
        for branch in branches.dropFirst() {
            guard let other = self.account(branch), other.salt == account.salt,
                other.key == account.key, other.iterations == account.iterations
            else { return nil }
            account.roles.formIntersection(other.roles)
        }
        return account
    }

    private static func account(_ document: Document) -> AccountsFile.User? {
        guard case .object(let body) = document.body.jsonValue(),
            body["type"]?.string == "user", body["password_scheme"]?.string == "pbkdf2",
            body["pbkdf2_prf"]?.string == "sha256", let salt = body["salt"]?.string,
            let key = body["derived_key"]?.string.flatMap(Hexadecimal.bytes), key.count == 32,
            let iterations = body["iterations"]?.int64,
            (1...AccountsFile.User.mostIterations).contains(iterations)
        else { return nil }
        return AccountsFile.User(
            salt: Array(salt.utf8), key: key, iterations: Int(clamping: iterations),
            roles: roles(of: document))
    }
}
