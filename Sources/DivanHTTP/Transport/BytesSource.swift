// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A body that is there already, in pieces.
package final class BytesSource: HTTPBodySource {
    private let pieces: Mutex<ArraySlice<[UInt8]>>

    /// Makes a source of pieces; empty ones are left out.
    package init(_ pieces: [[UInt8]]) { self.pieces = Mutex(pieces.filter { !$0.isEmpty }[...]) }

    /// Returns the next piece.
    package func next() async throws -> [UInt8]? { pieces.withLock { $0.popFirst() } }
}
