// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// The servers of a file, each with the certificate that it showed at the first contact: trust on first use.
///
/// ```swift
/// database.sync(with: url) { $0.trust = .trustOnFirstUse(keptAt: folder.appending(path: "known-hosts")) }
/// ```
///
///     # A line for each server: its host and port, then the SHA-256 of its certificate.
///     notes.example.com:6984 3f0c51…
///     [2001:db8::7]:6984 9ab2e4…
///
/// At the first contact with a host and port the certificate is taken as it is, and a line is added before anything of
/// the request is sent. From then on the server must show that certificate. Another one ends the replication, also a
/// continuous one, with `.certificateChanged`: the error names both fingerprints, the file and the line. Nothing is sent.
///
/// It is what ssh does with keys of hosts. It protects from those who come between later, not from those who are there
/// at the first contact: compare the fingerprint with the one that the listener tells, or pin it from the beginning by
/// `.fingerprints`. Each name of a server is a host of its own. A host may have several lines, and then any of these
/// certificates. Empty lines, comments after `#`, and what stands behind a fingerprint count for nothing. A
/// line of a host whose fingerprint is malformed is an error: nothing is taken anew in its place.
///
/// The file is made with the first line, for its owner only. Processes and threads may share one: each line is appended
/// whole, by one at a time. An app that forgets a server removes its line.
public struct KnownHosts: Sendable, Hashable {
    /// A line of the file.
    public struct Entry: Sendable, Hashable {
        /// The host and port, such as `notes.example.com:6984`.
        public let host: String
        /// The SHA-256 of the certificate: 64 hexadecimal digits in lower case.
        public let fingerprint: String
        /// Where it stands, from 1.
        public let line: Int
    }

    /// Where the file is, or will be.
    public let path: String

    /// Names a file, which need not exist; its folder must.
    public init(path: String) { self.path = path }

    /// The lines of the file that name a server and a certificate.
    ///
    /// - Throws: `HTTPError` with code `.untrusted` when the file is there and cannot be read.
    public func entries() throws -> [Entry] {
        try Self.lines(KnownHostsFile.read(path)).compactMap { line in
            line.fingerprint.map { Entry(host: line.host, fingerprint: $0, line: line.number) }
        }
    }

    /// Compares what a server shows with what is known of it, and notes it at the first contact.
    ///
    /// - Parameters:
    ///   - host: The host in lower case and the port, with a colon between.
    ///   - fingerprint: The SHA-256 of its certificate, in the usual form.
    /// - Returns: Why the server is not trusted; nil when it is.
    func refusal(of host: String, showing fingerprint: String) -> HTTPError? {
        guard !fingerprint.isEmpty else {
            return HTTPError(.untrusted, "\(host) shows no certificate that can be known again.")
        }
        do {
            let bytes = try KnownHostsFile.read(path)
            if Self.knows(host, fingerprint, bytes) { return nil }
            // A line that another process is writing may look like a wrong one; one that is whole does not change.
            if bytes.last == 0x0A, let refusal = try refusal(bytes, host, fingerprint) {
                return refusal
            }
            return try KnownHostsFile.whileLocked(path) { file in
                // Another process may have been first.
                let bytes = try file.bytes()
                if Self.knows(host, fingerprint, bytes) { return nil }
                if let refusal = try refusal(bytes, host, fingerprint) { return refusal }
                try file.append(line: "\(host) \(fingerprint)")
                return nil
            }
        } catch let error as HTTPError {
            return error
        } catch {
            return .knownHosts(path, "cannot be used")
        }
    }

    /// Whether a line names the server with this certificate.
    private static func knows(_ host: String, _ fingerprint: String, _ bytes: [UInt8]) -> Bool {
        lines(bytes).contains { $0.isOf(host) && $0.fingerprint.hasSameBytes(as: fingerprint) }
    }

    /// What the lines of a server say against another certificate; nil when there are none.
    ///
    /// - Throws: `HTTPError` when one has no fingerprint.
    private func refusal(_ bytes: [UInt8], _ host: String, _ fingerprint: String) throws
        -> HTTPError?
    {
        let own = Self.lines(bytes).filter { $0.isOf(host) }
        guard let last = own.last else { return nil }
        if let wrong = own.first(where: { $0.fingerprint == nil }) {
            throw HTTPError.knownHosts(
                path, "has no fingerprint for \(host) in line \(wrong.number); mend or remove it")
        }
        let known = Entry(host: host, fingerprint: last.fingerprint ?? "", line: last.number)
        return .certificateChanged(host, known: known, shown: fingerprint, file: path)
    }

    private struct Line {
        var number: Int
        var host: String
        /// nil when what stands there is none.
        var fingerprint: String?

        func isOf(_ host: String) -> Bool { self.host.utf8.elementsEqual(host.utf8) }
    }

    private static func lines(_ bytes: [UInt8]) -> [Line] {
        let all = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
        return all.enumerated().compactMap { index, bytes in
            let words = bytes.prefix { $0 != UInt8(ascii: "#") }
                .split { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
                .map { String(decoding: $0, as: UTF8.self) }
            guard let host = words.first else { return nil }
            let fingerprint = words.dropFirst().first.flatMap(CertificateFingerprint.normalized)
            return Line(number: index + 1, host: host.lowercased(), fingerprint: fingerprint)
        }
    }
}
