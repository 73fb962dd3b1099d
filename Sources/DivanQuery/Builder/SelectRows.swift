// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
public import DivanJSON

/// The rows that a ``SelectQuery`` gave.
public struct SelectRows: RandomAccessCollection, Sendable {
    /// The names of the columns, in order.
    public let keys: [String]
    /// The columns that tell which document or group a row is of; none when there are no such columns.
    let identifying: [Int]
    /// The values of all rows, one row behind the other.
    private var values: [JSONValue?] = []
    private var rowCount = 0

    /// The position of the first row.
    public var startIndex: Int { 0 }
    /// The position after the last row.
    public var endIndex: Int { rowCount }
    /// The row at a position.
    public subscript(position: Int) -> SelectRow {
        let start = position * keys.count
        return SelectRow(keys: keys, values: values[start..<start + keys.count])
    }

    /// All rows as Swift values.
    ///
    /// - Parameter type: What a row becomes; its properties are columns.
    /// - Returns: The values.
    /// - Throws: `DecodingError` when a row does not fit.
    public func decode<T: Decodable>(_ type: T.Type) throws -> [T] {
        try map { try $0.decode(type) }
    }
}

extension SelectRows {
    /// No rows yet.
    init(keys: [String], identifying: [Int], capacity: Int) {
        (self.keys, self.identifying) = (keys, identifying)
        values.reserveCapacity(capacity * keys.count)
    }

    /// Adds a row.
    ///
    /// - Parameter fill: Appends the row's values; false when it cannot, and then there is no row.
    /// - Returns: What `fill` returned.
    /// - Throws: What `fill` throws; the rows are of no use then.
    mutating func append(_ fill: (inout [JSONValue?]) throws -> Bool) rethrows -> Bool {
        let start = values.count
        guard try fill(&values) else {
            values.removeSubrange(start...)
            return false
        }
        rowCount += 1
        return true
    }

    /// Leaves the last row out.
    mutating func removeLast() {
        values.removeLast(keys.count)
        rowCount -= 1
    }

    /// Keeps some rows, after skipping some.
    mutating func keep(_ limit: Int?, after offset: Int) {
        let first = Swift.min(offset, rowCount)
        let kept = Swift.min(limit ?? .max, rowCount - first)
        guard kept < rowCount else { return }
        values = Array(values[first * keys.count..<(first + kept) * keys.count])
        rowCount = kept
    }
}

/// One row: a value for each column, or none where it is missing.
public struct SelectRow: Sendable {
    /// The names of the columns, in order.
    public let keys: [String]
    let values: ArraySlice<JSONValue?>

    /// The value of a column; absent where it is missing, or there is no such column.
    public subscript(key: String) -> Fragment {
        guard let index = keys.firstIndex(where: { $0.hasSameBytes(as: key) }) else {
            return Fragment(JSONValue?.none)
        }
        return self[index]
    }

    /// The value of a column by its place.
    public subscript(index: Int) -> Fragment {
        Fragment(keys.indices.contains(index) ? value(at: index) : nil)
    }

    /// The value of a column that there is.
    func value(at index: Int) -> JSONValue? { values[values.startIndex + index] }

    /// The values that are not missing, by column.
    public var properties: JSONObject {
        var object: JSONObject = [:]
        for (key, value) in zip(keys, values) { if let value { object[key] = value } }
        return object
    }

    /// The row as JSON text.
    public func toJSON() -> String { JSONValue.object(properties).description }

    /// The row as a Swift value whose properties are columns.
    ///
    /// - Throws: `DecodingError` when it does not fit.
    public func decode<T: Decodable>(_ type: T.Type) throws -> T {
        try JSONValueDecoder().decode(type, from: .object(properties))
    }
}

extension SelectRow: Equatable {
    /// Rows are equal when their columns and values are.
    public static func == (left: SelectRow, right: SelectRow) -> Bool {
        left.keys.hasSameBytes(as: right.keys) && left.values == right.values
    }
}

extension SelectRows: Equatable {
    /// Equal when columns and rows are, in the same order.
    public static func == (left: SelectRows, right: SelectRows) -> Bool {
        left.keys.hasSameBytes(as: right.keys) && left.rowCount == right.rowCount
            && left.values == right.values
    }
}
