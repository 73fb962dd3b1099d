// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
public import DivanJSON
public import DivanModel

/// Who makes a request.
public struct ListenerUser: Sendable, Hashable {
    /// The role of those who may do everything.
    public static let adminRole = "_admin"
    /// The role of a user who sees how the listener does, and nothing else.
    static let metricsRole = "_metrics"

    /// The name; nil for a client that gave none.
    @ByBytes public var name: String?
    /// The roles.
    public var roles: NameSet
    /// How the user was recognised: `cookie`, `default` (a password), `jwt`, `proxy`, `certificate` or `device`; nil when by nothing.
    public var method: String?
    /// The certificate that was shown over TLS, by whatever the user was recognised.
    public internal(set) var certificate: ListenerClientCertificate?
    /// The only databases that it may use, where it is a paired device; nil for all that let it in.
    var databases: NameSet?
    /// Whether the user's cookie is no longer new and is to be renewed.
    var wantsRenewal = false
    /// What the account was when it proved the user.
    var proof = AccountProof()

    /// Makes a user.
    public init(name: String? = nil, roles: NameSet = [], method: String? = nil) {
        self.name = name
        self.roles = roles
        self.method = method
    }

    /// Whether the user may do everything.
    public var isAdmin: Bool { roles.contains(Self.adminRole) }

    /// Whether this is the user of a name, byte for byte; false for nil.
    ///
    /// Ask this rather than `==`, by which a user is also taken for one whose name looks the same and has other bytes.
    public func isNamed(_ name: String?) -> Bool {
        name != nil && self.name.hasSameBytes(as: name)
    }
}

/// A change of a document that a client asks for.
public struct DocumentWrite: Sendable {
    /// The document's ID.
    public let documentID: DocumentID
    /// The new body.
    public let body: PackedValue
    /// Whether the change deletes the document.
    public let isDeletion: Bool
    /// The document as it is; nil when there is none.
    public let existing: Document?
}

/// What an app has to say about who may do what, beyond users and the security of databases.
///
/// ```swift
/// options.authorization.reading = { user, _, document in
///     user.isNamed(document["owner"].string)
/// }
/// ```
///
/// The functions run on the listener's workers, several at once, for each document that is about to be
/// sent or changed: also those in lists, feeds and replications. A document that a user may not read is answered as one that
/// does not exist, whatever the request, and is neither listed nor counted. What stays visible: a document cannot
/// be made under an ID that is taken (409), and sequences and sizes grow with every change. Reduced views, whose rows
/// combine the documents of all users, are refused while there is a `reading` function, and lists of local documents
/// are for administrators of the database. Nothing is asked for `_purge` and `_purged_infos`, which are for administrators.
public struct ListenerAuthorization: Sendable {
    /// Whether a request is served at all. Gets the method and the decoded components of the path.
    public var request: (@Sendable (ListenerUser, _ method: String, _ path: [String]) -> Bool)?
    /// Whether a user may read a revision; of a deleted document it gets the revision that deletes it.
    public var reading: (@Sendable (ListenerUser, Database, Document) -> Bool)?
    /// Whether a user may make a change.
    public var writing: (@Sendable (ListenerUser, Database, DocumentWrite) -> Bool)?

    /// Allows everything.
    public init() {}

    /// Whether it is asked before something is read.
    var isAskedToRead: Bool { request != nil || reading != nil }
}
