// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON

/// A proxy in front of the listener that says who its clients are, by the configuration:
///
///     chttpd/authentication_handlers   names proxy_authentication_handler
///     chttpd_auth/secret               the secret that the proxy has, too
///     chttpd_auth/hash_algorithms      the digests of its tokens, of sha, sha256, sha384 and sha512; sha256, sha unless set
///     chttpd_auth/proxy_use_secret     false where every client may be taken for the proxy
///
/// CouchDB takes every client for the proxy unless `proxy_use_secret` says otherwise. Here it must be said.
struct ConfiguredProxy: Sendable {
    private static let bits: NameMap<Int> = [
        "sha": 160, "sha256": 256, "sha384": 384, "sha512": 512,
    ]

    private let secret: [UInt8]?
    private let digests: [Int]
    private let trustsAll: Bool

    /// Reads a configuration.
    init(_ table: ConfigurationTable) {
        let sections = ConfigurationTable.authentication
        secret = table.text("secret", in: sections).flatMap { $0.isEmpty ? nil : Array($0.utf8) }
        digests =
            table.words("hash_algorithms", in: sections)?.compactMap { Self.bits[$0] }
            ?? ListenerProxyAuthentication.usualDigests
        trustsAll = table.flag("proxy_use_secret", in: sections) == false
    }

    /// The user of a request; nil when it names none, or without the right token.
    func user(of headers: HTTPHeaders) -> ListenerUser? {
        guard let name = headers[ListenerProxyAuthentication.nameField], !name.isEmpty,
            trustsAll || isRight(headers, name)
        else { return nil }
        return ListenerProxyAuthentication.user(name, headers)
    }

    private func isRight(_ headers: HTTPHeaders, _ name: String) -> Bool {
        guard let secret else { return false }
        return ListenerProxyAuthentication.isRight(
            headers[ListenerProxyAuthentication.tokenField], of: name, secret, digests)
    }
}
