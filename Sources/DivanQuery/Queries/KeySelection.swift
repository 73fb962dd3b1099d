// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
public import DivanJSON

/// Which keys of an index a query finds.
///
/// ```swift
/// view.query(.keys("todo", "doing"))
/// view.query(.range(from: 10, through: 20))
/// view.query(.range(from: ["red"], through: ["red", [:]]))      // all arrays that begin with "red"
/// ```
public struct KeySelection: Sendable {
    enum Kind: Sendable {
        case range(from: JSONValue?, through: JSONValue?)
        case keys([JSONValue])
    }

    let kind: Kind

    /// All keys.
    public static let all = KeySelection(kind: .range(from: nil, through: nil))

    /// These keys, in this order; a key given twice is found twice.
    public static func keys(_ keys: JSONValue...) -> KeySelection {
        KeySelection(kind: .keys(keys))
    }

    /// These keys, in this order; a key given twice is found twice.
    public static func keys(_ keys: [JSONValue]) -> KeySelection { KeySelection(kind: .keys(keys)) }

    /// The keys from one to another, in the order of the query: when it is descending, `from` is the
    /// larger one. nil stands for the beginning or the end.
    public static func range(from start: JSONValue?, through end: JSONValue? = nil) -> KeySelection
    {
        KeySelection(kind: .range(from: start, through: end))
    }
}
