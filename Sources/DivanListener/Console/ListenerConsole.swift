// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON
internal import Synchronization

/// The files of a web application that a listener serves below `/_utils/`, such as the console of Divan.
///
/// ```swift
/// import DivanConsole
///
/// var options = ListenerOptions()
/// options.console = .divan
/// ```
///
/// The files are public: a browser fetches them before its user has signed in. What they show, they ask of the listener's HTTP
/// API with the rights of that user.
public final class ListenerConsole: Sendable {
    /// A file as it is sent.
    struct File: Sendable {
        var bytes: [UInt8]
        /// nil when gzip would not make it shorter.
        var gzipped: [UInt8]?
        var contentType: String
        var tag: String
    }

    private let read: @Sendable (_ path: String) -> [UInt8]?
    private let files = Mutex<NameMap<File>>([:])

    /// Makes a console of files.
    ///
    /// - Parameter read: Reads a file by its path below `/_utils/`; nil when there is none. It is called once for each file.
    package init(reading read: @escaping @Sendable (_ path: String) -> [UInt8]?) {
        self.read = read
    }

    /// A file by its path; nil when there is none.
    func file(_ path: String) -> File? {
        if let known = files.withLock({ $0[path] }) { return known }
        guard var bytes = read(path) else { return nil }
        if path.hasByteSuffix(".js") || path.hasByteSuffix(".css") {
            bytes = Comments.removed(from: bytes)
        }
        let gzipped = GzipCoding.encode(bytes).flatMap { $0.count < bytes.count ? $0 : nil }
        let file = File(
            bytes: bytes, gzipped: gzipped, contentType: Self.contentType(path),
            tag: String(Fingerprint.of(bytes), radix: 16))
        files.withLock { $0[path] = file }
        return file
    }

    private static func contentType(_ path: String) -> String {
        let types = [
            ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
            ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
        ]
        return types.first { path.hasByteSuffix($0.key) }?.value ?? "application/octet-stream"
    }
}
