// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// What must hold of each document that a query finds, as far as an index can tell.
///
/// It is a necessary condition, and no sufficient one unless the query says so: what an index gives is looked at
/// again. So it may leave things out, and `anything` is always right.
///
///     {"type": "post", "age": {"$gt": 5, "$mod": [2, 0]}}
///     all  type in {"post"},  age in (5, …)
indirect enum QueryConstraint: Sendable {
    case anything
    /// No document at all.
    case nothing
    /// A property, or some element of an array, lies in one of these intervals.
    case inside(IndexComponent, [ValueInterval])
    case all([QueryConstraint])
    case any([QueryConstraint])

    /// The parts that all must hold.
    var conjuncts: [QueryConstraint] {
        switch self {
        case .all(let parts): parts.flatMap(\.conjuncts)
        case .anything: []
        default: [self]
        }
    }

    /// How many conditions it has, and values in these.
    var size: Int {
        switch self {
        case .anything, .nothing: 1
        case .inside(_, let intervals): 1 + intervals.count
        case .all(let parts), .any(let parts): parts.reduce(1) { $0 + $1.size }
        }
    }

    /// The conjuncts that are on one property each.
    var conditions: [(IndexComponent, [ValueInterval])] {
        conjuncts.compactMap { conjunct in
            guard case .inside(let component, let intervals) = conjunct else { return nil }
            return (component, intervals)
        }
    }

    /// The same, with alternatives on one property put together.
    var simplified: QueryConstraint {
        switch self {
        case .all(let parts):
            let parts = parts.map(\.simplified).flatMap(\.conjuncts)
            if parts.contains(where: \.isNothing) { return .nothing }
            return parts.isEmpty ? .anything : parts.count == 1 ? parts[0] : .all(parts)
        case .any(let parts):
            let parts = parts.map(\.simplified).filter { !$0.isNothing }
            if parts.isEmpty { return .nothing }
            if parts.contains(where: \.isAnything) { return .anything }
            return Self.merged(parts) ?? (parts.count == 1 ? parts[0] : .any(parts))
        default: return self
        }
    }

    /// Alternatives on one property as one condition; nil when there are several properties.
    private static func merged(_ parts: [QueryConstraint]) -> QueryConstraint? {
        guard case .inside(let component, var intervals)? = parts.first else { return nil }
        for part in parts.dropFirst() {
            guard case .inside(component, let more) = part else { return nil }
            intervals += more
        }
        return .inside(component, intervals)
    }

    var isNothing: Bool { if case .nothing = self { true } else { false } }
    var isAnything: Bool { if case .anything = self { true } else { false } }
}

/// A run of values in the order of a collation.
enum ValueInterval: Sendable {
    /// Where a run begins or ends.
    enum Edge: Sendable {
        /// The least, or the greatest, value of all.
        case open
        /// The least, or the greatest, value of the type of this one.
        case type(of: JSONValue)
        case value(JSONValue, isIncluded: Bool)

        /// The outermost integer within, where this is an edge of numbers at an integer; nil for another.
        ///
        /// - Parameters:
        ///   - bound: The outermost of all.
        ///   - step: What leads inwards.
        /// - Returns: The integer.
        func integer(orElse bound: Int64, step: Int64) -> Int64? {
            switch self {
            case .type(let value) where value.double != nil: return bound
            case .value(let value, let isIncluded):
                guard let integer = value.int64 else { return nil }
                if isIncluded { return integer }
                let (next, overflows) = integer.addingReportingOverflow(step)
                return overflows ? nil : next
            case .open, .type: return nil
            }
        }
    }

    /// The property is not there.
    case missing
    case values(from: Edge, to: Edge)
    /// Strings that begin so.
    case prefix(String)

    /// Every value there is.
    static let present = ValueInterval.values(from: .open, to: .open)

    /// One value.
    static func exactly(_ value: JSONValue) -> ValueInterval {
        .values(from: .value(value, isIncluded: true), to: .value(value, isIncluded: true))
    }

    /// All values of a type.
    static func type(of value: JSONValue) -> ValueInterval {
        .values(from: .type(of: value), to: .type(of: value))
    }

    /// The integers among the values, where these are numbers between integers; nil for other values, and for none.
    var integers: ClosedRange<Int64>? {
        guard case .values(let from, let to) = self, let low = from.integer(orElse: .min, step: 1),
            let high = to.integer(orElse: .max, step: -1), low <= high
        else { return nil }
        return low...high
    }

    /// All values but one.
    static func except(_ value: JSONValue) -> [ValueInterval] {
        [
            .values(from: .open, to: .value(value, isIncluded: false)),
            .values(from: .value(value, isIncluded: false), to: .open),
        ]
    }
}
