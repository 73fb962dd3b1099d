// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

/// The databases in which a listener looks for users and for replications, as CouchDB does.
///
/// They are databases like others, with feeds, revisions and replication of their own, and lie beside
/// them. They come into being when an administrator first asks for them. Only administrators may use
/// them; where a `_security` of theirs lets others in, those see and change the documents of users
/// that are their own.
enum SystemDatabase: String, Sendable, CaseIterable {
    /// A document for each user; see `UserDocument`. The configuration may name another database in its place; see
    /// `Site.systemDatabase(named:)`.
    case users = "_users"
    /// A document for each replication; see `ReplicatorDatabase`.
    case replicator = "_replicator"
    /// Nothing: scripts that set up a CouchDB make it, for feeds that this listener has without it.
    case globalChanges = "_global_changes"

    /// Checks a change of a document, and makes of it what is stored.
    ///
    /// - Parameters:
    ///   - id: The document's ID.
    ///   - received: The change.
    ///   - user: Who makes it.
    ///   - base: The revision that a user edits who is no administrator.
    ///   - settings: What is configured.
    /// - Returns: The change as it is stored.
    /// - Throws: `HTTPFailure` 403 when it makes no sense, or is not for this user, 400 when a password is not as it must be.
    func prepared(
        _ id: DocumentID, _ received: ReceivedDocument, by user: ListenerUser,
        editing base: Document?, _ settings: ListenerSettings
    ) throws -> ReceivedDocument {
        guard !id.isDesign, !received.isDeleted else { return received }
        switch self {
        case .globalChanges: return received
        case .users:
            return try UserDocument.prepared(
                id, received, by: user, editing: base, settings.passwords)
        case .replicator:
            let body = received.body.jsonValue().object ?? [:]
            do {
                _ = try ReplicateRequest(ReplicatorDatabase.request(in: body), hosts: [])
            } catch let failure as HTTPFailure {
                // What is asked for and not served is told in the document's state.
                guard failure.status != 501 else { return received }
                throw HTTPFailure.forbidden(failure.reason)
            }
            return received
        }
    }
}

extension Call {
    /// The system database that the path names; nil for the app's.
    var systemDatabase: SystemDatabase? { resource.database.flatMap(site.systemDatabase(named:)) }

    /// A change of a document as it is stored: in a system database more is asked of it.
    func prepared(_ id: DocumentID, _ received: ReceivedDocument, _ kind: ChangeKind) throws
        -> ReceivedDocument
    {
        guard let systemDatabase else { return received }
        // URLs under this name mean databases here.
        if systemDatabase == .replicator, let host = headers["Host"] { site.note(host: host) }
        if systemDatabase == .users, id == UsersDesign.id, case .edit = kind, !received.isDeleted,
            let rule = received.body["validate_doc_update"]?.string,
            !rule.hasSameBytes(as: UsersDesign.function)
        {
            throw HTTPFailure.notImplemented(
                "The listener checks accounts itself; put other rules into a design document of another name."
            )
        }
        let base = user.isAdmin ? nil : try ownRevision(id, kind)
        if !user.isAdmin, base == nil, received.isDeleted {
            throw user.name == nil ? onlyAdmins : .missing
        }
        return try systemDatabase.prepared(
            id, received, by: user, editing: base, site.configuration.settings)
    }

    /// The revision that a user edits who is no administrator: the current one of the own account, and no other.
    ///
    /// A user who could write on another branch could keep one with a role or a password that an administrator takes
    /// away, and make it the current one by deleting the administrator's.
    ///
    /// - Returns: nil where the user has no account yet.
    /// - Throws: `HTTPFailure` as `notTheirs` for every other document; 403 for a revision that was made elsewhere, and while
    ///   the account has conflicting revisions; 409 where the edit is of another revision.
    private func ownRevision(_ id: DocumentID, _ kind: ChangeKind) throws -> Document? {
        guard isOwnAccount(id) else {
            // What a client signs up with and is no account is refused by its form.
            if systemDatabase == .users, user.name == nil, !id.isDesign { return nil }
            throw notTheirs(id)
        }
        guard case .edit(let edited) = kind else {
            throw HTTPFailure.forbidden(
                "Only administrators may store revisions here that were made elsewhere.")
        }
        let branches = try UserDocument.branches(id, in: database)
        // Of an account that is there nothing is told, and nothing changed, whatever revision is named.
        // Nor is a name free that a user without a document has.
        let name = id.text.afterBytePrefix(UserDocument.prefix) ?? ""
        guard user.name != nil || (branches.isEmpty && site.accounts.account(name) == nil) else {
            throw HTTPFailure.conflict
        }
        guard branches.count <= 1 else {
            throw HTTPFailure.forbidden(
                "The account has conflicting revisions; an administrator must delete all but one first."
            )
        }
        let current = branches.first
        guard edited == current?.revisionID else { throw HTTPFailure.conflict }
        return current
    }

    /// Whether an ID is that of the account of the user who asks.
    func isOwnAccount(_ id: DocumentID) -> Bool {
        guard systemDatabase == .users else { return false }
        guard let name = user.name else { return id.text.hasBytePrefix(UserDocument.prefix) }
        return id == DocumentID(UserDocument.prefix + name)
    }

