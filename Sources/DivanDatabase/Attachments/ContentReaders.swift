// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Reads an open file from an offset to another, whoever else reads it.
///
/// State: the offset, guarded by its mutex.
final class FileReader: AttachmentReader {
    private let handle: FileHandle
    private let end: Int?
    private let offset: Mutex<Int>

    /// - Parameters:
    ///   - handle: The open file.
    ///   - range: What of it is read.
    init(_ handle: FileHandle, range: Range<Int>) {
        self.handle = handle
        end = range.upperBound
        offset = Mutex(range.lowerBound)
    }

    /// Reads from the start; to the end of the file when `length` is nil.
    init(_ handle: FileHandle, length: Int?) {
        self.handle = handle
        end = length
        offset = Mutex(0)
    }

    func read(upTo count: Int) throws -> [UInt8] {
        try offset.withLock { offset in
            let wanted = min(count, (end ?? .max) - offset)
            guard wanted > 0 else { return [] }
            do throws(SystemError) {
                let bytes = try handle.read(at: offset, upTo: wanted)
                offset += bytes.count
                return bytes
            } catch { throw DatabaseError.io(error) }
        }
    }
}

/// Reads bytes in memory.
final class BytesReader: AttachmentReader {
    private let bytes: [UInt8]
    private let offset = Mutex(0)

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    func read(upTo count: Int) -> [UInt8] {
        offset.withLock { offset in
            let end = min(bytes.count, offset + count)
            defer { offset = end }
            return Array(bytes[offset..<end])
        }
    }
}
