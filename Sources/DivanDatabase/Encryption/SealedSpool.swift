// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Bytes that are put aside in a file and read again, for layers above: a temporary file without a name,
/// encrypted with a key that is nowhere but in memory and goes with it.
///
/// ```swift
/// let spool = try SealedSpool()
/// try spool.write(piece)
/// let bytes = try spool.finish()
/// let start = try bytes.read(at: 0, upTo: 1_024)
/// ```
package final class SealedSpool: Sendable {
    private let scratch: Mutex<SealedScratch>

    /// Makes an empty one.
    ///
    /// - Throws: an error when the system refuses to make a file.
    package init() throws { scratch = Mutex(try SealedScratch()) }

    /// Appends bytes.
    ///
    /// - Throws: an error when the system refuses to keep them, as on a full disk.
    package func write(_ bytes: [UInt8]) throws {
        try scratch.withLock { try $0.write(bytes) }
    }

    /// Ends the writing, and returns what can be read. Called once.
    ///
    /// - Throws: as `write`.
    package func finish() throws -> SpooledBytes {
        try scratch.withLock { scratch in
            SpooledBytes(file: try scratch.finish(), length: scratch.length)
        }
    }
}

/// What was put aside in a `SealedSpool`. Any number of threads may read it at once.
package struct SpooledBytes: Sendable {
    private let file: ContentFile
    /// The number of bytes.
    package let length: Int

    init(file: ContentFile, length: Int) {
        self.file = file
        self.length = length
    }

    /// Reads up to `count` bytes from an offset on; fewer only at the end.
    ///
    /// - Throws: an error when the file cannot be read, or is not what was written.
    package func read(at offset: Int, upTo count: Int) throws -> [UInt8] {
        try file.read(at: offset, upTo: count)
    }
}
