// SPDX-License-Identifier: Apache-2.0

internal import CLibrary
internal import DivanIndex
internal import DivanJSON

/// Counts different keys, within about two per cent: a HyperLogLog sketch of 2,048 registers.
///
/// A register keeps the longest run of zeros that any key's hash goes on with, among the keys whose hash
/// begins with the register's number. Sketches are merged register by register, so how rows are cut
/// into steps does not matter. Few keys are kept as their hashes, which is exact.
///
///     stored     [hash, …]               up to 256 hashes, ascending
///                "base64 of 2,048 ranks" beyond that
struct DistinctReducer: ViewReducer {
    var coder: RowKeyCoder?

    /// What is known of a set of keys.
    private enum Sketch {
        case hashes(Set<UInt64>)
        case ranks([UInt8])
    }

    private static let indexBits = 11
    private static let registers = 1 << indexBits
    private static let mostHashes = 256

    func reading(_ coder: RowKeyCoder) -> any ViewReducer { DistinctReducer(coder: coder) }

    func reduce(keys: [[UInt8]], values: [PackedValue]) throws -> PackedValue {
        guard let coder else { throw ReduceFailure("The distinct count has no index.") }
        var hashes: Set<UInt64> = []
        for key in keys {
            let start = coder.start(in: key.span)
            var end = start
            try coder.skip(key.span, at: &end)
            hashes.insert(Self.hash(key[start..<end]))
        }
        return Self.packed(.hashes(hashes))
    }

    func rereduce(_ values: [PackedValue]) throws -> PackedValue {
        var hashes: Set<UInt64> = []
        var ranks: [UInt8]?
        for value in values {
            switch try Self.unpacked(value) {
            case .hashes(let more): hashes.formUnion(more)
            case .ranks(let more): ranks = ranks.map { zip($0, more).map { max($0, $1) } } ?? more
            }
        }
        guard var ranks else { return Self.packed(.hashes(hashes)) }
        Self.add(hashes, to: &ranks)
        return Self.packed(.ranks(ranks))
    }

    func result(_ stored: PackedValue) -> JSONValue {
        guard let sketch = try? Self.unpacked(stored) else { return .null }
        switch sketch {
        case .hashes(let hashes): return .integer(Int64(hashes.count))
        case .ranks(let ranks): return .integer(Int64(Self.estimate(ranks).rounded()))
        }
    }

    private static func estimate(_ ranks: [UInt8]) -> Double {
        let count = Double(registers)
        let empty = ranks.count { $0 == 0 }
        let sum = ranks.reduce(0.0) { $0 + 1 / Double(UInt64(1) << UInt64($1)) }
        let estimate = 0.7213 / (1 + 1.079 / count) * count * count / sum
        // Not so many keys are counted by the registers that none of them has set.
        guard estimate <= 2.5 * count, empty > 0 else { return estimate }
        return -count * log(Double(empty) / count)
    }

    private static func add(_ hashes: Set<UInt64>, to ranks: inout [UInt8]) {
        for hash in hashes {
            let index = Int(hash >> UInt64(64 - indexBits))
            let rank = UInt8((hash << UInt64(indexBits) | 1).leadingZeroBitCount + 1)
            ranks[index] = max(ranks[index], rank)
        }
    }

    // MARK: - What is stored

    private static func packed(_ sketch: Sketch) -> PackedValue {
        switch sketch {
        case .ranks(let ranks): return PackedValue(.string(Base64.encode(ranks)))
        case .hashes(let hashes):
            guard hashes.count > mostHashes else {
                return PackedValue(
                    .array(hashes.sorted().map { .integer(Int64(bitPattern: $0)) }))
            }
            var ranks = [UInt8](repeating: 0, count: registers)
            add(hashes, to: &ranks)
            return packed(.ranks(ranks))
        }
    }

    private static func unpacked(_ value: PackedValue) throws -> Sketch {
        switch value.jsonValue() {
        case .array(let list):
            return .hashes(
                Set(
                    try list.map { item in
                        guard let number = item.int64 else { throw damage }
                        return UInt64(bitPattern: number)
                    }))
        case .string(let text):
            guard let ranks = Base64.decode(text), ranks.count == registers,
                ranks.allSatisfy({ $0 < 64 })
            else { throw damage }
            return .ranks(ranks)
        default: throw damage
        }
    }

    private static let damage = ReduceFailure("A stored distinct count is damaged.")

    /// FNV-1a with a finaliser: it is stored, so it must be the same in every release.
    private static func hash(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        hash = (hash ^ hash >> 33) &* 0xFF51_AFD7_ED55_8CCD
        hash = (hash ^ hash >> 33) &* 0xC4CE_B9FE_1A85_EC53
        return hash ^ hash >> 33
    }
}

/// The middle one of the values, which must be numbers; of two middle ones the mean.
///
/// A median cannot be put together from medians, so nothing is stored: each query reads the values of
/// its range.
struct MedianReducer: ViewReducer {
    var isStored: Bool { false }
    var readsKeys: Bool { false }

    func reduce(keys: [[UInt8]], values: [PackedValue]) throws -> PackedValue {
        try rereduce(values)
    }

    func rereduce(_ values: [PackedValue]) throws -> PackedValue {
        var numbers: [Double] = []
        numbers.reserveCapacity(values.count)
        for value in values {
            guard let number = value.double, number.isFinite else {
                throw ReduceFailure(
                    value.jsonValue(), "The built-in median needs values that are numbers")
            }
            numbers.append(number)
        }
        guard !numbers.isEmpty else { return PackedValue(.null) }
        numbers.sort()
        let middle = numbers.count / 2
        let median =
            numbers.count.isMultiple(of: 2)
            // Halved first, so that the sum cannot be larger than any number.
            ? numbers[middle - 1] / 2 + numbers[middle] / 2 : numbers[middle]
        return PackedValue(Int64(exactly: median).map { .integer($0) } ?? .double(median))
    }
}
