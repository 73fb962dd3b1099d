// SPDX-License-Identifier: Apache-2.0

package import DivanDatabase
package import DivanJSON
internal import DivanModel

/// A database's `_security`: who may read and write it, and who may also change its design.
///
///     {"admins":  {"names": ["ann"], "roles": []},
///      "members": {"names": [], "roles": ["staff"]}}
///
/// A database without members is open to every user that is signed in. It is kept in a local document
/// that no client can reach.
struct SecurityObject: Sendable {
    private static let documentID: DocumentID = "\(Call.hiddenPrefix)security"

    /// That of a database for server administrators alone.
    static let adminsOnly: JSONObject = [
        "members": ["roles": [.string(ListenerUser.adminRole)]],
        "admins": ["roles": [.string(ListenerUser.adminRole)]],
    ]

    private struct Group {
        var names: NameSet = []
        var roles: NameSet = []

        var isEmpty: Bool { names.isEmpty && roles.isEmpty }

        init(_ value: JSONValue?) throws {
            guard let value else { return }
            guard value.object != nil else { throw Self.malformed }
            names = NameSet(try Self.texts(value["names"]))
            roles = NameSet(try Self.texts(value["roles"]))
        }

        func contains(_ user: ListenerUser) -> Bool {
            user.name.map(names.contains) ?? false || !roles.isDisjoint(with: user.roles)
        }

        private static func texts(_ value: JSONValue?) throws -> [String] {
            guard let value else { return [] }
            guard let items = value.array else { throw malformed }
            return try items.map { item in
                guard let text = item.string else { throw malformed }
                return text
            }
        }

        private static let malformed = HTTPFailure.badRequest(
            "Names and roles must be JSON lists of strings.")
    }

    private var admins: Group
    private var members: Group
    /// Whether it says anything.
    private let isStored: Bool

    /// Reads an object.
    ///
    /// - Throws: `HTTPFailure` 400 when it is malformed.
    init(_ object: JSONObject) throws {
        isStored = !object.isEmpty
        admins = try Group(object["admins"])
        members = try Group(object["members"] ?? object["readers"])
    }

    /// The object of a database; empty when none was stored.
    static func stored(in database: Database) throws -> JSONObject {
        try database.localDocument(documentID) ?? [:]
    }

    static func store(_ object: JSONObject, in database: Database) throws {
        try database.putLocalDocument(documentID, object)
    }

    /// Whether it names no members.
    var isForAll: Bool { members.isEmpty }

    /// Whether it says that there are no members: in the database of users, that clients may sign up.
    var isOpen: Bool { isStored && members.isEmpty }

    /// Whether a user administers the database.
    func isAdmin(_ user: ListenerUser) -> Bool { user.isAdmin || admins.contains(user) }

    /// Whether a user may read and write documents.
    func isMember(_ user: ListenerUser, _ settings: ListenerSettings) -> Bool {
        if isAdmin(user) { return true }
        guard members.isEmpty else { return members.contains(user) }
        switch settings.openDatabases {
        case .everyone: return true
        case .users: return user.name != nil
        case .admins: return isStored && user.name != nil
        }
    }
}

extension Database {
    /// Who may do what, as listeners have stored it: CouchDB's `_security`; empty when nothing is stored.
    package var storedSecurity: JSONObject {
        get throws { try SecurityObject.stored(in: self) }
    }
}

extension Call {
    /// The security of the database that the path names.
    private var security: SecurityObject {
        get throws { try SecurityObject(SecurityObject.stored(in: database)) }
    }

    var isDatabaseAdmin: Bool {
        get throws { try user.isAdmin || user.databases == nil && security.isAdmin(user) }
    }

    /// Refuses a client without credentials, before a database is looked for: such a client may use none, and
    /// does not learn which there are.
    func checkStranger(_ route: Route) throws {
        guard user.name == nil, user.roles.isEmpty else { return }
        let settings = settings
        if settings.requiresUser, !isOpenToStrangers(route, settings) {
            throw HTTPFailure.unauthorized("Authentication required.")
        }
        if isSignUp(route) || asksForAccount(route) || asksForView(route) { return }
        switch access(of: route) {
        case .anyone: return
        case .member where settings.openDatabases == .everyone && systemDatabase == nil: return
        default: throw HTTPFailure.unauthorized(route.access.refusal)
        }
    }

    private var settings: ListenerSettings { site.configuration.settings }

