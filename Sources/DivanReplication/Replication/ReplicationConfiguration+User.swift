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
        if let user = (try? HTTPURL(typed: url))?.user { return user.name }
        for (field, value) in headers {
            switch field.lowercased() {
            case "authorization":
                if let name = Self.userName(inBasic: value) { return name }
            case "x-auth-couchdb-username": return value
            default: continue
            }
        }
        return nil
    }

    /// The name in `Basic` credentials.
    private static func userName(inBasic value: String) -> String? {
        let words = value.split(separator: " ")
        guard words.count == 2, words[0].lowercased() == "basic",
            let pair = Base64.decode(String(words[1])),
            let end = pair.firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        return String(decoding: pair[..<end], as: UTF8.self)
    }
}
