// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

// Only texts, and what may contain texts, lie in another order in another collation. So an index in one
// order can serve conditions in another one as far as these are on null, Booleans and numbers, or on one value.
//
//     age > 5            .unicode   numbers above 5, texts, arrays, objects      one range
//                        .raw       numbers above 5; objects, arrays, texts      two ranges, exactly the same values
//     name > "m"         .raw       all texts: more than are wanted

/// Intervals in the order of an index.
struct OrderedIntervals {
    var intervals: [ValueInterval]
    /// Whether they have no other values than were asked for.
    var isExact: Bool
}

extension [ValueInterval] {
    /// The intervals in the order of an index: the same values, or more where it cannot tell them apart.
    ///
    /// - Parameters:
    ///   - order: The order in which the intervals begin and end.
    ///   - other: The order of the index.
    /// - Returns: Intervals of the other order.
    func translated(from order: Collation, to other: Collation) -> OrderedIntervals {
        var all = OrderedIntervals(intervals: [], isExact: true)
        for interval in self {
            let part = interval.translated(from: order, to: other)
            all.intervals += part.intervals
            all.isExact = all.isExact && part.isExact
        }
        return all
    }

    /// Whether only numbers lie in them: these have one order in all collations.
    var areOfNumbers: Bool {
        allSatisfy { interval in
            guard case .values(let from, let to) = interval else { return false }
            return from.type == .number && to.type == .number
        }
    }
}

extension ValueInterval {
    fileprivate func translated(from order: Collation, to other: Collation) -> OrderedIntervals {
        guard case .values(let from, let to) = self else {
            // The texts with a beginning lie together where texts compare by bytes.
            let isExact = if case .prefix = self { other != .unicode } else { true }
            return OrderedIntervals(intervals: [self], isExact: isExact)
        }
        if order == other || isPresent || isSingleValue {
            return OrderedIntervals(intervals: [self], isExact: true)
        }
        var all = OrderedIntervals(intervals: [], isExact: true)
        for type in ValueType.allCases where isReached(type, from, to, order) {
            let lower = from.type == type ? from : .type(of: type.example)
            let upper = to.type == type ? to : .type(of: type.example)
            let isKept = type.isScalar || type == .string && order.hasTexts(as: other)
            if isKept || lower.isTypeEdge && upper.isTypeEdge {
                all.intervals.append(.values(from: lower, to: upper))
            } else {
                all.intervals.append(.type(of: type.example))
                all.isExact = false
            }
        }
        return all
    }

    private var isPresent: Bool {
        if case .values(.open, .open) = self { true } else { false }
    }

    /// Whether there is one value in it; equal values are equal in every collation.
    private var isSingleValue: Bool {
        guard case .values(.value(let from, true), .value(let to, true)) = self else {
            return false
        }
        return from == to
    }

    private func isReached(_ type: ValueType, _ from: Edge, _ to: Edge, _ order: Collation) -> Bool
    {
        let rank = order.rank(of: type)
        return from.type.map { order.rank(of: $0) <= rank } ?? true
            && to.type.map { rank <= order.rank(of: $0) } ?? true
    }
}

extension ValueInterval.Edge {
    /// The type of values at the edge; nil for the end of all.
    fileprivate var type: ValueType? {
        switch self {
        case .open: nil
        case .type(let value), .value(let value, _): value.collationType
        }
    }

    fileprivate var isTypeEdge: Bool { if case .type = self { true } else { false } }
}

extension Collation {
    /// Whether two collations sort texts in the same way.
    fileprivate func hasTexts(as other: Collation) -> Bool {
        self == other || self != .unicode && other != .unicode
    }
}

extension ValueType {
    /// Whether no text is in a value of the type.
    fileprivate var isScalar: Bool { rawValue < ValueType.string.rawValue }

    /// A value of the type.
    fileprivate var example: JSONValue {
        switch self {
        case .null: .null
        case .false: false
        case .true: true
        case .number: 0
        case .string: ""
        case .array: .array([])
        case .object: .object([:])
        }
    }
}