    /// Who may use a route, as it is configured.
    private func access(of route: Route) -> Route.Access {
        let isList = ["/_all_dbs", "/_dbs_info"].contains(route.pattern)
        return isList && !settings.hidesDatabaseNames ? .anyone : route.access
    }

    /// Whether a route serves clients without credentials where all others are to show some: those by which they are
    /// found out, and by which devices are paired.
    private func isOpenToStrangers(_ route: Route, _ settings: ListenerSettings) -> Bool {
        switch route.pattern {
        case "/_up": !settings.requiresUserForUp
        case "/_session": route.method == "POST"
        // By which a person signs in.
        case "/_utils", "/_utils/{path}": true
        case "/_divan/pair", "/_divan/greet": true
        default: false
        }
    }

    /// Refuses what the user may not do.
    func checkAccess(_ route: Route) throws {
        try checkStranger(route)
        try checkSystemAccess(route)
        if route.isWrite, site.options.readOnly { throw HTTPFailure.readOnly }
        if let allows = site.options.authorization.request,
            !allows(user, request.head.method, target.components)
        {
            throw HTTPFailure.forbidden("You are not allowed to make this request.")
        }
        try checkRight(route)
    }

    private func checkSystemAccess(_ route: Route) throws {
        guard openDatabase != nil, systemDatabase != nil, !user.isAdmin else { return }
        try checkSystemAccess(route, isMember: try security.isMember(user, settings))
    }

    /// Refuses a user whom neither a role nor the database's security lets use a route.
    private func checkRight(_ route: Route) throws {
        switch access(of: route) {
        case .anyone: return
        case .user:
            // Those without a name were refused before.
            guard user.databases == nil else {
                throw HTTPFailure.forbidden("A paired device replicates from its own side.")
            }
        // As in CouchDB, a right that goes with a role is asked for by 401, also of a user who is signed in.
        case .metrics:
            guard user.isAdmin || user.roles.contains(ListenerUser.metricsRole) else {
                throw HTTPFailure.unauthorized(route.access.refusal)
            }
        case .serverAdmin:
            guard user.isAdmin else { throw HTTPFailure.unauthorized(route.access.refusal) }
        case .databaseAdmin:
            guard try isDatabaseAdmin else {
                guard try user.name != nil || security.isMember(user, settings) else {
                    throw notAMember
                }
                throw HTTPFailure.unauthorized(route.access.refusal)
            }
        case .member:
            if user.isAdmin || isSignUp(route) { return }
            if user.databases != nil {
                // Whatever members the database names. The body may have taken hours since the head was looked at.
                guard systemDatabase == nil else { throw refusal(route.access.refusal) }
                return try checkDevice()
            }
            guard try security.isMember(user, settings) else { throw notAMember }
        }
    }

    /// What is asked before each piece of an answer, which throws once the client may no longer have it; nil where that cannot come.
    func repeatedCheck(_ route: Route) -> (@Sendable () throws -> Void)? {
        if user.isAdmin, user.proof.passwordHash == nil { return nil }
        var call = self
        // An answer may go on for days, and its request's body is done with.
        call.request.body = .bytes([])
        return { [call] in try call.checkStillServed(route) }
    }

    /// Refuses what a client is being sent once its account is gone or has another password, or it has lost a right that the answer
    /// was begun by.
    private func checkStillServed(_ route: Route) throws {
        guard user.databases == nil else { return try checkDevice() }
        var call = self
        call.user = try site.guardian.current(user)
        // What is hidden from the user was settled when the answer began.
        guard user.roles.isSubset(of: call.user.roles) else {
            throw refusal(route.access.refusal)
        }
        do {
            try call.checkSystemAccess(route)
            try call.checkRight(route)
        } catch let error as DatabaseError where error.code == .databaseClosed {
            // A database that is deleted tells nothing any more, and a feed comes to an end of its own.
        }
    }

    /// The refusal of a client that is no member of the database, in CouchDB's two sentences.
    private var notAMember: HTTPFailure {
        user.name == nil
            ? .unauthorized("You are not authorized to access this db.")
            : .forbidden(Route.Access.member.refusal)
    }

    /// A client without a name is asked to sign in (401). A user with a name lacks the right (403).
    func refusal(_ reason: String) -> HTTPFailure {
        user.name == nil ? .unauthorized(reason) : .forbidden(reason)
    }
}
