// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON

// In whose name a server is asked.
extension ReplicationConfiguration {
    /// The name by which a server knows who replicates, as far as the settings tell it.
    ///
    /// A server may show each user other documents, and take others, so it is part of what a checkpoint belongs to. Where
    /// a token, a cookie or a certificate says who it is, and for databases of this process, it is nil: the first two are
    /// renewed. The password is no part of it, since that changes, too.
    ///
    /// - Parameter remote: The other end.
    /// - Returns: The name; nil where there is none, or where it is not known.
    func remoteUserName(_ remote: ReplicationEndpoint) -> String? {
        guard case .url(let url) = remote else { return nil }
        if let authenticator { return authenticator.userName }
        if let user = (try? HTTPURL(typed: url)).flatMap(user(at:)) { return user.name }
        return headers.first { $0.key.lowercased() == "x-auth-couchdb-username" }?.value
    }

    /// The name and password that a server is shown.
    ///
    /// - Parameter address: Where it is.
    /// - Returns: Both; nil where something else says who asks, or nothing does.
    func user(at address: HTTPURL) -> HTTPURL.User? {
        if let authenticator { return authenticator.user }
        if let user = address.user { return user }
        return headers.first { $0.key.lowercased() == "authorization" }
            .flatMap { Self.user(inBasic: $0.value) }
    }

    /// The name and password in `Basic` credentials.
    private static func user(inBasic value: String) -> HTTPURL.User? {
        let words = value.split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "basic",
            let pair = Base64.decode(String(words[1])),
            let end = pair.firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        return HTTPURL.User(
            name: String(decoding: pair[..<end], as: UTF8.self),
            password: String(decoding: pair[(end + 1)...], as: UTF8.self))
    }
}