    /// Whether a client without a name asks to make an account, where clients may. What a `POST` makes is looked at with
    /// its body.
    func isSignUp(_ route: Route) -> Bool {
        guard user.name == nil, user.roles.isEmpty, systemDatabase == .users,
            site.configuration.settings.allowsSignUp
        else { return false }
        switch (route.method, route.pattern) {
        // What is no account is refused by its form.
        case ("PUT", "/{db}/{doc}"): return !documentID.isDesign && !documentID.isLocal
        case ("POST", "/{db}"): return true
        default: return false
        }
    }

    /// Whether a client without a name asks for an account, or to delete one, where the configuration
    /// lets such clients in: there is none for them.
    func asksForAccount(_ route: Route) -> Bool {
        guard user.name == nil, user.roles.isEmpty, systemDatabase == .users,
            ["GET", "DELETE"].contains(route.method), route.pattern == "/{db}/{doc}",
            documentID.text.hasBytePrefix(UserDocument.prefix)
        else { return false }
        return letsClientsAsk
    }

    /// Whether the configuration may let clients without a name into the database of users.
    private var letsClientsAsk: Bool {
        let settings = site.configuration.settings
        return settings.allowsSignUp || settings.openDatabases == .everyone
    }

    /// Refuses what a user who is no administrator may not do in a system database.
    func checkSystemAccess(_ route: Route, isMember: Bool) throws {
        guard !user.isAdmin, systemDatabase != nil else { return }
        if isSignUp(route) {
            guard try isOpenToClients else { throw onlyAdmins }
            return
        }
        if asksForAccount(route), try isOpenToClients { throw HTTPFailure.missing }
        if asksForView(route), try isOpenToClients {
            throw HTTPFailure.forbidden(Self.onlyForAdmins)
        }
        guard systemDatabase == .users, user.name != nil, isMember, try letsUsersIn else {
            throw onlyAdministrators(of: route)
        }
        if try administersUsers, isOfUsersAdministrators(route) { return }
        if route.pattern == "/{db}", route.method == "POST" { return }
        if route.pattern == Self.shownDocument, let id = scriptDocumentID.map({ DocumentID($0) }) {
            guard isOwnAccount(id) else { throw notTheirs(id) }
            return
        }
        guard route.pattern.hasBytePrefix("/{db}/{doc}") else {
            throw onlyAdministrators(of: route)
        }
        guard try isOwnAccount(documentID) || mayReadPublicFields(route) else {
            throw notTheirs(documentID)
        }
    }

    /// Whether a client without a name asks a view or a list of the database of users, where the
    /// configuration lets such clients in: it is told that no password of a user would help.
    func asksForView(_ route: Route) -> Bool {
        guard user.name == nil, user.roles.isEmpty, systemDatabase == .users else { return false }
        let isView = ["view", "list"].contains {
            route.pattern.hasBytePrefix("/{db}/_design/{ddoc}/_\($0)/")
        }
        return isView && letsClientsAsk
    }

    /// The pattern of a document as a function of a design document shows it.
    private static let shownDocument = "/{db}/_design/{ddoc}/_show/{name}/{id}"

    /// Whether the user is one of the admins whom the `_security` of the database of users names.
    var administersUsers: Bool {
        get throws { try systemDatabase == .users && isDatabaseAdmin }
    }

    /// Whether those admins may use a route: what reads accounts and design documents.
    private func isOfUsersAdministrators(_ route: Route) -> Bool {
        guard !route.isWrite, !route.isRewriting else { return false }
        return ["/{db}/{doc}", "/{db}/_design/{ddoc}/"].contains(where: route.pattern.hasBytePrefix)
    }

    /// Whether the database lets others than administrators in: a `_security` is stored, or the configuration opens databases
    /// that have none.
    private var letsUsersIn: Bool {
        get throws {
            try !SecurityObject.stored(in: database).isEmpty
                || site.configuration.settings.openDatabases == .everyone
        }
    }

    /// Whether clients without a name may make accounts, as far as the `_security` says.
    private var isOpenToClients: Bool {
        get throws {
            let security = try SecurityObject.stored(in: database)
            guard security.isEmpty else { return try SecurityObject(security).isOpen }
            return site.configuration.settings.openDatabases == .everyone
        }
    }

    /// Refuses a local document of a system database to those who are no administrators.
    func checkLocalWriting() throws {
        guard user.isAdmin || systemDatabase == nil else { throw onlyAdmins }
    }

    /// The refusal of a document that is not the user's account: to users who have one of their own no other is there.
    private func notTheirs(_ id: DocumentID) -> HTTPFailure {
        systemDatabase == .users && user.name != nil && !id.isDesign ? .missing : onlyAdmins
    }

    /// The refusal of a route. As in CouchDB, lists ask for an administrator, also where a user is signed in.
    private func onlyAdministrators(of route: Route) -> HTTPFailure {
        let isList = ["/{db}/_all_docs", "/{db}/_changes"].contains {
            route.pattern.hasBytePrefix($0)
        }
        return isList ? .unauthorized(Route.Access.serverAdmin.refusal) : onlyAdmins
    }

    private var onlyAdmins: HTTPFailure { refusal(Self.onlyForAdmins) }

    private static let onlyForAdmins = "Only admins can access system databases."
}
