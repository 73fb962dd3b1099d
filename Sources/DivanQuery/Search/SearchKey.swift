// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// The keys of a search index's rows.
enum SearchKey {
    /// The field that every document has without having been given it: its ID.
    static let identifier = "_id"

    /// The rows that stand for documents.
    static let documents: JSONValue = [0]

    /// The rows of a term of a field.
    static func term(_ field: String, _ term: String) -> JSONValue {
        [1, .string(field), .string(term)]
    }

    /// The rows of a number of a field.
    static func number(_ field: String, _ number: Double) -> JSONValue {
        [2, .string(field), value(number)]
    }

    /// What stands below all terms of a field, or all numbers.
    static func beginning(_ field: String, numbers: Bool) -> JSONValue {
        [numbers ? 2 : 1, .string(field)]
    }

    /// What stands above them: an object is above all texts and numbers.
    static func end(_ field: String, numbers: Bool) -> JSONValue {
        [numbers ? 2 : 1, .string(field), .object([:])]
    }

    /// A number as it is in keys and in documents: whole ones as such.
    static func value(_ number: Double) -> JSONValue {
        Int64(exactly: number).map { .integer($0) } ?? .double(number)
    }
}
