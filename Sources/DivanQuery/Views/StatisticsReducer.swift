// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex
internal import DivanJSON
internal import DivanPlatform

/// Sum, count, extremes and sum of squares of numbers; of arrays of numbers place by place.
///
/// An object with the members of such a result counts as the numbers that it is of, as in CouchDB:
///
///     3, 4                                                   ──►  {"sum":7,"count":2,"min":3,"max":4,"sumsqr":25}
///     [3,1], [4,1]                                           ──►  [{"sum":7,…},{"sum":2,…}]
///     3, {"sum":4,"count":1,"min":4,"max":4,"sumsqr":16}     ──►  {"sum":7,"count":2,…}
struct StatisticsReducer: ViewReducer, ReformedReducer {
    enum Result { case all, minimum, maximum, average, standardDeviation }

    let result: Result

    var readsKeys: Bool { false }

    /// Before 2, sums were rounded to doubles beyond 64 bits, and so were numbers before they were compared.
    var form: Int { 2 }

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
        result(of: StatisticsTree(stored: stored.jsonValue()))
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
        case .one(let total): total.json(\.stored)
        case .list(let places): .array(places.map(\.json))
        }
    }
}

/// A number of statistics: exact while it is an integer of up to 128 bits, otherwise a double.
private enum Number {
    case integer(Int128)
    case double(Double)

    static let zero = Number.integer(0)

    /// Takes what was stored. Null stands for what is beyond all doubles: no number that is added brings it back.
    init(stored value: JSONValue) {
        switch value {
        case .integer(let value): self = .integer(Int128(value))
        case .unsigned(let value): self = .integer(Int128(value))
        case .number(let value):
            self = Int128(value.text).map { .integer($0) } ?? .double(value.double)
        default: self = .double(value.double ?? .nan)
        }
    }

    /// Takes what a map function has emitted; nil for anything but a number that doubles reach.
    init?(emitted value: PackedValue) {
        guard let double = value.double, double.isFinite else { return nil }
        self = value.int64.map { .integer(Int128($0)) } ?? .double(double)
    }

    var double: Double {
        switch self {
        case .integer(let value): Double(value)
        case .double(let value): value
        }
    }

    /// What is stored for it, with all digits.
    var stored: JSONValue {
        switch self {
        case .integer(let value): SumReducer().reduced(total: value).jsonValue()
        case .double(let value): value.isFinite ? .double(value) : .null
        }
    }

    /// What a query shows: beyond 64 bits the nearest double.
    var shown: JSONValue {
        if case .integer(let value) = self, let integer = Int64(exactly: value) {
            return .integer(integer)
        }
        return double.isFinite ? .double(double) : .null
    }

    var square: Number {
        if case .integer(let value) = self {
            let (square, isTooLarge) = value.multipliedReportingOverflow(by: value)
            if !isTooLarge { return .integer(square) }
        }
        return .double(double * double)
    }

    static func + (left: Number, right: Number) -> Number {
        if case .integer(let left) = left, case .integer(let right) = right {
            let (sum, isTooLarge) = left.addingReportingOverflow(right)
            if !isTooLarge { return .integer(sum) }
        }
        return .double(left.double + right.double)
    }

    private static let order = ValueOrder(.raw, strings: ICUCollator.root)

    /// Compares exactly: neighbours among large integers are the same double.
    static func < (left: Number, right: Number) -> Bool {
        switch (left, right) {
        case (.integer(let left), .integer(let right)): left < right
        case (.double(let left), .double(let right)): left < right
        default: order.collate(left.stored, right.stored) < 0
        }
    }
}

/// What is known of a set of numbers.
private struct Statistics {
    var sum = Number.zero
    var squares = Number.zero
    var count = Number.zero
    var minimum: Number?
    var maximum: Number?

    init() {}

    /// Takes a result of before.
    init(stored: JSONValue) {
        func member(_ name: String) -> Number {
            stored[name].map { Number(stored: $0) } ?? .zero
        }
        func extreme(_ name: String) -> Number? {
            stored[name].flatMap { $0.isNull ? nil : Number(stored: $0) }
        }
        (sum, squares, count) = (member("sum"), member("sumsqr"), member("count"))
        (minimum, maximum) = (extreme("min"), extreme("max"))
    }

    /// Takes one number; nil when it is none.
    init?(number value: PackedValue) {
        guard let one = Number(emitted: value) else { return nil }
        (sum, squares, count, minimum, maximum) = (one, one.square, .integer(1), one, one)
    }

    /// Takes the result of some numbers that a map function has emitted. Other members are passed over.
    ///
    /// - Throws: `ReduceFailure` when a member is missing or no number.
    init(emitted members: JSONObject) throws {
        func member(_ name: String) throws -> Number {
            guard let value = members[name].flatMap({ Number(emitted: PackedValue($0)) }) else {
                throw ReduceFailure(
                    "The built-in statistics need objects whose members `sum`, `count`, `min`, `max` and `sumsqr` are "
                        + "numbers; change what the map function emits.")
            }
            return value
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
        if let least = other.minimum, minimum.map({ least < $0 }) ?? true { minimum = least }
        if let most = other.maximum, maximum.map({ $0 < most }) ?? true { maximum = most }
    }

    func result(_ kind: StatisticsReducer.Result) -> JSONValue {
        switch kind {
        case .all: return json(\.shown)
        case .minimum: return minimum?.shown ?? .null
        case .maximum: return maximum?.shown ?? .null
        case .average:
            return count.double > 0 ? Number.double(sum.double / count.double).shown : .null
        case .standardDeviation:
            guard count.double > 0, variance.isFinite else { return .null }
            return .double(max(0, variance).squareRoot())
        }
    }

    /// The mean square of the distances from the mean: (n·Σx² - (Σx)²) / n².
    ///
    /// The difference is exact where all are integers: in 256 bits, since it may be small beside what it is of. Doubles
    /// are all that is known of other numbers, and they lose what the squares are too large for.
    private var variance: Double {
        guard case .integer(let sum) = sum, case .integer(let squares) = squares,
            case .integer(let count) = count
        else {
            let mean = sum.double / count.double
            return squares.double / count.double - mean * mean
        }
        let first = count.multipliedFullWidth(by: squares)
        let second = sum.multipliedFullWidth(by: sum)
        let (low, borrows) = first.low.subtractingReportingOverflow(second.low)
        let high = first.high &- second.high &- (borrows ? 1 : 0)
        return (Double(high) * 0x1p128 + Double(low)) / Double(count) / Double(count)
    }

    /// The members, each in a form.
    func json(_ form: (Number) -> JSONValue) -> JSONValue {
        .object([
            "sum": form(sum), "count": form(count), "min": minimum.map(form) ?? .null,
            "max": maximum.map(form) ?? .null, "sumsqr": form(squares),
        ])
    }

    var packed: PackedValue { PackedValue(json(\.stored)) }
}
