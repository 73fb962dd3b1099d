// SPDX-License-Identifier: Apache-2.0

/// Compares JSON values by a ``Collation``.
///
/// ```swift
/// let order = ValueOrder(.unicode, strings: ICUCollator.root)
/// order.compare("a", "B")            // negative: letters before case
/// order.compare(["a"], ["a", 1])     // negative: shorter first
/// keys.sort { order.compare($0, $1) < 0 }
/// ```
///
/// ``collate(_:_:)-(JSONValue,_)`` is the order of row keys and of everything that a query asks;
/// ``compare(_:_:)-(JSONValue,_)`` goes on where that finds no difference. The essay at ``Collation``
/// defines both.
///
/// A comparison costs as much as the common beginning of the two values, and allocates only for
/// objects (their keys are sorted) and for numbers beyond 64 bits.
public struct ValueOrder: Sendable {
    /// The order this compares by.
    public let collation: Collation

    private let strings: any StringCollator

    /// Makes the order of a collation.
    ///
    /// - Parameters:
    ///   - collation: The order of types and strings.
    ///   - strings: The order of texts. Only `.unicode` asks it.
    public init(_ collation: Collation, strings: any StringCollator) {
        self.collation = collation
        self.strings = strings
    }

    /// Compares two values exactly: by ``collate(_:_:)-(JSONValue,_)``, and those that collate as equal by
    /// how their numbers are written.
    ///
    /// The whole values are compared before any tie is broken: `[1.0, "a"]` sorts before `[1, "b"]`.
    ///
    /// - Parameters:
    ///   - left: A value.
    ///   - right: Another value.
    /// - Returns: A negative number if `left` sorts first, zero if the values are identical, else a
    ///   positive number.
    public func compare(_ left: JSONValue, _ right: JSONValue) -> Int {
        let byValue = compare(left, right, numberTies: false)
        return byValue != 0 ? byValue : compare(left, right, numberTies: true)
    }

    /// Compares two values as a query does: numbers are equal however they are written.
    ///
    /// - Parameters:
    ///   - left: A value.
    ///   - right: Another value.
    /// - Returns: A negative number if `left` sorts first, zero if a query for one finds the other,
    ///   else a positive number.
    public func collate(_ left: JSONValue, _ right: JSONValue) -> Int {
        compare(left, right, numberTies: false)
    }

    /// Says whether two values differ in nothing but how their numbers are written.
    ///
    /// `1` and `1.0` collate as equal, and so do `[1]` and `[1.0]`. Strings must be identical: a
    /// query for `"e"` is not answered with `"E"`, nor one for a composed `é` with a decomposed.
    ///
    /// - Parameters:
    ///   - left: A value.
    ///   - right: Another value.
    /// - Returns: Whether a query for `left` finds `right`.
    public func collatesAsEqual(_ left: JSONValue, _ right: JSONValue) -> Bool {
        collate(left, right) == 0
    }

    func compare(_ left: JSONValue, _ right: JSONValue, numberTies: Bool) -> Int {
        switch (left, right) {
        case (.integer(let left), .integer(let right)):
            return left < right ? -1 : left > right ? 1 : 0
        case (.string(let left), .string(let right)):
            return compare(left, right)
        case (.array(let left), .array(let right)):
            return compare(left, right, numberTies: numberTies)
        case (.object(let left), .object(let right)):
            return compare(left, right, numberTies: numberTies)
        default:
            let (leftType, rightType) = (left.collationType, right.collationType)
            guard leftType == .number, rightType == .number else {
                return Int(collation.rank(of: leftType)) - Int(collation.rank(of: rightType))
            }
            return ExactNumber(left).compare(ExactNumber(right), breakingTies: numberTies)
        }
    }

    /// Compares two strings as values. Where they collate as equal, one that its sort key tells comes first
    /// and others by their bytes.
    func compare(_ left: String, _ right: String) -> Int {
        left.withUTF8Span { left in right.withUTF8Span { right in compare(left, right) } }
    }

    /// Compares two strings of UTF-8 as values.
    func compare(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Int {
        guard collation == .unicode else { return ByteOrder.compare(left, right) }
        let byLanguage = strings.compare(left, right)
        guard byLanguage == 0 else { return byLanguage }
        let byBytes = ByteOrder.compare(left, right)
        guard byBytes != 0 else { return 0 }
        return isTold(left) ? -1 : isTold(right) ? 1 : byBytes
    }

    private func isTold(_ text: Span<UInt8>) -> Bool {
        var key: [UInt8] = []
        return strings.appendTellingSortKey(of: text, to: &key)
    }

    private func compare(_ left: [JSONValue], _ right: [JSONValue], numberTies: Bool) -> Int {
        for (left, right) in zip(left, right) {
            let byItem = compare(left, right, numberTies: numberTies)
            if byItem != 0 { return byItem }
        }
        return left.count - right.count
    }

    private func compare(_ left: JSONObject, _ right: JSONObject, numberTies: Bool) -> Int {
        for (left, right) in zip(left.sortedPairs, right.sortedPairs) {
            let byKey = compare(left.key, right.key)
            if byKey != 0 { return byKey }
            let byValue = compare(left.value, right.value, numberTies: numberTies)
            if byValue != 0 { return byValue }
        }
        return left.count - right.count
    }
}

extension JSONObject {
    /// The pairs in the order of their keys' UTF-16 code units, which is how packed objects lie.
    var sortedPairs: [(key: String, value: JSONValue)] {
        sortedIndices.map { (keys[$0], values[$0]) }
    }
}
