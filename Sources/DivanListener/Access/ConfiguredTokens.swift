// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// Bearer tokens by the configuration, with CouchDB's rules and refusals:
///
///     chttpd/authentication_handlers   names jwt_authentication_handler
///     jwt_keys/hmac:KID                base64 of a key; rsa:KID and ec:KID are public keys as PEM
///     jwt_auth/required_claims         exp, nbf, {iss, "https://issuer.example"}; exp unless set
///     jwt_auth/roles_claim_name        the claim with the roles, _couchdb.roles unless set
///     jwt_auth/roles_claim_path        the same as a path, whose dots that are no steps are written \.
///
/// The kind of key follows from the algorithm of a token, so that none is checked by a key of another kind. A claim `exp` or
/// `nbf` that is there counts, also where CouchDB would not look at it.
struct ConfiguredTokens: Sendable {
    /// A claim that a token must have.
    struct Claim: Sendable, Equatable {
        @ByBytes var name: String
        /// What it must be; nil where any will do.
        @ByBytes var value: String?
    }

    private let keys: NameMap<String>
    private let claims: [Claim]?
    @ByBytes private var rolesPath: [String]
    /// Whether a token must have the claim with the roles: one that a path leads to, and not one by its name.
    private let needsRoles: Bool

    /// Reads a configuration.
    init(_ table: ConfigurationTable) {
        keys = table.sections["jwt_keys"] ?? [:]
        claims = Self.claims(table["jwt_auth", "required_claims"] ?? "exp")
        let path = table["jwt_auth", "roles_claim_path"].map(Self.path)
        needsRoles = path != nil
        rolesPath =
            path ?? [table["jwt_auth", "roles_claim_name"] ?? "_couchdb.roles"]
    }

    /// The user of a token.
    ///
    /// - Parameters:
    ///   - token: The text behind `Bearer`.
    ///   - now: Seconds since 1970.
    /// - Returns: Who it says.
    /// - Throws: `HTTPFailure` 400 or 401 when it does not count, 404 when the path of the roles leads to none, 500 when the required claims make no sense.
    func user(_ token: Substring, now: Int64) throws -> ListenerUser {
        guard let claims else {
            throw HTTPFailure(
                500, "misconfigured_server", "JWT is not configured correctly")
        }
        let parts = token.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let header = TokenText.object(parts[0]) else {
            throw Self.malformed
        }
        let algorithm = try Self.algorithm(header, claims)
        guard let payload = TokenText.object(parts[1]) else { throw Self.malformed }
        for claim in claims { try Self.check(claim, payload, header) }
        try Self.checkTimes(payload, now)
        try check(Array("\(parts[0]).\(parts[1])".utf8), parts[2], algorithm, header)
        guard let name = payload["sub"]?.string, !name.isEmpty else {
            throw HTTPFailure.unauthorized("Token missing sub claim.")
        }
        return ListenerUser(name: name, roles: try roles(payload), method: "jwt")
    }

    private static let malformed = HTTPFailure.badRequest("Malformed authentication token")

    private static func algorithm(_ header: JSONObject, _ claims: [Claim]) throws -> TokenAlgorithm
    {
        if let type = header["typ"], claims.contains(where: { $0.name == "typ" }),
            type.string != "JWT"
        {
            throw HTTPFailure.badRequest("Invalid typ header parameter")
        }
        guard let name = header["alg"] else {
            throw HTTPFailure.badRequest("Missing alg header parameter")
        }
        // What a token says to be critical is nothing that is known here.
        guard let algorithm = name.string.flatMap(TokenAlgorithm.init(rawValue:)),
            header["crit"] == nil
        else { throw HTTPFailure.badRequest("Invalid alg header parameter") }
        return algorithm
    }

    private static func check(_ claim: Claim, _ payload: JSONObject, _ header: JSONObject) throws {
        let isOfHeader = ["alg", "kid", "typ"].contains(claim.name)
        guard let value = isOfHeader ? header[claim.name] : payload[claim.name] else {
            throw HTTPFailure.badRequest(
                "Missing \(claim.name) "
                    + (isOfHeader && claim.name != "kid" ? "header parameter" : "claim"))
        }
        let isRight = claim.value.map { value.string?.hasSameBytes(as: $0) ?? false } ?? true
        guard isRight, claim.name != "iat" || value.int64 != nil else {
            throw HTTPFailure.badRequest("Invalid \(claim.name) claim")
        }
    }

    private static func checkTimes(_ payload: JSONObject, _ now: Int64) throws {
        for (claim, isFuture) in [("nbf", false), ("exp", true)] {
            guard let value = payload[claim] else { continue }
            guard let seconds = value.double else {
                throw HTTPFailure.badRequest("Invalid \(claim) claim")
            }
            guard isFuture ? seconds > Double(now) : seconds < Double(now) else {
                throw HTTPFailure.unauthorized(
                    "\(claim) not in \(isFuture ? "future" : "past")")
            }
        }
    }

