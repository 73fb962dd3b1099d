// SPDX-License-Identifier: Apache-2.0

internal import COpenSSL
internal import DivanDatabase
internal import DivanSystem
public import FoundationEssentials

/// The key and the certificate by which a listener serves HTTPS.
///
/// TLS keeps what is sent from others' eyes. A certificate that a listener made itself does not tell
/// who it is: let clients pin its ``fingerprint``, which stays the same until it is renewed.
public struct ListenerTLS: Sendable, CustomStringConvertible, CustomReflectable {
    /// The private key, PEM.
    package let key: String
    /// The certificate and those that lead to its authority, PEM.
    package let certificate: String
    /// The SHA-256 of the public key, which stays the same when the certificate is renewed.
    package let keyDigest: [UInt8]
    /// The SHA-256 of the certificate, in hexadecimal digits: what clients pin by `TrustPolicy.fingerprints(_:)`.
    public let fingerprint: String

    /// The fingerprint, and nothing of the key.
    public var description: String { "certificate \(fingerprint)" }

    /// A mirror without children, so that dumping a value does not show the key.
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Takes a key and a certificate chain as PEM texts.
    ///
    /// - Throws: `DatabaseError` with code `.invalidDocument` when the certificate is none.
    public init(key: String, certificate: String) throws {
        guard let known = Self.inspect(certificate) else {
            throw DatabaseError(
                .invalidDocument, "The certificate of the listener is not PEM; give it as PEM.")
        }
        self.key = key
        self.certificate = certificate
        fingerprint = known.fingerprint
        keyDigest = known.key
    }

    /// Whether the key is that of the certificate.
    var fits: Bool {
        // SAFETY: both texts are lent to the call as C strings.
        unsafe divan_identity_fits(key, certificate) == 1
    }

    /// Reads a key and a certificate chain from PEM files.
    public init(keyFile: URL, certificateFile: URL) throws {
        try self.init(
            key: try Self.text(keyFile), certificate: try Self.text(certificateFile))
    }

    /// An identity that a listener made for itself and keeps in a file, readable by its owner only.
    ///
    /// The same one is given until a month before it ends; then the key gets another certificate, with another
    /// fingerprint. It is an ECDSA key on P-256 with a certificate for ten years.
    ///
    /// - Parameters:
    ///   - file: Where it is kept, key and certificate together.
    ///   - hosts: Host names and addresses that it is for, besides those of the loopback.
    /// - Returns: The identity.
    /// - Throws: `DatabaseError` with code `.io` when the file cannot be written, or is there and holds no identity that can be read.
    public static func selfSigned(keptAt file: URL, hosts: [String] = []) throws -> ListenerTLS {
        let path = try file.localPath
        // Two programs that start at once make one identity.
        let lock = try? FileHandle(path: path + ".lock", [.write, .create], permissions: 0o600)
        _ = try? lock?.lock(exclusive: true, timeout: .seconds(10))
        defer { lock?.unlock() }
        // One that is there and cannot be read is not replaced: others may know its key.
        let kept = Files.exists(path) ? try text(file) : nil
        let known = kept.flatMap(inspect)
        guard known != nil || kept?.isEmpty ?? true else {
            throw DatabaseError(
                .io,
                "The file '\(file.lastPathComponent)' holds no key and certificate; mend it, or remove it and pair again."
            )
        }
        if let kept, let known, known.secondsLeft > 30 * 86_400,
            let identity = try? ListenerTLS(key: kept, certificate: kept)
        {
            return identity
        }
        let made = try make(hosts, key: known == nil ? nil : kept)
        guard OwnersFile.replace(path, Array((made.key + made.certificate).utf8)) else {
            throw DatabaseError(
                .io, "The listener's identity could not be written; choose a place that can be.")
        }
        return try ListenerTLS(key: made.key, certificate: made.certificate)
    }

    /// Makes a certificate for a time from now on, which a test may have ended, and a key unless one is given.
    static func make(_ hosts: [String], days: Int = 3_650, key former: String? = nil) throws -> (
        key: String, certificate: String
    ) {
        let names = ["localhost", "127.0.0.1", "::1"] + hosts
        let alternatives = names.map { name in
            let isAddress =
                name.contains(":")
                || name.split(separator: ".").count == 4
                    && name.utf8.allSatisfy { $0 == 0x2E || (0x30...0x39).contains($0) }
            return (isAddress ? "IP:" : "DNS:") + name
        }.joined(separator: ",")
        var key: UnsafeMutablePointer<CChar>?
        var certificate: UnsafeMutablePointer<CChar>?
        func create(_ former: UnsafePointer<CChar>?) -> Bool {
            // SAFETY: both texts are ours after the call, end in zero, and are freed once.
            unsafe divan_identity_create(
                "Divan listener", alternatives, days, former, &key, &certificate) == 1
        }
        let isMade = former.map { unsafe $0.withCString { unsafe create($0) } } ?? create(nil)
        defer {
            unsafe divan_text_free(key)
            unsafe divan_text_free(certificate)
        }
        guard isMade, let key = unsafe key, let certificate = unsafe certificate else {
            throw DatabaseError(
                .io, "OpenSSL could not make an identity for the listener; check its host names.")
        }
        return unsafe (String(cString: key), String(cString: certificate))
    }

    private static func inspect(
        _ certificate: String
    ) -> (fingerprint: String, key: [UInt8], secondsLeft: Int)? {
        var digest = [UInt8](repeating: 0, count: 32)
        var key = digest
        var left = 0
        // SAFETY: both digests have 32 bytes; the text ends in zero.
        let isRead = unsafe digest.withUnsafeMutableBufferPointer { digest in
            unsafe key.withUnsafeMutableBufferPointer { key in
                unsafe divan_certificate_inspect(
                    certificate, digest.baseAddress, key.baseAddress, &left) == 1
            }
        }
        return isRead ? (Hexadecimal.text(digest), key, left) : nil
    }

    private static func text(_ file: URL) throws -> String {
        do { return String(decoding: try Data(contentsOf: file), as: UTF8.self) } catch {
            throw DatabaseError(
                .io,
                "The file '\(file.lastPathComponent)' cannot be read; check its path and rights.")
        }
    }
}
