// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
public import DivanJSON
package import DivanModel

/// What folds the rows of a view into one value: a built-in, or a function of the app.
///
/// ```swift
/// orders.setMap(version: "1", reduce: .sum) { order, emit in
///     emit([order["year"], order["month"]], order["total"])
/// }
/// ```
///
/// Results are stored with the index, so reducing any range of a million rows reads about two hundred
/// of them. For that a reduce must work in steps: rows are folded in pieces of up to 256, and the
/// results of the pieces are folded again.
public struct Reduce: Sendable {
    let reducer: any ViewReducer

    /// The number of rows.
    public static let count = Reduce(reducer: CountReducer())

    /// The sum of the values, which must be numbers, or arrays or objects of them.
    ///
    /// Arrays are added element by element, objects member by member. Integers stay integers until
    /// they outgrow 64 bits.
    public static let sum = Reduce(reducer: SumReducer())

    /// `{"sum", "count", "min", "max", "sumsqr"}` of the values, which must be numbers.
    ///
    /// Integers are added exactly in up to 128 bits, and shown as the nearest double beyond 64. A sum that is beyond all
    /// doubles is null.
    public static let statistics = Reduce(reducer: StatisticsReducer(result: .all))

    /// The smallest of the values, which must be numbers.
    public static let minimum = Reduce(reducer: StatisticsReducer(result: .minimum))

    /// The largest of the values, which must be numbers.
    public static let maximum = Reduce(reducer: StatisticsReducer(result: .maximum))

    /// The mean of the values, which must be numbers.
    public static let average = Reduce(reducer: StatisticsReducer(result: .average))

    /// The standard deviation of the values, which must be numbers, taken as the whole population.
    ///
    /// That of integers is exact but for its last rounding. Of other numbers the squares are added as doubles: digits are
    /// lost where the deviation is small beside the numbers, and all of them from about a hundred-millionth on. Emit
    /// distances from a number in their midst then. It is null where the squares are beyond all doubles.
    public static let standardDeviation = Reduce(
        reducer: StatisticsReducer(result: .standardDeviation))

    /// The median of the values, which must be numbers: of an even number of them, the mean of the two in
    /// the middle.
    ///
    /// Nothing of it can be stored, so a query reads all values of its range or group.
    public static let median = Reduce(reducer: MedianReducer())

    /// About how many different keys there are: exact up to 256, beyond that within some per cent.
    public static let approximateDistinctCount = Reduce(reducer: DistinctReducer())

    /// A function of the app.
    ///
    /// ```swift
    /// let longest = Reduce.custom { keys, values, isRereduce in
    ///     .integer(values.compactMap(\.int64).max() ?? 0)
    /// }
    /// ```
    ///
    /// It is called with keys and values of rows, equally many of both; or, with `isRereduce`, with
    /// results of earlier calls as values and no keys. It must give the same result however rows
    /// are cut into calls. It may be called on any thread.
    ///
    /// - Parameter body: The function. What it throws is thrown by the queries that have the rows. Its result has at
    ///   most 64 kB, and nests at most 512 levels deep.
    /// - Returns: The reduce.
    public static func custom(
        _ body:
            @escaping @Sendable (
                _ keys: [JSONValue], _ values: [JSONValue], _ isRereduce: Bool
            ) throws -> JSONValue
    ) -> Reduce {
        Reduce(reducer: CustomReducer(body: body, coder: nil))
    }

    /// Adds values, for a function of the app; what ``sum`` does with rows.
    ///
    /// ```swift
    /// let counts = Reduce.custom { keys, values, isRereduce in
    ///     // Counts of rows have to be added; rows have to be counted.
    ///     isRereduce ? try Reduce.total(of: values) : .integer(Int64(values.count))
    /// }
    /// ```
    ///
    /// Integers are added exactly: a total that needs more than 64 bits has all its digits.
    ///
    /// - Parameter values: Numbers, or arrays or objects of them; of none the total is 0.
    /// - Returns: The total.
    /// - Throws: `DatabaseError` with code `.invalidQuery` when a value is something else, or the total is
    ///   larger than any number.
    public static func total(of values: [JSONValue]) throws -> JSONValue {
        do {
            guard values.allSatisfy({ $0.isNested(atMost: JSONValue.deepestStored) }) else {
                throw ReduceFailure(
                    "A value to be added nests deeper than \(JSONValue.deepestStored) levels.")
            }
            guard values.allSatisfy(\.isFinite) else {
                throw ReduceFailure("A value to be added is NaN or infinite.")
            }
            return try SumReducer().rereduce(values.map { PackedValue($0) }).jsonValue()
        } catch let failure as ReduceFailure {
            throw DatabaseError(.invalidQuery, failure.description, underlying: failure)
        }
    }
}

