// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
public import DivanJSON

/// The rows that a ``SelectQuery`` gave.
///
/// Where all columns are properties or IDs, they are kept as they are stored, and decoded each time that they are read; other
/// columns are computed once. A row, or a value of one, keeps all rows in memory.
public struct SelectRows: RandomAccessCollection, Sendable {
    private let table: SelectTable

    init(_ table: SelectTable) { self.table = table }

    /// The names of the columns, in order.
    public var keys: [String] { table.keys }
    /// The columns that tell which document or group a row is of; none when there are no such columns.
    var identifying: [Int] { table.identifying }

    /// The position of the first row.
    public var startIndex: Int { 0 }
    /// The position after the last row.
    public var endIndex: Int { table.rowCount }
    /// The row at a position.
    public subscript(position: Int) -> SelectRow { SelectRow(table: table, place: position) }

    /// All rows as Swift values.
    ///
    /// - Parameter type: What a row becomes; its properties are columns.
    /// - Returns: The values.
    /// - Throws: `DecodingError` when a row does not fit.
    public func decode<T: Decodable>(_ type: T.Type) throws -> [T] {
        try map { try $0.decode(type) }
    }
}

/// One row: a value for each column, or none where it is missing.
public struct SelectRow: Sendable {
    private let table: SelectTable
    private let place: Int

    init(table: SelectTable, place: Int) {
        precondition(
            (0..<table.rowCount).contains(place), "A row is asked for where there is none.")
        (self.table, self.place) = (table, place)
    }

    /// The names of the columns, in order.
    public var keys: [String] { table.keys }

    /// The value of a column; absent where it is missing, or there is no such column.
    public subscript(key: String) -> Fragment {
        guard let index = keys.firstIndex(where: { $0.hasSameBytes(as: key) }) else {
            return Fragment(JSONValue?.none)
        }
        return self[index]
    }

    /// The value of a column by its place.
    public subscript(index: Int) -> Fragment {
        guard table.keys.indices.contains(index) else { return Fragment(JSONValue?.none) }
        return table.cells[place * table.keys.count + index]
    }

    /// The values by column.
    var values: [JSONValue?] { table.keys.indices.map { self[$0].value } }

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
        left.keys.hasSameBytes(as: right.keys)
            && left.table.isEqual(left.place..<left.place + 1, to: right.table, from: right.place)
    }
}

extension SelectRows: Equatable {
    /// Equal when columns and rows are, in the same order.
    public static func == (left: SelectRows, right: SelectRows) -> Bool {
        guard left.table !== right.table else { return true }
        return left.keys.hasSameBytes(as: right.keys) && left.count == right.count
            && left.table.isEqual(left.indices, to: right.table, from: 0)
    }
}
