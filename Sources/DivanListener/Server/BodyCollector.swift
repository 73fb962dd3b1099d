// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// Collects the body of a request: in memory while it is short, then in a file without a name.
struct BodyCollector: Sendable {
    /// Longer bodies go to a file. Most requests, and most batches of replicators, are shorter.
    static let largestInMemory = 4 << 20

    private(set) var length = 0
    private var bytes: [UInt8] = []
    private var descriptor: Int32 = -1
    private var hasFailed = false

    /// Takes a piece.
    ///
    /// - Returns: false when the body is longer than `limit`, and the connection is to be closed.
    mutating func append(_ piece: UnsafeRawBufferPointer, limit: Int) -> Bool {
        // SAFETY: the piece is copied or written within the call.
        length += piece.count
        guard length <= limit else { return false }
        if descriptor < 0, length <= Self.largestInMemory {
            unsafe bytes.append(contentsOf: piece)
            return true
        }
        if descriptor < 0, !hasFailed { spill() }
        if !hasFailed { unsafe write(piece) }
        return true
    }

    /// The whole body; nil when the system refused to keep it.
    mutating func finish() -> RequestBody? {
        defer {
            bytes = []
            descriptor = -1
        }
        guard !hasFailed else {
            if descriptor >= 0 { close(descriptor) }
            return nil
        }
        guard descriptor >= 0 else { return .bytes(bytes) }
        return .file(SpooledFile(descriptor: descriptor, length: length))
    }

    /// Closes the file of a body that never ended.
    mutating func abandon() {
        if descriptor >= 0 { close(descriptor) }
        descriptor = -1
    }

    private mutating func spill() {
        // SAFETY: getenv's text is copied at once.
        let folder = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) } ?? "/tmp"
        var template = Array("\(folder)/divan-body-XXXXXX".utf8CString)
        // SAFETY: the template ends in zero, and mkstemp changes it in place.
        descriptor = unsafe template.withUnsafeMutableBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return -1 }
            let made = unsafe mkstemp(start)
            _ = fcntl(made, F_SETFD, FD_CLOEXEC)
            if made >= 0 { unsafe unlink(start) }
            return made
        }
        guard descriptor >= 0 else {
            hasFailed = true
            bytes = []
            return
        }
        let kept = bytes
        bytes = []
        unsafe kept.withUnsafeBytes { unsafe write($0) }
    }

    private mutating func write(_ piece: UnsafeRawBufferPointer) {
        var done = 0
        while done < piece.count {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: piece[done...])
            // SAFETY: the rest of the piece is read within the call.
            let count = unsafe Self.systemWrite(descriptor, rest)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                hasFailed = true
                return
            }
            done += count
        }
    }

    private static func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        #if canImport(Glibc)
        unsafe Glibc.write(descriptor, bytes.baseAddress, bytes.count)
        #else
        unsafe Darwin.write(descriptor, bytes.baseAddress, bytes.count)
        #endif
    }
}
