// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL

// What can be said of a policy before a connection is made.
extension TrustPolicy {
    /// Why this policy cannot decide about a server, in one sentence; nil when it can.
    ///
    /// A policy beside `http://` would never be asked, so that is a problem, too, unless it is the system's.
    ///
    /// - Parameter url: Where the server is.
    /// - Returns: The sentence.
    package func problem(for url: HTTPURL) -> String? {
        if self == .system { return nil }
        guard url.isSecure else {
            return "A policy of which servers to trust needs TLS, and the URL begins with http://; "
                + "use https://, or leave the policy out."
        }
        return switch self {
        case .system, .decision, .firstUse: nil
        case .anchors(let pem, _): Self.count(pem) > 0 ? nil : Self.noCertificates
        case .pinnedCertificates(let certificates):
            Self.isUsable(certificates) { CertificatePin.sha256(ofKeyIn: $0) != nil }
                ? nil : Self.noPin("certificates in DER form")
        case .pinnedKeys(let keys, _):
            Self.isUsable(keys) { $0.count == 32 } ? nil : Self.noPin("SHA-256 digests of 32 bytes")
        case .fingerprints(let texts): Self.problem(texts)
        }
    }

    private static func problem(_ texts: [String]) -> String? {
        guard !texts.isEmpty else { return noPin("fingerprints") }
        let wrong = texts.first { CertificateFingerprint.normalized($0) == nil }
        return wrong.map {
            "'\($0.prefix(100))' is no SHA-256 fingerprint of a certificate, which has 64 hexadecimal "
                + "digits, with colons or spaces among them or not; give the one that the listener tells."
        }
    }

    private static let noCertificates =
        "The text of the authorities to trust has no certificate in PEM form, or a damaged one; give "
        + "at least one."

    private static func noPin(_ what: String) -> String {
        "A policy of pinned servers needs \(what), at least one; give what the server shows."
    }

    private static func isUsable<Pin>(_ pins: [Pin], _ test: (Pin) -> Bool) -> Bool {
        !pins.isEmpty && pins.allSatisfy(test)
    }

    private static func count(_ pem: String) -> Int32 {
        // SAFETY: the text ends in zero and lives through the call.
        unsafe divan_certificates_count(pem)
    }
}
