// SPDX-License-Identifier: Apache-2.0

/// What a server shows of itself when a TLS connection is made.
public struct ServerTrust: Sendable {
    /// The host that was asked for.
    public let host: String
    /// The port that was asked for.
    public let port: Int
    /// The certificates that the server has sent, its own first, in DER form.
    public let certificates: [[UInt8]]
    /// Whether the system trusts them for this host: what ``TrustPolicy/system`` would say.
    public let isTrustedBySystem: Bool
    /// Why it does not, in the words of the TLS library.
    public let problem: String?

    /// The SHA-256 of the server's certificate in hexadecimal digits: what `ListenerTLS.fingerprint` says at a Divan.
    public var fingerprint: String {
        guard let certificate = certificates.first,
            let digest = CertificatePin.sha256(of: certificate[...])
        else { return "" }
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: digest.flatMap {
                [digits[Int(clamping: $0 >> 4)], digits[Int(clamping: $0 & 15)]]
            },
            as: UTF8.self)
    }
}

/// A closure of the app that decides which servers are trusted.
///
/// ```swift
/// let decision = ServerTrustDecision { server in
///     server.isTrustedBySystem || paired.contains(server.fingerprint)
/// }
/// database.sync(with: url) { $0.trust = .decision(decision) }
/// ```
///
/// It is asked once for each connection that is made, before anything of the request is sent, credentials least of all,
/// and its answer holds as long as the connection is kept. It runs on the thread that all connections of this policy
/// share, so it must answer at once: look a decision up, do not make one. Two decisions are the same policy only if
/// they are the same object.
public final class ServerTrustDecision: Sendable {
    let decide: @Sendable (ServerTrust) -> Bool

    /// Makes a policy of a closure, which says whether a server is trusted.
    public init(_ decide: @escaping @Sendable (ServerTrust) -> Bool) { self.decide = decide }
}

extension ServerTrustDecision: Hashable {
    /// Whether both are the same object.
    public static func == (left: ServerTrustDecision, right: ServerTrustDecision) -> Bool {
        left === right
    }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
