// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL
internal import DivanDatabase
public import DivanJSON

/// A certificate that a client has shown over TLS, whose key it has, and that the listener trusts.
public struct ListenerClientCertificate: Sendable, Hashable {
    /// Whose it is, such as `CN=ann,O=Example`.
    @ByBytes public private(set) var subject: String
    /// The common name in it; nil when there is none, or more than one.
    @ByBytes public private(set) var commonName: String?
    /// The SHA-256 of the certificate, in hexadecimal digits.
    public let fingerprint: String
}

/// Which certificates clients of a listener may, or must, show over TLS.
///
/// ```swift
/// options.tls = try .selfSigned(keptAt: file)
/// options.clientCertificates = try ListenerClientCertificates(anchors: pem)
/// ```
///
/// A certificate counts when it leads to one of the anchors, or is one of them, is valid today, and is meant for
/// clients. A client that shows another one is refused. Unless ``user`` says otherwise, the common name is
/// the user's name, who then has no roles; a name and password, a token or a cookie in the request go before that.
public struct ListenerClientCertificates: Sendable {
    /// The authorities, PEM.
    let anchors: String
    /// Whether the listener serves only clients that show a certificate. Otherwise a certificate is one more way for
    /// a client to identify itself.
    public var isRequired = true
    /// The user to whom a certificate belongs; nil for a client without a name.
    public var user: @Sendable (ListenerClientCertificate) -> ListenerUser? = { certificate in
        certificate.commonName.map { ListenerUser(name: $0, method: "certificate") }
    }

    /// Takes the certificates of authorities, or of clients, as PEM text.
    ///
    /// - Throws: `DatabaseError` with code `.invalidDocument` when it has none, or one that cannot be read.
    public init(anchors pem: String) throws {
        guard !pem.utf8.contains(0), unsafe divan_certificates_count(pem) > 0 else {
            throw DatabaseError(
                .invalidDocument,
                "The certificates that clients' are compared with are not PEM; give them as PEM.")
        }
        anchors = pem
    }

    /// Looks at what a client has sent, in DER form, its own certificate first.
    func verified(
        _ certificates: UnsafePointer<UnsafePointer<UInt8>?>, _ counts: UnsafePointer<Int>,
        _ count: Int
    ) -> PresentedCertificate.Standing {
        guard count > 0 else { return .none }
        var subject: UnsafeMutablePointer<CChar>?
        var name: UnsafeMutablePointer<CChar>?
        var fingerprint = [UInt8](repeating: 0, count: 32)
        // SAFETY: there are `count` certificates with their lengths; the texts are ours after the call, end in zero, and
        // are freed once; the digest has 32 bytes.
        let isTrusted = unsafe fingerprint.withUnsafeMutableBufferPointer { fingerprint in
            unsafe divan_client_certificate_verify(
                certificates, counts, count, anchors, &subject, &name, fingerprint.baseAddress)
                == 1
        }
        defer {
            unsafe divan_text_free(subject)
            unsafe divan_text_free(name)
        }
        // Another text in place of bytes that are no UTF-8 could be that of another client.
        guard isTrusted, let bytes = unsafe subject,
            let subject = unsafe String(validatingCString: bytes)
        else { return .untrusted }
        return .trusted(
            ListenerClientCertificate(
                subject: subject,
                commonName: unsafe name.flatMap { unsafe String(validatingCString: $0) },
                fingerprint: Hexadecimal.text(fingerprint)))
    }
}

/// What the client of a connection has shown.
package struct PresentedCertificate: Sendable {
    /// How a certificate stands to the anchors.
    enum Standing: Sendable {
        /// There is none, or the listener has no anchors.
        case none
        /// It leads to no anchor.
        case untrusted
        /// It leads to one.
        case trusted(ListenerClientCertificate)
    }

    var standing = Standing.none
    /// The SHA-256 of the public key, where the listener knows devices by it.
    var key: [UInt8]?
}
