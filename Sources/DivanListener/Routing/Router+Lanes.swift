// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON

// Which requests are worked on apart from others.
extension Router {
    /// The lane in which a request is worked on.
    ///
    /// Those who write to one database wait for each other, and readers do not wait. A request that waits for another
    /// server, perhaps this one, delays no request of another lane. Passwords have a lane of their own, since checking
    /// one keeps a processor busy for a good part of a second. So have long bodies, which wait for memory.
    package enum Lane: Sendable {
        case reading, long
        /// Something is written; to a database, or to none, which is the empty name.
        case writing(String)
        /// The body is long; of a request to a database, as in `writing`.
        case heavy(String, isWrite: Bool)
        /// A password is checked; of a name, as far as that is known.
        case signingIn(String)
        /// Functions of a design document may run, which take as long as they are let.
        case scripted(String, isWrite: Bool)

        /// Whether a request only reads, so that it may end early when its client is gone.
        var mayEndEarly: Bool {
            switch self {
            case .reading, .heavy(_, isWrite: false), .scripted(_, isWrite: false): true
            default: false
            }
        }
    }

    /// Which lane a request belongs into.
    package func lane(_ request: ListenerRequest) -> Lane {
        let request = request.meant
        let head = request.head
        if let lane = scriptedLane(request) { return lane }
        // Whatever is got is read; most requests need not be looked at twice.
        if head.method == "GET" || head.method == "HEAD" { return .reading }
        guard let target = try? RequestTarget(head.target),
            case let resource = Resource(target.components),
            let route = try? route(resource, head.method)
        else { return .reading }
        if route.pattern == "/_session", route.method == "POST" { return signingIn(request) }
        if isSignUp(request, route, target) { return .signingIn("") }
        if route.length == .long { return .long }
        // What a request becomes that is rewritten is not known yet; it may write.
        let isWrite = route.isWrite || route.isRewriting
        let database = resource.database ?? ""
        if isHeavy(request) { return .heavy(database, isWrite: isWrite) }
        return isWrite ? .writing(database) : .reading
    }

    /// The lane of a request that calls functions of a design document; nil for any other.
    private func scriptedLane(_ request: ListenerRequest) -> Lane? {
        let head = request.head
        guard !site.options.scripts.isEmpty, head.target.utf8.contains(UInt8(ascii: "_")),
            let target = try? RequestTarget(head.target)
        else { return nil }
        let resource = Resource(target.components)
        guard Self.designFunctions.contains(where: resource.pattern.hasBytePrefix),
            let name = resource.names.first,
            let route = try? route(resource, head.method)
        else { return nil }
        return .scripted(
            "\(resource.database ?? "")/\(name)", isWrite: route.isWrite || route.isRewriting)
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
        return isKnown ? .reading : .signingIn(login.name)
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
