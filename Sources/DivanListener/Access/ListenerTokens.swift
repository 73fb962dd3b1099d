// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
public import DivanJSON

/// Bearer tokens by which others vouch for users: JSON Web Tokens, signed with HMAC-SHA-256 (`HS256`).
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
        guard parts.count == 3, let header = Self.object(parts[0]),
            let signature = Self.bytes(parts[2])
        else { throw HTTPFailure.unauthorized("The token is malformed.") }
        // Only what is meant: a token cannot choose how it is checked.
        guard header["alg"]?.string == "HS256", header["crit"] == nil,
            header["typ"].map({ $0.string?.uppercased() == "JWT" }) ?? true
        else { throw HTTPFailure.unauthorized("The token is not of the kind JWT with HS256.") }
        let name = header["kid"].map { $0.string ?? "" } ?? Self.unnamedKey
        guard let key = keys[name] else {
            throw HTTPFailure.unauthorized("The token's key is not known.")
        }
        let signed = Array("\(parts[0]).\(parts[1])".utf8)
        guard Secrets.areEqual(Secrets.sign(signed, key: key), signature) else {
            throw HTTPFailure.unauthorized("The token's signature is wrong.")
        }
        guard let claims = Self.object(parts[1]) else {
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

    private static func object(_ part: Substring) -> JSONObject? {
        guard let bytes = bytes(part), let text = String(validating: bytes, as: UTF8.self),
            let value = try? JSONParser.parse(text)
        else { return nil }
        return value.object
    }

    /// The bytes of base64 as URLs have it: other letters, and nothing that fills it up.
    private static func bytes(_ part: Substring) -> [UInt8]? {
        guard part.utf8.allSatisfy({ $0 != 0x2B && $0 != 0x2F && $0 != 0x3D }) else { return nil }
        var text = String(part.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        while text.utf8.count % 4 != 0 { text += "=" }
        return Base64.decode(text)
    }
}

/// A proxy in front of the listener that knows the users and says so in header fields, as CouchDB has it:
///
///     X-Auth-CouchDB-UserName: ann
///     X-Auth-CouchDB-Roles:    editors,readers
///     X-Auth-CouchDB-Token:    the HMAC-SHA-256 of the name, by the secret, in lower-case hexadecimal digits
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
        let token = Array((headers["X-Auth-CouchDB-Token"] ?? "").utf8)
        let right = Hexadecimal.text(Secrets.sign(Array(name.utf8), key: secret))
        guard Secrets.areEqual(Array(right.utf8), token) else {
            throw HTTPFailure.unauthorized("The token of the proxy is wrong.")
        }
        let roles = (headers["X-Auth-CouchDB-Roles"] ?? "").utf8.split(separator: UInt8(ascii: ","))
            .map { String(decoding: $0.drop { $0 == UInt8(ascii: " ") }, as: UTF8.self) }
            .filter { !$0.isEmpty }
        return ListenerUser(name: name, roles: NameSet(roles), method: "proxy")
    }
}
