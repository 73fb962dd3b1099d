// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON

/// Looks at the head of each request: does it come from where it may, and from whom?
///
/// **DNS rebinding.** A page in a browser can have its own host name lead to 127.0.0.1 and then talk to
/// a listener there as if it were its own. It cannot choose what the browser writes into `Host` and
/// `Origin`. So a listener that asks for no password serves only requests whose `Host` is a
/// name of the loopback, and whose `Origin`, if there is one, is such a name too or was allowed.
///
/// **Cookies** are sent by browsers also when a foreign page makes the request, so a cookie counts
/// only if the `Origin` is the listener's own or was allowed with credentials. A password counts from everywhere: no
/// page can have a browser send one.
struct Guardian: Sendable {
    /// Whether every client is an administrator without signing in, as `everybodyOnLoopback` says.
    let allowsAnonymousAdmin: Bool
    let anonymous: ListenerUser
    let accounts: Accounts
    let throttle: PasswordThrottle
    /// Counts the passwords.
    let statistics: ListenerStatistics
    let cors: CORS
    var tokens: ListenerTokens?
    var proxy: ListenerProxyAuthentication?
    var certificates: ListenerClientCertificates?
    var devices: (any ListenerDevices)?

    /// By what users are recognised, in CouchDB's words.
    var methods: [String] {
        let settings = accounts.settings
        return ["cookie", "default"]
            + (tokens == nil && settings.tokens == nil ? [] : ["jwt"])
            + (proxy == nil && settings.proxy == nil ? [] : ["proxy"])
            + (certificates == nil ? [] : ["certificate"]) + (devices == nil ? [] : ["device"])
    }

    /// The header fields by which a client may say who it is.
    static let credentialFields = [
        "Authorization", "Cookie", ListenerProxyAuthentication.nameField,
    ]

    /// Refuses requests that a foreign page may have had a browser make.
    func check(_ head: RequestHead) throws {
        guard allowsAnonymousAdmin else { return }
        guard let host = head.headers["Host"], Self.isLoopback(Self.name(ofHost: host)) else {
            throw HTTPFailure.forbidden("The Host of the request is not this machine.")
        }
        guard let origin = head.headers["Origin"] else { return }
        guard cors.allowsUnnamed(origin) || Self.isLoopback(Self.host(ofOrigin: origin)) else {
            throw HTTPFailure.forbidden("The Origin of the request is not allowed.")
        }
    }

    /// Who makes a request.
    ///
    /// - Parameters:
    ///   - head: The head of the request.
    ///   - mayTakeLong: Whether a password may be hashed.
    /// - Returns: nil when that is needed and not allowed.
    /// - Throws: `HTTPFailure` 401 when a name, password or token is wrong, 403 when too many passwords were, or a
    ///   certificate is missing or not trusted.
    func user(of head: RequestHead, mayTakeLong: Bool) throws -> ListenerUser? {
        let device = head.certificate.key.flatMap { devices?.device(withKey: $0) }
        let certificate = try certificate(of: head, isDevice: device != nil)
        guard var user = try recognised(head, mayTakeLong: mayTakeLong) else { return nil }
        if user.name == nil, !allowsAnonymousAdmin, let device {
            user = ListenerUser(name: device.name, method: "device")
            user.databases = device.databases
        }
        if user.name == nil, !allowsAnonymousAdmin, let certificate,
            let shown = certificates?.user(certificate)
        {
            user = shown
        }
        user.certificate = certificate
        return user
    }

    /// The certificate that a client has shown.
    ///
    /// - Throws: `HTTPFailure` 403 when it leads to no anchor, or there must be one.
    private func certificate(
        of head: RequestHead, isDevice: Bool
    ) throws -> ListenerClientCertificate? {
        guard let certificates else { return nil }
        switch head.certificate.standing {
        case .trusted(let certificate): return certificate
        case _ where isDevice: return nil
        // A device that is to be paired shows a certificate of its own.
        case .untrusted where devices != nil && !certificates.isRequired: return nil
        case .untrusted: throw HTTPFailure.forbidden("The client's certificate is not trusted.")
        case .none:
            guard certificates.isRequired else { return nil }
            throw HTTPFailure.forbidden("A client certificate is needed.")
        }
    }

    /// The user that header fields show, of a step that the listener makes in a client's name.
    ///
    /// Wrong passwords in them do not lock out users who sign in from an address, and those of one user's replications not those of
    /// others.
    ///
    /// - Parameters:
    ///   - headers: The header fields.
    ///   - asker: The user who has given them; nil for an administrator.
    /// - Returns: The user.
    /// - Throws: `HTTPFailure` 401 when a name, password or token is wrong, 403 when too many passwords were.
    func user(showing headers: HTTPHeaders, askedBy asker: ListenerUser?) throws -> ListenerUser {
        var head = RequestHead(method: "GET", target: "/", headers: headers)
        head.network = "replication" + (asker?.name.map { " of " + $0 } ?? "")
        return try recognised(head, mayTakeLong: true) ?? anonymous
    }

