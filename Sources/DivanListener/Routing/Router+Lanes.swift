// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON

// Which requests are worked on apart from others.
extension Router {
    /// The lane in which a request is worked on.
    ///
    /// Requests that write to one database wait for each other, and so do those that read where an index is to be updated.
    /// A request of one database delays none of another one for that. A request that waits for another
    /// server, perhaps this one, delays no request of another lane. Passwords have a lane of their own, since checking
    /// one keeps a processor busy for a good part of a second. So have long bodies, which wait for memory.
    package enum Lane: Sendable {
        case long
        /// Something is read; of a database, or of none, which is the empty name.
        case reading(String)
        /// Something is written; to a database, or to none, as in `reading`.
        case writing(String)
        /// The body is long; of a request to a database, as in `reading`.
        case heavy(String, isWrite: Bool)
        /// A password is checked; of a name, as far as that is known.
        case signingIn(String)
        /// Functions of a design document of a database may run, which take as long as they are let.
        case scripted(String, design: String, isWrite: Bool)

        /// The database whose turn it is; the empty name for none.
        var database: String {
            switch self {
            case .reading(let name), .writing(let name), .heavy(let name, _),
                .scripted(let name, _, _):
                name
            case .long, .signingIn: ""
            }
        }

        /// Whether a request only reads, so that it may end early when its client is gone.
        var mayEndEarly: Bool {
            switch self {
            case .reading, .heavy(_, isWrite: false), .scripted(_, _, isWrite: false): true
            default: false
            }
        }
    }

    /// Which lane a request belongs into.
    package func lane(_ request: ListenerRequest) -> Lane {
        let request = request.meant
        let head = request.head
        if let lane = scriptedLane(head) { return lane }
        let first = RequestTarget.firstComponent(of: head.target)
        let database = first.flatMap { Resource([$0]).database } ?? ""
        // Whatever is got is read; most requests need not be looked at twice.
        if head.method == "GET" || head.method == "HEAD" { return .reading(database) }
        guard let target = try? RequestTarget(head.target),
            case let resource = Resource(target.components),
            let route = try? route(resource, head.method)
        else { return .reading(database) }
        if route.pattern == "/_session", route.method == "POST" { return signingIn(request) }
        if isSignUp(request, route, target) { return .signingIn("") }
        if route.length == .long { return .long }
        // What a request becomes that is rewritten is not known yet; it may write.
        let isWrite = route.isWrite || route.isRewriting
        if isHeavy(request) { return .heavy(database, isWrite: isWrite) }
        return isWrite ? .writing(database) : .reading(database)
    }

    /// The lane of a request that calls functions of a design document; nil for any other.
    private func scriptedLane(_ head: RequestHead) -> Lane? {
        guard !site.options.scripts.isEmpty, head.target.utf8.contains(UInt8(ascii: "_")),
            let target = try? RequestTarget(head.target)
        else { return nil }
        let resource = Resource(target.components)
        guard Self.designFunctions.contains(where: resource.pattern.hasBytePrefix),
            let name = resource.names.first, let route = try? route(resource, head.method)
        else { return nil }
        return .scripted(
            resource.database ?? "", design: name, isWrite: route.isWrite || route.isRewriting)
    }

    private static let designFunctions = [
        "/{db}/_design/{ddoc}/_", "/{db}/_partition/{partition}/_design/{ddoc}/_",
    ]

    /// Whether a request may make an account for a client without a name, which hashes a password.
    private func isSignUp(_ request: ListenerRequest, _ route: Route, _ target: RequestTarget)
        -> Bool
    {
        (route.pattern == "/{db}/{doc}" && route.method == "PUT"
            || route.pattern == "/{db}" && route.method == "POST")
            && site.configuration.settings.allowsSignUp
            && target.components.first.flatMap(site.systemDatabase(named:)) == .users
            && !(request.identity?.isProven ?? false)
    }

    /// The lane of a login: a password that was right lately need not be hashed.
    private func signingIn(_ request: ListenerRequest) -> Lane {
        guard request.body.length <= Self.shortLogin, let login = try? Self.login(request) else {
            return .signingIn("")
        }
        let isKnown = site.accounts.rememberedUser(login.name, password: login.password) != nil
        return isKnown ? .reading("") : .signingIn(login.name)
    }

    private static func login(_ request: ListenerRequest) throws -> Login {
        let bytes = try request.body.bytes(limit: shortLogin)
        guard Login.isObject(request.head.headers) else { return try Login(form: bytes) }
        return try Login(JSONParser.parse(bytes).object ?? [:])
    }

    /// Longer ones are read by a worker only.
    private static let shortLogin = 4_096

    /// Whether a body may have to wait for memory: it is long, or may be once it is decoded.
    private func isHeavy(_ request: ListenerRequest) -> Bool {
        let length = request.body.length
        let isCoded = request.head.headers["Content-Encoding"] != nil
        return length > (isCoded ? Self.strangersBody / 4 : MemoryBudget.free)
    }
}