extension Reduce {
    /// A function that gets the rows' documents with their keys, and may fail for now.
    ///
    /// - Parameter body: The function. It gets the keys with the IDs of the documents that emitted them, and the values;
    ///   or results of earlier calls as values and no keys. What it throws is thrown by what asked, and not kept.
    /// - Returns: The reduce.
    package static func external(
        _ body:
            @escaping @Sendable (
                _ keys: [(key: JSONValue, id: DocumentID)]?, _ values: [PackedValue]
            ) throws -> PackedValue
    ) -> Reduce {
        Reduce(reducer: ExternalReducer(body: body, coder: nil))
    }
}

/// A reducer whose work another process does.
struct ExternalReducer: ViewReducer {
    let body: @Sendable ([(key: JSONValue, id: DocumentID)]?, [PackedValue]) throws -> PackedValue
    let coder: RowKeyCoder?

    func reading(_ coder: RowKeyCoder) -> any ViewReducer {
        ExternalReducer(body: body, coder: coder)
    }

    func reduce(keys: [[UInt8]], values: [PackedValue]) throws -> PackedValue {
        guard let coder else { throw ReduceFailure("The reduce function has no index.") }
        let decoded = try keys.map { key in
            var end = coder.start(in: key.span)
            try coder.skip(key.span, at: &end)
            return (
                key: try RowKey.emittedKey(in: key.span, coder),
                id: try RowKey.documentID(in: key.span, at: end)
            )
        }
        do { return try body(decoded, values) } catch { throw InterruptedReduction(error) }
    }

    func rereduce(_ values: [PackedValue]) throws -> PackedValue {
        do { return try body(nil, values) } catch { throw InterruptedReduction(error) }
    }
}

/// A reducer of a view: what is stored may be more than what a query wants to see.
protocol ViewReducer: RowReducer {
    /// The value that a query gives for what was stored.
    func result(_ stored: PackedValue) -> JSONValue
    /// The same reducer for an index whose keys this coder wrote.
    func reading(_ coder: RowKeyCoder) -> any ViewReducer
    /// Whether its results are stored with the index; if not, `rereduce` gets all values of a query.
    var isStored: Bool { get }
}

extension ViewReducer {
    var isStored: Bool { true }

    func result(_ stored: PackedValue) -> JSONValue { stored.jsonValue() }
    func reading(_ coder: RowKeyCoder) -> any ViewReducer { self }
}

/// Why a reduction has no result, without the value that is to blame.
struct ReduceFailure: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }

    /// Refuses a value, of which the sentence says what it is and not what is in it.
    init(_ value: JSONValue, _ need: String) {
        let kind =
            switch value {
            case .null: "null"
            case .bool: "a boolean"
            case .string: "a string"
            case .array: "an array"
            case .object: "an object"
            case .integer, .unsigned, .double, .number: "a number that is too large"
            }
        self.init("\(need), not \(kind); change what the map function emits.")
    }
}

/// A function of the app as a reducer.
struct CustomReducer: ViewReducer {
    let body: @Sendable ([JSONValue], [JSONValue], Bool) throws -> JSONValue
    let coder: RowKeyCoder?

    func reading(_ coder: RowKeyCoder) -> any ViewReducer {
        CustomReducer(body: body, coder: coder)
    }

    func reduce(keys: [[UInt8]], values: [PackedValue]) throws -> PackedValue {
        guard let coder else { throw ReduceFailure("The reduce function has no index.") }
        let decoded = try keys.map { try RowKey.emittedKey(in: $0.span, coder) }
        return try call(decoded, values, isRereduce: false)
    }

    func rereduce(_ values: [PackedValue]) throws -> PackedValue {
        try call([], values, isRereduce: true)
    }

    private func call(_ keys: [JSONValue], _ values: [PackedValue], isRereduce: Bool) throws
        -> PackedValue
    {
        let result = try MapGuard.$isMapping.withValue(true) {
            try body(keys, values.map { $0.jsonValue() }, isRereduce)
        }
        guard result.isNested(atMost: JSONValue.deepestStored) else {
            throw ReduceFailure(
                "The reduce function gave something nested deeper than \(JSONValue.deepestStored) "
                    + "levels.")
        }
        guard result.isFinite else {
            throw ReduceFailure("The reduce function gave a number that is NaN or infinite.")
        }
        let packed = PackedValue(result)
        guard packed.bytes.count <= Self.largestResult else {
            throw ReduceFailure(
                "The reduce function gave more than 64 kB: a reduction must not grow with its rows."
            )
        }
        return packed
    }

    /// Results are stored for one row in 32, so one that grows would outgrow its index.
    private static let largestResult = 64 << 10
}