    /// A user who was recognised before, with the roles of now where an account has them.
    ///
    /// - Parameter user: The user.
    /// - Returns: The user.
    /// - Throws: `HTTPFailure` 401 when the account is gone, or has another password.
    func current(_ user: ListenerUser) throws -> ListenerUser {
        guard let hash = user.proof.passwordHash else { return user }
        accounts.refresh()
        guard let account = user.name.flatMap(accounts.account), account.key == hash else {
            throw Self.wrongPassword
        }
        var user = user
        user.roles = account.roles
        return user
    }

    /// The user by what stands in the request. A session that holds counts before a name and password beside it.
    private func recognised(_ head: RequestHead, mayTakeLong: Bool) throws -> ListenerUser? {
        if allowsAnonymousAdmin { return ListenerUser(roles: [ListenerUser.adminRole]) }
        let settings = accounts.settings
        if let authorization = head.headers["Authorization"], isCounted(authorization) {
            if let token = Self.bearer(authorization) {
                if let configured = settings.tokens {
                    guard mayTakeLong || !configured.usesPublicKey(token) else { return nil }
                    return try configured.user(token, now: Accounts.now)
                }
                if let tokens { return try tokens.user(token, now: Accounts.now) }
            }
            // What is no session beside it is passed over.
            if let user = try? sessionUser(of: head) { return user }
            guard let (name, password) = Self.credentials(authorization) else {
                throw Self.isBroken(authorization)
                    ? HTTPFailure.badRequest("Authorization header has invalid base64 value")
                    : Self.wrongPassword
            }
            return try signIn(
                name, password: password, from: head.network, mayTakeLong: mayTakeLong)
        }
        if let configured = settings.proxy {
            if let user = configured.user(of: head.headers) { return user }
        } else if let user = try proxy?.user(of: head.headers) {
            return user
        }
        return try sessionUser(of: head) ?? anonymous
    }

    /// The user of the cookie; nil where there is none that counts.
    ///
    /// - Throws: `HTTPFailure` 400 where it is no session of any server.
    private func sessionUser(of head: RequestHead) throws -> ListenerUser? {
        guard let token = Self.cookie(head), isOwnOrigin(head) else { return nil }
        guard token.isEmpty || Accounts.isWellFormed(cookie: token) else {
            throw Self.malformedCookie
        }
        guard case (var user, let end)? = accounts.user(cookie: token) else { return nil }
        // Past a tenth of its time it is renewed.
        let seconds = accounts.settings.sessionSeconds
        if end - Accounts.now < seconds - seconds / 10 { user.wantsRenewal = true }
        return user
    }

    /// The user of a name and password, by hashing where that is needed.
    ///
    /// - Throws: As `user(of:mayTakeLong:)`.
    func signIn(_ name: String, password: String, from network: String) throws -> ListenerUser {
        let user = try signIn(name, password: password, from: network, mayTakeLong: true)
        guard let user else { throw Self.wrongPassword }
        return user
    }

    /// A password that was right lately counts at once, also while others guess from the same network; but not of a
    /// name that is locked, or the lock would not stop those who guess it.
    private func signIn(
        _ name: String, password: String, from network: String, mayTakeLong: Bool
    ) throws -> ListenerUser? {
        if let left = throttle.lockedTime(name, from: network) { throw Self.locked(for: left) }
        if let user = accounts.rememberedUser(name, password: password) {
            statistics.noteFastHash()
            return user
        }
        // No password is looked at, so none counts as wrong.
        guard !accounts.isBlocked(name) else { throw Self.blocked }
        if let left = throttle.lockedTime(from: network) { throw Self.locked(for: left) }
        guard mayTakeLong else { return nil }
        let user = accounts.user(name, password: password)
        statistics.noteSlowHash()
        if user != nil { statistics.noteFastHash() }
        guard throttle.note(name, from: network, isRight: user != nil) else {
            let left =
                throttle.lockedTime(name, from: network) ?? throttle.lockedTime(from: network)
            throw Self.locked(for: left ?? .zero)
        }
        guard let user else { throw Self.wrongPassword }
        return user
    }

