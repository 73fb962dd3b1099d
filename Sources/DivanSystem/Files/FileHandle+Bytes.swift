// SPDX-License-Identifier: Apache-2.0

internal import CLibrary

// Reading and writing.
extension FileHandle {
    /// Reads up to `count` bytes from an offset on; fewer only at the end of the file.
    ///
    /// - Parameters:
    ///   - offset: Where the first byte lies.
    ///   - count: The most bytes to read.
    /// - Returns: The bytes.
    /// - Throws: `SystemError`.
    package func read(at offset: Int, upTo count: Int) throws(SystemError) -> [UInt8] {
        try Descriptors.read(descriptor, at: offset, upTo: count, path: path)
    }

    /// Reads everything from the beginning on.
    ///
    /// - Parameter limit: The most bytes that there may be.
    /// - Returns: The bytes.
    /// - Throws: `SystemError`; its number is `EFBIG` beyond the limit.
    package func contents(limit: Int = .max) throws(SystemError) -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let piece = try read(at: bytes.count, upTo: 65_536)
            if piece.isEmpty { return bytes }
            guard bytes.count <= limit else { throw SystemError("read", path, number: EFBIG) }
            bytes += piece
        }
    }

    /// Overwrites bytes at the start of the file.
    ///
    /// - Parameter bytes: The bytes.
    /// - Throws: `SystemError`.
    package func overwrite(_ bytes: [UInt8]) throws(SystemError) {
        // SAFETY: the buffer is valid for the call and its length is passed with it.
        let written = unsafe bytes.withUnsafeBytes {
            unsafe pwrite(descriptor, $0.baseAddress, $0.count, 0)
        }
        guard written == bytes.count else { throw SystemError("pwrite", path) }
    }

    /// Writes all of `bytes` at the file's position.
    ///
    /// - Parameter bytes: The bytes.
    /// - Throws: `SystemError`.
    package func write(_ bytes: [UInt8]) throws(SystemError) {
        var done = 0
        while done < bytes.count {
            done += try writeSome(bytes.span.extracting(done..<bytes.count))
        }
    }

    /// Writes what the system takes at once, at the file's position.
    ///
    /// - Parameter bytes: The bytes, at least one.
    /// - Returns: How many were written, at least one.
    /// - Throws: `SystemError`.
    package func writeSome(_ bytes: Span<UInt8>) throws(SystemError) -> Int {
        let written: Int
        do { written = try Descriptors.writeSome(bytes, to: descriptor) } catch {
            throw SystemError("write", path, number: error.number)
        }
        guard written > 0 else { throw SystemError("write", path) }
        return written
    }

    /// Cuts the file off, or makes it longer by zeros that take no room.
    ///
    /// - Parameter length: The new length.
    /// - Throws: `SystemError`.
    package func setLength(_ length: Int) throws(SystemError) {
        try Descriptors.setLength(descriptor, length, path: path)
    }

    /// Takes room on the disk for the first bytes of the file, which becomes as long as that. What it holds stays.
    ///
    /// A file system that cannot do so is no error: there is then no more room than before.
    ///
    /// - Parameter size: How many bytes.
    /// - Throws: `SystemError` when there is not enough room, or the file may not be as long.
    package func reserve(_ size: Int) throws(SystemError) {
        #if !canImport(Darwin)
        var number: Int32
        repeat { number = posix_fallocate(descriptor, 0, off_t(size)) } while number == EINTR
        if [ENOSPC, EDQUOT, EFBIG].contains(number) {
            throw SystemError("posix_fallocate", path, number: number)
        }
        #endif
    }

    /// Has the system begin to write a range to the disk, without waiting for it; a hint that may be ignored.
    ///
    /// Long content is on the disk then soon after its last byte came, where `synchronise` would wait for
    /// all of it. Errors are told by `synchronise`.
    ///
    /// - Parameter range: The bytes.
    package func beginWriting(_ range: Range<Int>) {
        #if !canImport(Darwin)
        // Linux writes dirty pages and keeps them in memory; it may drop only those that it has
        // written already.
        _ = posix_fadvise(
            descriptor, off_t(range.lowerBound), off_t(range.count), POSIX_FADV_DONTNEED)
        #endif
    }

    /// Forces the file's content to the disk.
    ///
    /// - Throws: `SystemError`.
    package func synchronise() throws(SystemError) {
        guard fsync(descriptor) == 0 else { throw SystemError("fsync", path) }
    }
}
