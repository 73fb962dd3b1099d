// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// One row of the route table: which method on which resource is answered by whom, and who may.
struct Route: Sendable {
    /// Who may use a route.
    enum Access: Sendable {
        /// Any client, also without a name.
        case anyone
        /// Users with a name, but for paired devices.
        case user
        /// Members of the database.
        case member
        /// Administrators of the database.
        case databaseAdmin
        /// Administrators of the listener.
        case serverAdmin
        /// Those, and users with the role `_metrics`, who see how the listener does and nothing else.
        case metrics

        /// What those are told who may not.
        var refusal: String {
            switch self {
            case .anyone, .member: "You are not allowed to access this db."
            case .user: "Sign in first: it is done in the name of its user."
            case .databaseAdmin: "You are not a db or server admin."
            case .serverAdmin: "You are not a server admin."
            case .metrics: "You are not a server admin or read-only metrics user"
            }
        }
    }

    /// How long a route takes.
    enum Length: Sendable {
        /// Usually less than handing it to a worker would.
        case short
        case usual
        /// It waits for others meanwhile: it has a lane of its own.
        case long
    }

    /// The method of a route that answers whatever no other row of its pattern does.
    static let anyMethod = "*"

    /// Answers a request.
    typealias Handler = @Sendable (Call) throws -> ListenerResponse

    var method: String
    var pattern: String
    var access: Access
    /// Whether it changes what is stored: it is refused by a read-only listener, and waits in the
    /// lane of writers.
    var isWrite: Bool
    var length = Length.usual
    /// What its body is, where it has one.
    var body = BodyKind.query
    var handle: Handler

    /// Whether it answers with whatever type there is: that of an attachment or of a file of the console, or what a function of a design document writes.
    var answersAnyType: Bool {
        pattern.hasByteSuffix("/{attachment}") || pattern.hasBytePrefix("/_utils")
            || Self.functions.contains { pattern.hasBytePrefix($0) }
    }

    private static let functions = ["_show", "_list", "_update", "_rewrite"].map {
        "/{db}/_design/{ddoc}/\($0)"
    }

    /// Whether it makes another request of one, which may be of any kind.
    var isRewriting: Bool { pattern == "/{db}/_design/{ddoc}/_rewrite/{path}" }

    /// A route that reads; a `GET` serves `HEAD`, too.
    static func read(
        _ method: String, _ pattern: String, _ access: Access = .member, _ handle: @escaping Handler
    ) -> Route {
        Route(method: method, pattern: pattern, access: access, isWrite: false, handle: handle)
    }

    /// A route that reads one small thing.
    static func short(
        _ method: String, _ pattern: String, _ access: Access = .member, _ handle: @escaping Handler
    ) -> Route {
        read(method, pattern, access, handle).taking(.short)
    }

    /// A route that changes something.
    static func write(
        _ method: String, _ pattern: String, _ access: Access = .member, _ handle: @escaping Handler
    ) -> Route {
        Route(method: method, pattern: pattern, access: access, isWrite: true, handle: handle)
    }

    /// A route that changes something and may wait long for other servers.
    static func long(
        _ method: String, _ pattern: String, _ access: Access = .member, _ handle: @escaping Handler
    ) -> Route {
        write(method, pattern, access, handle).taking(.long)
    }

    /// The route with another kind of body than a query.
    func taking(_ body: BodyKind) -> Route {
        var route = self
        route.body = body
        return route
    }

    private func taking(_ length: Length) -> Route {
        var route = self
        route.length = length
        return route
    }
}
