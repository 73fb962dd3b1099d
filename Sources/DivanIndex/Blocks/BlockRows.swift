// SPDX-License-Identifier: Apache-2.0

internal import DivanModel
internal import DivanStorage

/// The rows of one block of a store, taken apart.
///
/// The stores of an index keep several rows in each value, so that the engine moves one row where an
/// index has ten. A row's key is written as what it has in common with the one before:
///
///     block key   a text above all rows of the block before, and not above its own
///     value       for each row, in order
///         varint    how many bytes its key has in common with the key before, which for the first
///                   row is the block's
///         varint    how many bytes of the key follow
///         …         these
///         varint    the length of the row's value
///         …         the value
///
///     rows        apple → 1     apply → 2     berry → 3
///     blocks      00 → [0 5 "apple" 1 "1"] [4 1 "y" 1 "2"]       b → [1 4 "erry" 1 "3"]
///
/// ## Invariants
///
/// ``checkInvariants(key:nextKey:size:)`` tests each but 3, which speaks of the store's past: `BlockTests` shows it.
///
/// 1. Every row of a block is at or above the block's key and below the next block's. So the block that
///    a row belongs to is the last one whose key is not above the row's.
/// 2. Rows ascend, and no block is empty.
/// 3. The first block has the key 00, which is below every row's, unless that block became empty.
/// 4. Key and value of a block have at most ``BlockEditor/largestBlock`` bytes, unless it has one row.
///
/// Where blocks begin depends on the order in which rows came. Only the rows make an index: two
/// with the same rows are equal.
struct BlockRows {
    /// Where a row lies in ``bytes``, and where the rest of its key and its value lay in the block.
    private struct Place {
        var start: Int
        var keyEnd: Int
        var end: Int
        var shared: Int
        var source: Int
    }

    /// Keys and values, one after another.
    private(set) var bytes: [UInt8] = []
    private var places: [Place] = []

    var count: Int { places.count }

    var isEmpty: Bool { places.isEmpty }

    func key(_ index: Int) -> Range<Int> { places[index].start..<places[index].keyEnd }

    func value(_ index: Int) -> Range<Int> { places[index].keyEnd..<places[index].end }

    mutating func removeAll() { places.removeAll(keepingCapacity: true) }

    /// Takes a block apart.
    ///
    /// - Throws: ``IndexCorruption``.
    mutating func load(key: Span<UInt8>, _ block: Span<UInt8>) throws {
        let size = try findPlaces(key, block)
        if bytes.count < size { bytes = [UInt8](repeating: 0, count: size) }
        copyRows(key, block)
    }

    /// Finds the rows and returns how many bytes they take.
    private mutating func findPlaces(_ key: Span<UInt8>, _ block: Span<UInt8>) throws -> Int {
        places.removeAll(keepingCapacity: true)
        var (offset, start, before) = (0, 0, key.count)
        do {
            while offset < block.count {
                let shared = Int(clamping: try Varint.decode(block, at: &offset))
                let rest = Int(clamping: try Varint.decode(block, at: &offset))
                let source = offset
                guard shared <= before, rest <= block.count - offset else { throw Self.damage }
                offset += rest
                let value = Int(clamping: try Varint.decode(block, at: &offset))
                guard value <= block.count - offset else { throw Self.damage }
                let keyEnd = start + shared + rest
                places.append(
                    Place(
                        start: start, keyEnd: keyEnd, end: keyEnd + value, shared: shared,
                        source: source))
                guard places.count == 1 || keyEnd + value <= Self.mostBytes else {
                    throw Self.damage
                }
                (offset, start, before) = (offset + value, keyEnd + value, shared + rest)
            }
        } catch is ModelCorruption {
            throw Self.damage
        }
        guard !places.isEmpty else { throw Self.damage }
        return start
    }

    private static let damage = IndexCorruption("A block of rows is damaged.")
    /// More than several rows of a block take, which are written in few bytes and share their keys.
    private static let mostBytes = 8 << 20

    private mutating func copyRows(_ key: Span<UInt8>, _ block: Span<UInt8>) {
        let places = places
        // SAFETY: `findPlaces` has checked that every row lies in the block and what it shares in the
        // key before, and `bytes` has room for all of them; nothing outlives the closures.
        unsafe bytes.withUnsafeMutableBytes { bytes in
            unsafe block.withUnsafeBytes { block in
                unsafe key.withUnsafeBytes { key in
                    var before = key.baseAddress
                    for place in places {
                        guard let target = unsafe bytes.baseAddress?.advanced(by: place.start),
                            let source = unsafe block.baseAddress?.advanced(by: place.source)
                        else { return }
                        if place.shared > 0, let before = unsafe before {
                            unsafe target.copyMemory(from: before, byteCount: place.shared)
                        }
                        let rest = place.keyEnd - place.start - place.shared
                        unsafe target.advanced(by: place.shared)
                            .copyMemory(from: source, byteCount: rest)
                        let value = place.end - place.keyEnd
                        if value > 0 {
                            let length = Varint.length(of: UInt64(value))
                            unsafe target.advanced(by: place.keyEnd - place.start)
                                .copyMemory(
                                    from: source.advanced(by: rest + length), byteCount: value)
                        }
                        unsafe before = UnsafeRawPointer(target)
                    }
                }
            }
        }
    }

    // MARK: - Searching

    /// The first row whose key is not below a key; ``count`` when there is none.
    func lowerBound(_ key: Span<UInt8>) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if compareKey(middle, to: key) < 0 { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// Compares the key of a row with another one: below zero if the row's comes first.
    func compareKey(_ index: Int, to key: Span<UInt8>) -> Int {
        compare(bytes.span.extracting(self.key(index)), key)
    }

    /// Stops the program where an invariant does not hold; for tests.
    ///
    /// - Parameters:
    ///   - key: The block's key.
    ///   - nextKey: The next block's; nil for the last block.
    ///   - size: The bytes of the block's key and value.
    func checkInvariants(key: Span<UInt8>, nextKey: [UInt8]?, size: Int) {
        precondition(!isEmpty, "invariant 2")
        var end = 0
        for (index, place) in places.enumerated() {
            precondition(place.start == end && place.start <= place.keyEnd, "invariant 2")
            precondition(place.keyEnd <= place.end && place.end <= bytes.count, "invariant 2")
            end = place.end
            guard index > 0 else { continue }
            let before = bytes.span.extracting(self.key(index - 1))
            precondition(compareKey(index, to: before) > 0, "invariant 2")
        }
        precondition(compareKey(0, to: key) >= 0, "invariant 1")
        if let nextKey { precondition(compareKey(count - 1, to: nextKey.span) < 0, "invariant 1") }
        precondition(size <= BlockEditor.largestBlock || count == 1, "invariant 4")
    }
}
