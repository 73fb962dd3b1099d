// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
public import DivanJSON

/// The rows that a ``SelectQuery`` gave.
public struct SelectRows: RandomAccessCollection, Sendable {
    /// The names of the columns, in order.
    public let keys: [String]
    let values: [[JSONValue?]]
    /// The columns that tell which document or group a row is of; none when there are no such columns.
    var identifying: [Int] = []

    /// The position of the first row.
    public var startIndex: Int { 0 }
    /// The position after the last row.
    public var endIndex: Int { values.count }
    /// The row at a position.
    public subscript(position: Int) -> SelectRow {
        SelectRow(keys: keys, values: values[position])
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

/// One row: a value for each column, or none where it is missing.
public struct SelectRow: Sendable {
    /// The names of the columns, in order.
    public let keys: [String]
    let values: [JSONValue?]

    /// The value of a column; absent where it is missing, or there is no such column.
    public subscript(key: String) -> Fragment {
        guard let index = keys.firstIndex(where: { $0.hasSameBytes(as: key) }) else {
            return Fragment(JSONValue?.none)
        }
        return Fragment(values[index])
    }

    /// The value of a column by its place.
    public subscript(index: Int) -> Fragment {
        values.indices.contains(index) ? Fragment(values[index]) : Fragment(JSONValue?.none)
    }

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
        left.keys.hasSameBytes(as: right.keys) && left.values == right.values
    }
}
