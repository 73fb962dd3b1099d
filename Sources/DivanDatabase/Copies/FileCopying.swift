// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

extension Files {
    /// How much of a file is copied at a time.
    private static let copyStep = 1 << 20

    /// Gives a file that is never changed a second name, or copies it where that cannot be done.
    ///
    /// A copy is forced to the disk. The names are not: the directory must be synchronised after.
    static func linkOrCopy(_ from: String, to: String) throws(SystemError) {
        do throws(SystemError) {
            return try link(from, to: to)
        } catch {
            // Another file system, one without links, too many of them, or a file of another user.
            let isRefused = [EXDEV, EPERM, EMLINK, ENOTSUP, EACCES, ENOSYS].contains(error.number)
            guard isRefused else { throw error }
        }
        try copy(from, to: to)
    }

    /// Copies the content of a file to a new one, and forces it to the disk.
    static func copy(_ from: String, to: String) throws(SystemError) {
        let source = try FileHandle(path: from, flags: O_RDONLY)
        let target = try FileHandle(path: to, flags: O_WRONLY | O_CREAT | O_EXCL)
        var offset = 0
        while true {
            let piece = try source.piece(at: offset, upTo: copyStep)
            if piece.isEmpty { break }
            try target.write(piece)
            offset += piece.count
        }
        try target.synchronise()
    }
}

extension FileHandle {
    /// Reads up to `count` bytes from an offset on; none at the end of the file.
    fileprivate func piece(at offset: Int, upTo count: Int) throws(SystemError) -> [UInt8] {
        var failure: Int32?
        // SAFETY: the call writes at most the buffer's capacity, and what it wrote is what counts.
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            var got = -1
            repeat {
                got = unsafe pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
            } while got < 0 && errno == EINTR
            if got < 0 { failure = errno }
            filled = max(0, got)
        }
        if let failure { throw SystemError("pread", path, number: failure) }
        return bytes
    }
}
