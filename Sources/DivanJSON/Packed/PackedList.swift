// SPDX-License-Identifier: Apache-2.0

/// Packed values one behind the other, each of which may be missing.
///
/// ```swift
/// var list = PackedList()
/// list.append(path, of: body)                     // the value in a body, or none
/// list.appendMissing(2)
/// list.setText(at: 1) { $0 += "Ann".utf8 }
/// list[1]?.string                                 // "Ann"
/// ```
///
/// All stand in one array of bytes, which the values that it gives share. So a thousand rows of a query are two arrays, and a
/// value is decoded when it is asked for.
///
///     bytes      01 80 │ 03 'A' 'n' 'n' │ 5E │ …
///     offsets    2, 6, 0, …          0 for a missing value
///
/// A null stands first, since a value at 1 is a root, which has all bytes behind it.
package struct PackedList: Sendable {
    private var bytes: [UInt8] = [PackedTag.version, PackedTag.null]
    private var offsets: [Int] = []

    /// What a value is expected to take, a short text for example.
    private static let expectedSize = 24

    /// Makes an empty list.
    package init() {}

    /// How many values it has, missing ones included.
    package var count: Int { offsets.count }

    /// The value at a place; nil where it is missing.
    package subscript(place: Int) -> PackedValue? {
        let offset = offsets[place]
        return offset == 0 ? nil : PackedValue(storage: bytes, offset: offset)
    }

    /// Makes room for a number of values.
    package mutating func reserveCapacity(_ count: Int) {
        offsets.reserveCapacity(count)
        bytes.reserveCapacity(2 + count * Self.expectedSize)
    }

    // MARK: - Adding and setting

    /// Adds missing values, which can be set later.
    package mutating func appendMissing(_ count: Int) {
        for _ in 0..<count { offsets.append(0) }
    }

    /// Adds the value that a path leads to in lent packed bytes, or a missing one.
    package mutating func append(_ path: PackedPath, of body: Span<UInt8>) {
        var offset = 0
        path.withTarget(in: body) { reader, node in
            offset = bytes.count
            // SAFETY: the bytes are copied while the reader lives.
            unsafe bytes.append(contentsOf: reader.bytes(node.offset..<node.end))
        }
        offsets.append(offset)
    }

    /// Adds a text.
    package mutating func append(text: String) {
        appendMissing(1)
        setText(at: count - 1) { $0.append(contentsOf: text.utf8) }
    }

    /// Sets a value to null, false or true.
    package mutating func set(_ value: Bool?, at place: Int) {
        offsets[place] = bytes.count
        bytes.append(value.map { $0 ? PackedTag.true : PackedTag.false } ?? PackedTag.null)
    }

    /// Sets a value to a text.
    ///
    /// - Parameters:
    ///   - place: Which value.
    ///   - write: Appends the text in UTF-8.
    /// - Throws: What `write` throws; then the value stays missing.
    package mutating func setText<E: Error>(
        at place: Int, _ write: (inout [UInt8]) throws(E) -> Void
    ) throws(E) {
        let start = bytes.count
        // Room for the tag of a short text; a longer one moves.
        bytes.append(0)
        do throws(E) { try write(&bytes) } catch {
            bytes.removeLast(bytes.count - start)
            throw error
        }
        let length = bytes.count - start - 1
        if length <= PackedTag.longestShortString {
            bytes[start] = UInt8(length)
        } else {
            bytes.replaceSubrange(start...start, with: PackedTag.head(ofTextOf: length))
        }
        offsets[place] = start
    }

    /// Makes a value the same as another one.
    package mutating func copy(_ source: Int, to place: Int) { offsets[place] = offsets[source] }

    // MARK: - Removing

    /// How much there is at a moment.
    package struct Mark: Sendable {
        fileprivate var count: Int
        fileprivate var size: Int
    }

    /// How much there is now.
    package var mark: Mark { Mark(count: offsets.count, size: bytes.count) }

    /// Removes what was added since a moment. Values before that must not have been set since.
    package mutating func removeAll(since mark: Mark) {
        offsets.removeLast(offsets.count - mark.count)
        bytes.removeLast(bytes.count - mark.size)
    }

    /// Keeps some values.
    package mutating func keep(_ places: Range<Int>) {
        var kept = PackedList()
        for place in places {
            kept.offsets.append(offsets[place] == 0 ? 0 : kept.bytes.count)
            kept.bytes += bytes[range(of: place)]
        }
        self = kept
    }

    // MARK: - Comparing

    /// Whether a value is the same as one of another list, or both are missing.
    package func isEqual(_ place: Int, to other: PackedList, _ otherPlace: Int) -> Bool {
        guard (offsets[place] == 0) == (other.offsets[otherPlace] == 0) else { return false }
        return bytes[range(of: place)] == other.bytes[other.range(of: otherPlace)]
    }

    /// Where a value stands; empty for a missing one.
    private func range(of place: Int) -> Range<Int> {
        let offset = offsets[place]
        // SAFETY: the reader lives inside the closure.
        return unsafe bytes.withUnsafeBufferPointer { bytes in
            let node = unsafe PackedReader(bytes).node(at: offset, limit: bytes.count)
            return offset == 0 ? 0..<0 : offset..<(node?.end ?? bytes.count)
        }
    }

    /// How many bytes it takes, for tests.
    var byteCount: Int { bytes.count }
}