    /// Whether a token says that it is signed by a public key, which takes long to check.
    func usesPublicKey(_ token: Substring) -> Bool {
        guard let part = token.split(separator: ".").first,
            let name = TokenText.object(part)?["alg"]?.string,
            let algorithm = TokenAlgorithm(rawValue: name)
        else { return false }
        return algorithm.family != .hmac
    }

    private func check(
        _ signed: [UInt8], _ part: Substring, _ algorithm: TokenAlgorithm, _ header: JSONObject
    ) throws {
        let family = algorithm.family
        guard let id = header["kid"].map({ $0.string }) ?? ListenerTokens.unnamedKey,
            let key = keys["\(family.rawValue):\(id)"]
        else { throw HTTPFailure.badRequest("Unknown kid") }
        guard let signature = TokenText.bytes(part) else { throw Self.malformed }
        guard family != .hmac else {
            guard let bytes = Base64.decode(key), !bytes.isEmpty,
                let right = Secrets.sign(signed, key: bytes, bits: algorithm.bits)
            else { throw HTTPFailure.badRequest("Not a valid key") }
            guard Secrets.areEqual(right, signature) else {
                throw HTTPFailure.badRequest("Bad HMAC in authentication token")
            }
            return
        }
        let isRight = Secrets.isRight(
            signature, of: signed, publicKey: Self.pem(key), isRSA: family == .rsa,
            bits: algorithm.bits)
        guard let isRight else {
            throw HTTPFailure.badRequest("not an \(family.rawValue.uppercased()) public key")
        }
        guard isRight else {
            throw HTTPFailure.badRequest("Bad signature in authentication token")
        }
    }

    private func roles(_ payload: JSONObject) throws -> NameSet {
        var value: JSONValue? = .object(payload)
        for step in rolesPath {
            guard let object = value?.object else { throw HTTPFailure.notFound("json_mismatch") }
            value = object[step]
            guard value != nil || !needsRoles else {
                throw HTTPFailure.notFound("missing json key: \(step.prefix(200))")
            }
        }
        switch value {
        case nil: return []
        case .string(let text)?:
            return NameSet(ConfigurationTable.words(of: text))
        case .array(let items)?:
            let names = items.compactMap(\.string)
            guard names.count == items.count else { break }
            return NameSet(names)
        default: break
        }
        throw HTTPFailure.badRequest("Malformed token")
    }

    // MARK: - Reading the configuration

    /// Whether a text is a key of the family that the name of its key begins with; nil for a name of no family.
    static func isKey(_ text: String, named name: String) -> Bool? {
        guard let family = name.utf8.split(separator: UInt8(ascii: ":")).first,
            let family = TokenAlgorithm.Family(rawValue: String(Substring(family)))
        else { return nil }
        guard family != .hmac else { return Base64.decode(text).map { !$0.isEmpty } ?? false }
        return Secrets.isRight(
            [], of: [], publicKey: pem(text), isRSA: family == .rsa, bits: 256) != nil
    }

    /// The line feeds of a key are written as `\n` where they stand on one line.
    private static func pem(_ key: String) -> String {
        var bytes: [UInt8] = []
        var rest = Array(key.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), rest.first == UInt8(ascii: "n") {
                rest.removeFirst()
                bytes.append(0x0A)
            } else {
                bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The steps of a path.
    static func path(_ text: String) -> [String] {
        var steps: [[UInt8]] = [[]]
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "\\"), rest.first == UInt8(ascii: ".") {
                rest.removeFirst()
                steps[steps.count - 1].append(UInt8(ascii: "."))
            } else if byte == UInt8(ascii: ".") {
                steps.append([])
            } else {
                steps[steps.count - 1].append(byte)
            }
        }
        return steps.map { String(decoding: $0, as: UTF8.self) }
    }

    /// The claims of a text such as `exp, {iss, "https://issuer.example"}`; nil when it is none.
    static func claims(_ text: String) -> [Claim]? {
        var claims: [Claim] = []
        var rest = Array(text.utf8)[...]
        func skip(_ bytes: String) {
            rest = rest.drop { bytes.utf8.contains($0) }
        }
        func word() -> String? {
            let word = rest.prefix { (0x61...0x7A).contains($0) }
            rest = rest.dropFirst(word.count)
            return word.isEmpty ? nil : String(decoding: word, as: UTF8.self)
        }
        skip(" \t\n,")
        while let first = rest.first {
            guard first == UInt8(ascii: "{") else {
                guard let name = word() else { return nil }
                claims.append(Claim(name: name))
                skip(" \t\n,")
                continue
            }
            rest.removeFirst()
            skip(" ")
            guard let name = word() else { return nil }
            skip(" ,")
            guard rest.popFirst() == UInt8(ascii: "\"") else { return nil }
            let value = rest.prefix { $0 != UInt8(ascii: "\"") }
            rest = rest.dropFirst(value.count + 1)
            skip(" ")
            guard rest.popFirst() == UInt8(ascii: "}") else { return nil }
            claims.append(Claim(name: name, value: String(decoding: value, as: UTF8.self)))
            skip(" \t\n,")
        }
        return claims
    }
}
