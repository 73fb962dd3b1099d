// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
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

    /// Reads an object.
    ///
    /// - Throws: `HTTPFailure` 400 when it is malformed.
    init(_ object: JSONObject) throws {
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

    /// Whether a user administers the database.
    func isAdmin(_ user: ListenerUser) -> Bool { user.isAdmin || admins.contains(user) }

    /// Whether a user may read and write documents.
    func isMember(_ user: ListenerUser) -> Bool {
        if isAdmin(user) { return true }
        return members.isEmpty ? user.name != nil : members.contains(user)
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
        guard route.access != .anyone, user.name == nil, user.roles.isEmpty else { return }
        throw HTTPFailure.unauthorized(route.access.refusal)
    }

    /// Refuses what the user may not do.
    func checkAccess(_ route: Route) throws {
        try checkStranger(route)
        if openDatabase != nil, systemDatabase != nil, !user.isAdmin {
            try checkSystemAccess(route, isMember: try security.isMember(user))
        }
        if route.isWrite, site.options.readOnly { throw HTTPFailure.readOnly }
        if let allows = site.options.authorization.request,
            !allows(user, request.head.method, target.components)
        {
            throw HTTPFailure.forbidden("You are not allowed to make this request.")
        }
        switch route.access {
        case .anyone: return
        case .serverAdmin: guard user.isAdmin else { throw refusal(route.access.refusal) }
        case .databaseAdmin:
            guard try isDatabaseAdmin else { throw refusal(route.access.refusal) }
        case .member:
            if user.isAdmin { return }
            if user.databases != nil {
                // Whatever members the database names. The body may have taken hours since the head was looked at.
                guard systemDatabase == nil else { throw refusal(route.access.refusal) }
                return try checkDevice()
            }
            guard try security.isMember(user) else { throw refusal(route.access.refusal) }
        }
    }

    /// A client without a name is asked to sign in (401). A user with a name lacks the right (403).
    func refusal(_ reason: String) -> HTTPFailure {
        user.name == nil ? .unauthorized(reason) : .forbidden(reason)
    }
}
