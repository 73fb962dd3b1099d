// SPDX-License-Identifier: Apache-2.0

/// Which servers to trust over TLS.
///
/// ```swift
/// // What the other app's `listener.fingerprint` tells.
/// database.sync(with: url) { $0.trust = .fingerprints(["3f0c51…"]) }
/// ```
///
/// A policy holds for all requests of a replication, also where the server redirects to another one, and behind a
/// proxy it is the server that is judged. Every policy has connections of its own: one that was opened under another
/// policy is never used. A policy other than `system` beside an `http://` URL is an error, since it would not be asked.
public enum TrustPolicy: Sendable, Hashable {
    /// The certificates that the system trusts, and the host's name in the server's certificate.
    case system
    /// Authorities of the app's own, as PEM text, and the host's name. `only` leaves out those of the system.
    case anchors(pem: String, only: Bool)
    /// Servers that show one of these certificates, given in DER form. Neither the issuer nor the host that the
    /// certificate names is checked.
    ///
    /// What is compared is the public key in the certificate, so a certificate renewed for the same key is trusted too.
    case pinnedCertificates([[UInt8]])
    /// Servers whose public key has one of these SHA-256 digests (of its `SubjectPublicKeyInfo`, 32 bytes each).
    ///
    /// With `validates` the certificate must also be one that the system trusts, for this host; without, the key
    /// alone decides, as for a self-signed peer.
    case pinnedKeys(sha256: [[UInt8]], validates: Bool)
    /// Servers whose certificate has one of these SHA-256 fingerprints, whichever authority issued it, whatever host it names and
    /// whether it has ended.
    ///
    /// A fingerprint is what `Listener.fingerprint` tells and `divan serve --tls` prints: 64 hexadecimal digits. Upper
    /// case, colons and spaces are taken, too, as other programs print them. A replication with one that is malformed
    /// ends with `.invalidSetting` before it connects.
    case fingerprints([String])
    /// Servers that show the certificate that they showed at the first contact, which a file keeps; see ``KnownHosts``.
    case firstUse(KnownHosts)
    /// Servers that a closure of the app trusts.
    case decision(ServerTrustDecision)
}

/// A certificate and private key that this side shows over TLS.
public struct ClientCertificate: Sendable, Hashable, CustomStringConvertible {
    /// The certificate, with its intermediates behind it, as PEM text.
    public var certificate: String
    /// The private key as PEM text.
    public var key: String
    /// The password of the key, where it has one.
    public var password: String?

    /// Makes an identity.
    public init(certificate: String, key: String, password: String? = nil) {
        self.certificate = certificate
        self.key = key
        self.password = password
    }

    /// Nothing that would be a secret.
    public var description: String { "client certificate" }
}

/// Through which proxy to go.
public enum HTTPProxy: Sendable, Hashable, CustomStringConvertible {
    /// As the environment says: `http_proxy`, `https_proxy`, `no_proxy`.
    case environment
    /// Straight to the server.
    case none
    /// Through this one: `http://host:port` or `socks5://host:port`, with a user and password where it wants them.
    case server(String, user: HTTPURL.User? = nil)

    /// The kind of it, without the password.
    public var description: String {
        switch self {
        case .environment: "proxy of the environment"
        case .none: "no proxy"
        case .server: "proxy"
        }
    }
}
