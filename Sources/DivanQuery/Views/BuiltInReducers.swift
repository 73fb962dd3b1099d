// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON

/// Counts rows.
struct CountReducer: ViewReducer, AddingReducer {
    func reduce(keys: [[UInt8]], values: [PackedValue]) -> PackedValue {
        PackedValue(.integer(Int64(values.count)))
    }

    func rereduce(_ values: [PackedValue]) -> PackedValue {
        reduced(total: values.reduce(0) { $0 + Int128($1.int64 ?? 0) })
    }

    var readsKeys: Bool { false }

    func addend(of value: PackedValue, isReduced: Bool) -> Int128? {
        isReduced ? value.int64.map { Int128($0) } : 1
    }

    func reduced(total: Int128) -> PackedValue { PackedValue(.integer(Int64(clamping: total))) }
}

/// Adds numbers, arrays of numbers element by element, and objects of those member by member.
///
/// Integers are added exactly, however many they are: a sum of more than 64 bits is kept with all its
/// digits, so that the sum of some rows does not depend on how they are cut into steps. A query shows
/// such a sum as the double that it is nearest to.
struct SumReducer: ViewReducer, AddingReducer {
    func reduce(keys: [[UInt8]], values: [PackedValue]) throws -> PackedValue {
        // A value with more digits is a double to begin with: only sums are kept so.
        guard values.count == 1, let value = values.first, value.integer128(isReduced: true) != nil,
            value.integer128(isReduced: false) == nil, let double = value.double
        else { return try sum(values, areReduced: false) }
        return PackedValue(.double(double))
    }

    func rereduce(_ values: [PackedValue]) throws -> PackedValue {
        try sum(values, areReduced: true)
    }

    func result(_ stored: PackedValue) -> JSONValue {
        let value = stored.jsonValue()
        guard case .number = value, let double = value.double, double.isFinite else {
            return value
        }
        return .double(double)
    }

    var readsKeys: Bool { false }

    func addend(of value: PackedValue, isReduced: Bool) -> Int128? {
        value.integer128(isReduced: isReduced)
    }

    func reduced(total: Int128) -> PackedValue {
        if let integer = Int64(exactly: total) { return PackedValue(.integer(integer)) }
        if let integer = UInt64(exactly: total) { return PackedValue(.unsigned(integer)) }
        return PackedValue(BigNumber("\(total)").map { .number($0) } ?? .double(Double(total)))
    }

    private func sum(_ values: [PackedValue], areReduced: Bool) throws -> PackedValue {
        guard let first = values.first else { return PackedValue(.integer(0)) }
        if let sum = Self.integers(values, areReduced: areReduced) { return reduced(total: sum) }
        return PackedValue(
            try values.dropFirst().reduce(Self.checked(first.jsonValue())) {
                try Self.add($0, $1.jsonValue())
            })
    }

    /// The usual case without decoding anything: nil when a value is no integer, or 128 bits do not hold the sum, which
    /// values of the app's may bring about.
    private static func integers(_ values: [PackedValue], areReduced: Bool) -> Int128? {
        var sum: Int128 = 0
        for value in values {
            guard let number = value.integer128(isReduced: areReduced) else { return nil }
            let (next, isTooLarge) = sum.addingReportingOverflow(number)
            guard !isTooLarge else { return nil }
            sum = next
        }
        return sum
    }

    private static func add(_ left: JSONValue, _ right: JSONValue) throws -> JSONValue {
        switch (left, right) {
        case (.integer(let left), .integer(let right)):
            let (sum, isTooLarge) = left.addingReportingOverflow(right)
            return isTooLarge ? .double(Double(left) + Double(right)) : .integer(sum)
        case (.array(let left), .array(let right)):
            return .array(
                try (0..<max(left.count, right.count)).map { index in
                    guard index < left.count else { return try checked(right[index]) }
                    guard index < right.count else { return left[index] }
                    return try add(left[index], right[index])
                })
        case (.array, _) where right.double != nil: return try add(left, .array([right]))
        case (_, .array) where left.double != nil: return try add(.array([left]), right)
        case (.object(var sum), .object(let right)):
            for (key, value) in right {
                sum[key] = try sum[key].map { try add($0, value) } ?? checked(value)
            }
            return .object(sum)
        default:
            guard let first = left.double, let second = right.double else {
                throw refusal(of: left.double == nil ? left : right)
            }
            let sum = first + second
            guard sum.isFinite else { throw ReduceFailure("The sum is larger than any number.") }
            return .double(sum)
        }
    }

    private static func checked(_ value: JSONValue) throws -> JSONValue {
        switch value {
        case .array(let elements): for element in elements { _ = try checked(element) }
        case .object(let members): for member in members { _ = try checked(member.value) }
        default: guard value.double != nil else { throw refusal(of: value) }
        }
        return value
    }

    private static func refusal(of value: JSONValue) -> ReduceFailure {
        ReduceFailure(
            value, "The built-in sum needs values that are numbers, or arrays or objects of them")
    }
}

extension PackedValue {
    /// An integer of 64 bits; of a reduced value also one with more digits, which sums of these are.
    ///
    /// An index adds fewer than 2^60 integers of 64 bits, so none of its sums has more than 128.
    fileprivate func integer128(isReduced: Bool) -> Int128? {
        if let int64 { return Int128(int64) }
        if let unsigned { return Int128(unsigned) }
        return isReduced ? bigNumber.flatMap { Int128($0.text) } : nil
    }
}
