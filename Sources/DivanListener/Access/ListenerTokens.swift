// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
public import DivanJSON

/// Bearer tokens by which others vouch for users: JSON Web Tokens, signed with an HMAC by SHA-256, SHA-384 or SHA-512
/// (`HS256`, `HS384`, `HS512`).
///
/// ```swift
/// options.tokens = try ListenerTokens(key: secret)        // 32 bytes or more, which the issuer has, too
/// ```
///
/// A request then shows `Authorization: Bearer <token>`, and the token's `sub` is the user's name, its `_couchdb.roles` the roles, as
/// in CouchDB. A holder of the key can make tokens for any user, also with the role `_admin`.
///
/// A token counts from its `nbf` to its `exp`, by this machine's clock, and must have an `exp` unless
/// ``requiredClaims`` says otherwise.
public struct ListenerTokens: Sendable {
    /// The name of the key for tokens that name none.
    package static let unnamedKey = "_default"
    /// The least bytes of a key, as the standard of such signatures has it.
    private static let shortestKey = 32

    private var keys: NameMap<[UInt8]> = [:]
    /// The claim with the user's roles, an array of texts.
    public var rolesClaim = "_couchdb.roles"
    /// Claims without which no token counts, besides `sub`.
    public var requiredClaims: NameSet = ["exp"]

    /// Takes the key of tokens that name none (`kid`).
    ///
    /// - Throws: `DatabaseError` with code `.invalidDocument` when it has less than 32 bytes.
    public init(key: [UInt8]) throws { try add(key, named: Self.unnamedKey) }

    /// Takes keys by their names, which tokens say in their `kid`; the one named `_default` is for those that do not.
    ///
    /// - Throws: `DatabaseError` with code `.invalidDocument` when one has less than 32 bytes.
    public init(keys: NameMap<[UInt8]>) throws {
        for (name, key) in keys { try add(key, named: name) }
    }

    private mutating func add(_ key: [UInt8], named name: String) throws {
        guard key.count >= Self.shortestKey else {
            throw DatabaseError(
                .invalidDocument,
                "The key of tokens named '\(name)' has \(key.count) bytes; give it 32 or more.")
        }
        keys[name] = key
    }

    /// The user of a token.
    ///
    /// - Parameters:
    ///   - token: The text behind `Bearer`.
    ///   - now: Seconds since 1970.
    /// - Returns: Who it says.
    /// - Throws: `HTTPFailure` 401 when it does not count.
    func user(_ token: Substring, now: Int64) throws -> ListenerUser {
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = TokenText.object(parts[0]),
            let signature = TokenText.bytes(parts[2])
        else { throw HTTPFailure.unauthorized("The token is malformed.") }
        // Only what is meant: a token cannot choose how it is checked.
        guard let algorithm = header["alg"]?.string.flatMap(TokenAlgorithm.init(rawValue:)),
            algorithm.family == .hmac, header["crit"] == nil,
            header["typ"].map({ $0.string?.uppercased() == "JWT" }) ?? true
        else {
            throw HTTPFailure.unauthorized(
                "The token is not of the kind JWT with HS256, HS384 or HS512.")
        }
        let name = header["kid"].map { $0.string ?? "" } ?? Self.unnamedKey
        guard let key = keys[name] else {
            throw HTTPFailure.unauthorized("The token's key is not known.")
        }
        let signed = Array("\(parts[0]).\(parts[1])".utf8)
        guard let right = Secrets.sign(signed, key: key, bits: algorithm.bits),
            Secrets.areEqual(right, signature)
        else {
            throw HTTPFailure.unauthorized("The token's signature is wrong.")
        }
        guard let claims = TokenText.object(parts[1]) else {
            throw HTTPFailure.unauthorized("The token is malformed.")
        }
        return try user(claims, now: now)
    }

    private func user(_ claims: JSONObject, now: Int64) throws -> ListenerUser {
        for claim in requiredClaims.sorted() where claims[claim] == nil {
            throw HTTPFailure.unauthorized("The token has no '\(claim)'.")
        }
        func time(_ claim: String) throws -> Double? {
            guard let value = claims[claim] else { return nil }
            guard let seconds = value.double else {
                throw HTTPFailure.unauthorized("The token's '\(claim)' is no number.")
            }
            return seconds
        }
        if let end = try time("exp"), end <= Double(now) {
            throw HTTPFailure.unauthorized("The token has expired.")
        }
        for claim in ["nbf", "iat"] {
            if let start = try time(claim), start > Double(now) {
                throw HTTPFailure.unauthorized("The token does not count yet.")
            }
        }
        guard let name = claims["sub"]?.string, !name.isEmpty else {
            throw HTTPFailure.unauthorized("The token has no 'sub'.")
        }
        let roles = claims[rolesClaim]?.array?.compactMap(\.string) ?? []
        return ListenerUser(name: name, roles: NameSet(roles), method: "jwt")
    }
}

/// A proxy in front of the listener that knows the users and says so in header fields, as CouchDB has it:
///
///     X-Auth-CouchDB-UserName: ann
///     X-Auth-CouchDB-Roles:    editors,readers
///     X-Auth-CouchDB-Token:    the HMAC of the name by SHA-256 or SHA-1, by the secret, in hexadecimal digits
///
/// The fields count only with the right token, so they may come from anywhere. The token of a name is always the
/// same: have them sent over TLS only, and let no client see them.
public struct ListenerProxyAuthentication: Sendable {
    /// The header field with the user's name.
    static let nameField = "X-Auth-CouchDB-UserName"

    private let secret: [UInt8]

    /// Takes the secret that the proxy has, too.
    ///
    /// - Throws: `DatabaseError` with code `.invalidDocument` when it has less than 16 bytes.
    public init(secret: [UInt8]) throws {
        guard secret.count >= 16 else {
            throw DatabaseError(
                .invalidDocument,
                "The secret of the proxy has \(secret.count) bytes; give it 16 or more.")
        }
        self.secret = secret
    }

    /// The user of a request; nil when it names none.
    ///
    /// - Throws: `HTTPFailure` 401 when the token is wrong.
    func user(of headers: HTTPHeaders) throws -> ListenerUser? {
        guard let name = headers[Self.nameField], !name.isEmpty else { return nil }
        guard Self.isRight(headers[Self.tokenField], of: name, secret, Self.usualDigests) else {
            throw HTTPFailure.unauthorized("The token of the proxy is wrong.")
        }
        return Self.user(name, headers)
    }

    /// The header field with the token.
    static let tokenField = "X-Auth-CouchDB-Token"
    /// The digests that are taken unless others are asked for, as the bits that they have.
    static let usualDigests = [256, 160]

    /// The user that a proxy names, with the roles that stand beside the name.
    static func user(_ name: String, _ headers: HTTPHeaders) -> ListenerUser {
        let roles = (headers["X-Auth-CouchDB-Roles"] ?? "").utf8.split(separator: UInt8(ascii: ","))
            .map { String(decoding: $0.drop { $0 == UInt8(ascii: " ") }, as: UTF8.self) }
            .filter { !$0.isEmpty }
        return ListenerUser(name: name, roles: NameSet(roles), method: "proxy")
    }

    /// Whether a text is the token of a name, by one of some digests.
    static func isRight(
        _ token: String?, of name: String, _ secret: [UInt8], _ digests: [Int]
    ) -> Bool {
        guard let shown = token.flatMap(Hexadecimal.bytes) else { return false }
        return digests.contains { bits in
            Secrets.sign(Array(name.utf8), key: secret, bits: bits)
                .map { Secrets.areEqual($0, shown) } ?? false
        }
    }
}
