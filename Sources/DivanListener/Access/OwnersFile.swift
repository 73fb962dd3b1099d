// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// Files that nobody but their owner may read, replaced as a whole.
enum OwnersFile {
    /// Writes a file anew; false when that is not possible, and then the old one is still there.
    static func replace(_ path: String, _ bytes: [UInt8]) -> Bool {
        let temporary = path + ".new"
        // SAFETY: the texts live through each call; the bytes are read within the closure.
        unsafe unlink(temporary)
        // Nobody else may read it, not even while it is written.
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return false }
        let count = unsafe bytes.withUnsafeBytes { bytes in
            unsafe write(descriptor, bytes.baseAddress, bytes.count)
        }
        let isWhole = count == bytes.count && fsync(descriptor) == 0
        close(descriptor)
        guard isWhole, unsafe rename(temporary, path) == 0 else {
            unsafe unlink(temporary)
            return false
        }
        return true
    }

    /// Removes a file; one that is gone is fine.
    static func remove(_ path: String) {
        // SAFETY: the text lives through the call.
        unsafe _ = unlink(path)
    }

    /// The bytes of a file; nil when it cannot be read.
    static func read(_ path: String) -> [UInt8]? {
        // SAFETY: the text lives through the call.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while true {
            let offset = off_t(clamping: bytes.count)
            // SAFETY: the call writes within the buffer.
            let count = unsafe piece.withUnsafeMutableBytes { buffer in
                unsafe pread(descriptor, buffer.baseAddress, buffer.count, offset)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return count == 0 ? bytes : nil }
            bytes += piece[..<count]
        }
    }
}
