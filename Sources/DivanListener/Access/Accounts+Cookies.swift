// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

// The session cookies of users, signed with `Secrets.sign`:
//
//     AuthSession = base64url("name:end:" + HMAC-SHA-256("name:end:", signing key of the name))
//
// `end` is in seconds since 1970. The listener keeps no sessions: a cookie is all that there is of one.
extension Accounts {
    /// The header field that gives a user a cookie, signed with the key of the moment when the account proved the user: who has shown
    /// a former password gets no session under the new one.
    ///
    /// - Parameters:
    ///   - user: The user.
    ///   - secure: Whether it goes through TLS.
    ///   - isCrossSite: Whether a browser is to send it for pages of other sites, too; over TLS only.
    ///   - now: Seconds since 1970.
    /// - Returns: The value of `Set-Cookie`; nil where the account is gone, or has another key now.
    func cookie(
        for user: ListenerUser, secure: Bool, isCrossSite: Bool = false, now: Int64 = Accounts.now
    ) -> String? {
        refresh()
        guard let name = user.name, let key = user.proof.signingKey,
            let account = account(name), key == signingKey(of: account)
        else { return nil }
        let settings = settings
        let end = now + settings.sessionSeconds
        var bytes = Array("\(name):\(end):".utf8)
        bytes += Secrets.sign(bytes, key: key)
        let token = String(
            Base64.encode(bytes).compactMap {
                $0 == "+" ? "-" : $0 == "/" ? "_" : $0 == "=" ? nil : $0
            })
        let age = settings.keepsCookies ? " Max-Age=\(settings.sessionSeconds);" : ""
        let sites =
            settings.cookieSameSite
            ?? (secure && isCrossSite ? "None" : settings.usualSameSite)
        let domain = settings.cookieDomain.map { "; Domain=\($0)" } ?? ""
        return "AuthSession=\(token); Version=1;\(age) Path=/; "
            + "HttpOnly; SameSite=\(sites)\(domain)\(secure ? "; Secure" : "")"
    }

    /// The header field that takes a cookie away.
    static let noCookie = "AuthSession=; Version=1; Path=/; HttpOnly; Max-Age=0"

    /// The bytes of a cookie; nil when it is no base64.
    private static func bytes(ofCookie token: String) -> [UInt8]? {
        var text = String(token.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
        while text.utf8.count % 4 != 0 { text += "=" }
        return Base64.decode(text)
    }

    /// Whether a cookie has the form of one, perhaps of another server under the same name.
    static func isWellFormed(cookie token: String) -> Bool {
        guard let bytes = bytes(ofCookie: token) else { return false }
        return bytes.count { $0 == UInt8(ascii: ":") } >= 2
    }

    /// The user of a cookie; nil when it is forged or has ended.
    func user(cookie token: String, now: Int64 = Accounts.now) -> (ListenerUser, end: Int64)? {
        refresh()
        guard let bytes = Self.bytes(ofCookie: token), bytes.count > 33 else { return nil }
        let body = Array(bytes[..<(bytes.count - 32)])
        // `name:end:`; a name may contain colons, also at its ends.
        guard body.last == UInt8(ascii: ":"),
            let colon = body.dropLast().lastIndex(of: UInt8(ascii: ":")),
            let name = String(validating: body[..<colon], as: UTF8.self),
            let end = Int64(
                String(decoding: body[(colon + 1)...].dropLast(), as: UTF8.self), radix: 10),
            end > now, end - now <= settings.sessionSeconds
        else { return nil }
        guard let account = account(name),
            Secrets.areEqual(
                Secrets.sign(body, key: signingKey(of: account)),
                Array(bytes[(bytes.count - 32)...]))
        else { return nil }
        return (self.user(name, of: account, method: "cookie"), end)
    }

    /// A fresh cookie for a user whose own is no longer new; nil when there is no need.
    func renewal(for user: ListenerUser, secure: Bool, isCrossSite: Bool) -> String? {
        guard user.wantsRenewal else { return nil }
        return cookie(for: user, secure: secure, isCrossSite: isCrossSite)
    }
}