    static var wrongPassword: HTTPFailure {
        .unauthorized("Name or password is incorrect.")
    }
    /// What is no session of any server; the browser is told to forget it.
    private static var malformedCookie: HTTPFailure {
        HTTPFailure(
            400, "bad_request", "Malformed AuthSession cookie. Please clear your cookies.",
            headers: ["Set-Cookie": Accounts.noCookie])
    }
    private static var blocked: HTTPFailure {
        .unauthorized(
            "User document conflicts must be resolved before the document is used for authentication purposes."
        )
    }
    /// CouchDB's refusal, with the time after which the lock has ended: without it a replicator would give up for good.
    private static func locked(for left: Duration) -> HTTPFailure {
        var failure = HTTPFailure.forbidden(
            "Account is temporarily locked due to multiple authentication failures")
        let seconds = max(0, left.components.seconds).addingSaturated(1)
        failure.headers["Retry-After"] = "\(seconds)"
        return failure
    }

    private func isOwnOrigin(_ head: RequestHead) -> Bool {
        guard let origin = head.headers["Origin"] else { return true }
        return cors.allowsCredentials(origin) || origin.hasSameBytes(as: Self.origin(of: head))
    }

    private static func origin(of head: RequestHead) -> String {
        (head.isSecure ? "https://" : "http://") + (head.headers["Host"] ?? "")
    }

    /// Whether a page of another origin makes the request that may act in a user's name: a browser keeps its cookie
    /// from such pages unless the cookie says otherwise.
    func isFromAllowedPage(_ head: RequestHead) -> Bool {
        guard let origin = head.headers["Origin"] else { return false }
        return cors.allowsCredentials(origin) && !origin.hasSameBytes(as: Self.origin(of: head))
    }

    // MARK: - Reading header fields

    static func bearer(_ authorization: String) -> Substring? {
        let parts = authorization.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return parts[1].drop { $0 == " " }
    }

    /// Whether a field says who the client is. One of a scheme that nothing here reads says as little as none.
    private func isCounted(_ authorization: String) -> Bool {
        switch authorization.split(separator: " ").first?.lowercased() {
        case "basic": !Self.isSignedOut(authorization)
        case "bearer": accounts.settings.tokens != nil || tokens != nil
        default: false
        }
    }

    /// Whether a browser shows the name and the password that stand for none: pages have it do so to forget others.
    static func isSignedOut(_ authorization: String) -> Bool {
        credentials(authorization).map { $0.name == "_" && $0.password == "_" } ?? false
    }

    /// Whether what should be base64 of a name and a password is none.
    private static func isBroken(_ authorization: String) -> Bool {
        let parts = authorization.split(separator: " ", maxSplits: 1)
        return parts.count == 2 && parts[0].lowercased() == "basic"
            && Base64.decode(String(parts[1])) == nil
    }

    static func credentials(_ authorization: String) -> (name: String, password: String)? {
        let parts = authorization.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "basic",
            let bytes = Base64.decode(String(parts[1])),
            let text = String(validating: bytes, as: UTF8.self),
            let colon = text.utf8.firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        return (String(text[..<colon]), String(text[text.utf8.index(after: colon)...]))
    }

    /// The name that header fields give, whether it is right or not; empty when they give none.
    static func name(in headers: HTTPHeaders) -> String {
        headers["Authorization"].flatMap { credentials($0)?.name } ?? ""
    }

    static func cookie(_ head: RequestHead) -> String? {
        for header in head.headers.values(of: "Cookie") {
            for item in header.split(separator: ";") {
                let item = item.drop { $0 == " " }
                if let token = item.afterBytePrefix("AuthSession=") { return token }
            }
        }
        return nil
    }

    /// The name in `Host`, without its port and without the brackets of an IPv6 address.
    static func name(ofHost host: String) -> String {
        if host.utf8.first == UInt8(ascii: "[") {
            let name = host.utf8.dropFirst().prefix { $0 != UInt8(ascii: "]") }
            let rest = host.utf8.dropFirst(name.count + 2)
            // What stands behind the bracket and is no port belongs to another name.
            guard rest.isEmpty || rest.first == UInt8(ascii: ":") else { return host }
            return String(decoding: name, as: UTF8.self)
        }
        return String(host.utf8.prefix { $0 != UInt8(ascii: ":") }) ?? ""
    }

    static func host(ofOrigin origin: String) -> String {
        for scheme in ["http://", "https://"] {
            if let rest = origin.afterBytePrefix(scheme) { return name(ofHost: rest) }
        }
        return origin
    }

    /// Whether a host name is this machine's alone.
    static func isLoopback(_ name: String) -> Bool {
        if name == "localhost" || name == "127.0.0.1" { return true }
        let name = name.lowercased()
        if ["localhost", "localhost.", "::1", "0:0:0:0:0:0:0:1"].contains(name) { return true }
        let numbers = name.split(separator: ".", omittingEmptySubsequences: false)
        return numbers.count == 4 && numbers[0] == "127"
            && numbers.allSatisfy { UInt8($0, radix: 10) != nil }
    }
}
