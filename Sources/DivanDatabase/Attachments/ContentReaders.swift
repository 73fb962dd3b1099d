// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem
internal import Synchronization

/// Reads an open file from one offset to another. Other readers may read the same file meanwhile.
///
/// State: the offset, guarded by its mutex.
package final class FileReader: AttachmentReader {
    private let file: ContentFile
    private let end: Int?
    private let offset: Mutex<Int>

    /// - Parameters:
    ///   - file: The open file.
    ///   - range: What of its content is read.
    init(_ file: ContentFile, range: Range<Int>) {
        self.file = file
        end = range.upperBound
        offset = Mutex(range.lowerBound)
    }

    /// Reads from the start; to the end of the file when `length` is nil.
    package init(_ file: ContentFile, length: Int?) {
        self.file = file
        end = length
        offset = Mutex(0)
    }

    /// Reads the next bytes: up to `count`, and none at the end.
    package func read(upTo count: Int) throws -> [UInt8] {
        try offset.withLock { offset in
            let wanted = min(count, (end ?? .max) - offset)
            guard wanted > 0 else { return [] }
            do throws(SystemError) {
                let bytes = try file.read(at: offset, upTo: wanted)
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
            let end = offset + min(bytes.count - offset, max(0, count))
            defer { offset = end }
            return Array(bytes[offset..<end])
        }
    }
}
