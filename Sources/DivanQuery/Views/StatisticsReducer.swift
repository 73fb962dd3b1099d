// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex
internal import DivanJSON

/// Sum, count, extremes and sum of squares of numbers; of arrays of numbers place by place.
///
/// An object with the members of such a result counts as the numbers that it is of, as in CouchDB:
///
///     3, 4                                                   ──►  {"sum":7,"count":2,"min":3,"max":4,"sumsqr":25}
///     [3,1], [4,1]                                           ──►  [{"sum":7,…},{"sum":2,…}]
///     3, {"sum":4,"count":1,"min":4,"max":4,"sumsqr":16}     ──►  {"sum":7,"count":2,…}
struct StatisticsReducer: ViewReducer {
    enum Result { case all, minimum, maximum, average, standardDeviation }

    let result: Result

    var readsKeys: Bool { false }

    func reduce(keys: [[UInt8]], values: [PackedValue]) throws -> PackedValue {
        guard let first = values.first else { return Statistics().packed }
        var total = try StatisticsTree(emitted: first)
        for value in values.dropFirst() { try total.add(emitted: value) }
        return total.packed
    }

    func rereduce(_ values: [PackedValue]) throws -> PackedValue {
        guard let first = values.first else { return Statistics().packed }
        var total = StatisticsTree(stored: first.jsonValue())
        for value in values.dropFirst() {
            try total.add(StatisticsTree(stored: value.jsonValue()))
        }
        return total.packed
    }

    func result(_ stored: PackedValue) -> JSONValue {
        result == .all ? stored.jsonValue() : result(of: StatisticsTree(stored: stored.jsonValue()))
    }

    private func result(of tree: StatisticsTree) -> JSONValue {
        switch tree {
        case .list(let places): .array(places.map(result(of:)))
        case .one(let total): total.result(result)
        }
    }
}

/// What is known of the values of some rows: of numbers, or of arrays of them, place by place.
private indirect enum StatisticsTree {
    case one(Statistics)
    case list([StatisticsTree])

    /// Takes a value that a map function has emitted.
    ///
    /// - Throws: `ReduceFailure` when it is no number, no array of such values and no object that is the result of some.
    init(emitted value: PackedValue) throws {
        if let one = Statistics(number: value) {
            self = .one(one)
        } else {
            try self.init(emitted: value.jsonValue())
        }
    }

    private init(emitted value: JSONValue) throws {
        switch value {
        case .array(let places): self = .list(try places.map { try StatisticsTree(emitted: $0) })
        case .object(let members): self = .one(try Statistics(emitted: members))
        default:
            guard let one = Statistics(number: PackedValue(value)) else {
                throw ReduceFailure(
                    value,
                    "The built-in statistics need values that are numbers, arrays of them or such statistics"
                )
            }
            self = .one(one)
        }
    }

    /// Takes a result of before.
    init(stored value: JSONValue) {
        switch value {
        case .array(let places): self = .list(places.map { StatisticsTree(stored: $0) })
        default: self = .one(Statistics(stored: value))
        }
    }

    mutating func add(emitted value: PackedValue) throws {
        if case .one(var total) = self, let one = Statistics(number: value) {
            total.add(one)
            self = .one(total)
        } else {
            try add(StatisticsTree(emitted: value))
        }
    }

    mutating func add(_ other: StatisticsTree) throws {
        switch (self, other) {
        case (.one(var total), .one(let one)):
            total.add(one)
            self = .one(total)
        case (.list(var places), .list(let others)) where places.count == others.count:
            for index in places.indices { try places[index].add(others[index]) }
            self = .list(places)
        case (.list, .list):
            throw ReduceFailure(
                "The built-in statistics need arrays of one length; change what the map function emits."
            )
        default:
            throw ReduceFailure(
                "The built-in statistics need either numbers or arrays; change what the map function emits."
            )
        }
    }

    var packed: PackedValue { PackedValue(json) }

    private var json: JSONValue {
        switch self {
        case .one(let total): total.json
        case .list(let places): .array(places.map(\.json))
        }
    }
}

/// What is known of a set of numbers. Integers stay exact until they outgrow 64 bits.
private struct Statistics {
    struct Number {
        var value: JSONValue
        var double: Double { value.double ?? 0 }

        static func + (left: Number, right: Number) -> Number {
            if case .integer(let left) = left.value, case .integer(let right) = right.value {
                let (sum, isTooLarge) = left.addingReportingOverflow(right)
                if !isTooLarge { return Number(value: .integer(sum)) }
            }
            return Number(value: .double(left.double + right.double))
        }
    }

    private static let none = Number(value: .integer(0))

    var sum = none
    var squares = none
    var count = none
    var minimum: Number?
    var maximum: Number?

    init() {}

    /// Takes a result of before.
    init(stored: JSONValue) {
        sum = Number(value: stored["sum"] ?? .integer(0))
        squares = Number(value: stored["sumsqr"] ?? .integer(0))
        count = Number(value: stored["count"] ?? .integer(0))
        minimum = stored["min"].flatMap { $0 == .null ? nil : Number(value: $0) }
        maximum = stored["max"].flatMap { $0 == .null ? nil : Number(value: $0) }
    }

    /// Takes one number; nil when it is none.
    init?(number value: PackedValue) {
        guard let number = value.double, number.isFinite else { return nil }
        let integer = value.int64
        let one = Number(value: integer.map { .integer($0) } ?? .double(number))
        var square = Number(value: .double(number * number))
        if let integer {
            let (product, isTooLarge) = integer.multipliedReportingOverflow(by: integer)
            if !isTooLarge { square = Number(value: .integer(product)) }
        }
        (sum, squares, count, minimum, maximum) = (
            one, square, Number(value: .integer(1)), one, one
        )
    }

    /// Takes the result of some numbers that a map function has emitted. Other members are passed over.
    ///
    /// - Throws: `ReduceFailure` when a member is missing or no number.
    init(emitted members: JSONObject) throws {
        func member(_ name: String) throws -> Number {
            guard let value = members[name].map(PackedValue.init), let number = value.double,
                number.isFinite
            else {
                throw ReduceFailure(
                    "The built-in statistics need objects whose members `sum`, `count`, `min`, `max` and `sumsqr` are "
                        + "numbers; change what the map function emits.")
            }
            return Number(value: value.int64.map { .integer($0) } ?? .double(number))
        }
        sum = try member("sum")
        count = try member("count")
        minimum = try member("min")
        maximum = try member("max")
        squares = try member("sumsqr")
    }

    mutating func add(_ other: Statistics) {
        sum = sum + other.sum
        squares = squares + other.squares
        count = count + other.count
        if let least = other.minimum, minimum.map({ least.double < $0.double }) ?? true {
            minimum = least
        }
        if let most = other.maximum, maximum.map({ most.double > $0.double }) ?? true {
            maximum = most
        }
    }

    func result(_ kind: StatisticsReducer.Result) -> JSONValue {
        switch kind {
        case .all: return json
        case .minimum: return minimum?.value ?? .null
        case .maximum: return maximum?.value ?? .null
        case .average:
            return count.double > 0 ? .double(sum.double / count.double) : .null
        case .standardDeviation:
            guard count.double > 0 else { return .null }
            let mean = sum.double / count.double
            let variance = squares.double / count.double - mean * mean
            return .double(max(0, variance).squareRoot())
        }
    }

    var json: JSONValue {
        .object([
            "sum": sum.value, "count": count.value, "min": minimum?.value ?? .null,
            "max": maximum?.value ?? .null, "sumsqr": squares.value,
        ])
    }

    var packed: PackedValue { PackedValue(json) }
}
