// SPDX-License-Identifier: Apache-2.0

/// Bytes that came and were not yet consumed. A piece that comes when nothing is left is not copied.
struct InputBuffer: Sendable {
    private var bytes: ArraySlice<UInt8> = []

    /// What is left.
    var rest: ArraySlice<UInt8> { bytes }

    /// How many bytes were consumed.
    private(set) var consumed = 0

    /// Whether nothing is left.
    var isEmpty: Bool { bytes.isEmpty }

    /// Adds a piece.
    mutating func append(_ piece: ArraySlice<UInt8>) {
        if bytes.isEmpty {
            bytes = piece
        } else {
            bytes += piece
        }
    }

    /// Consumes bytes from the front.
    mutating func drop(_ count: Int) {
        consumed += count
        bytes = bytes.dropFirst(count)
    }

    /// Consumes everything.
    mutating func removeAll() { drop(bytes.count) }
}
