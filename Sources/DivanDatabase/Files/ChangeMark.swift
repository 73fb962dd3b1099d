// SPDX-License-Identifier: Apache-2.0

package import DivanModel

/// What the file `changes` holds: where the database stood after some process's last commit.
///
///     offset  size  meaning
///          0     8  last sequence, little-endian
///          8     8  last purge, little-endian
///         16     8  process ID of the writer, little-endian
///
/// The file is a signal, not a record: it is overwritten in place after each commit and may lag
/// behind a writer that was killed. A process that sees it change reads the database itself.
package struct ChangeMark: Equatable, Sendable {
    static let size = 24

    var lastSequence: SequenceNumber = 0
    var lastPurge: UInt64 = 0
    var process: UInt64 = 0

    /// The content of the file.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.size)
        for word in [lastSequence, lastPurge, process] {
            for shift in stride(from: 0, to: 64, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
            }
        }
        return bytes
    }

    /// Makes the mark of a commit.
    package init(lastSequence: SequenceNumber = 0, lastPurge: UInt64 = 0, process: UInt64 = 0) {
        self.lastSequence = lastSequence
        self.lastPurge = lastPurge
        self.process = process
    }

    /// Reads the mark, or nil when the file is too short to be one.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= Self.size else { return nil }
        func word(_ offset: Int) -> UInt64 {
            (0..<8).reduce(0) { $0 | UInt64(bytes[offset + $1]) << UInt64(8 * $1) }
        }
        self.init(lastSequence: word(0), lastPurge: word(8), process: word(16))
    }
}
