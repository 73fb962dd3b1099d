// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanPlatform
import DivanTestSupport

/// What a view should hold and answer, in the simplest form: a list that is sorted and looked through.
struct ReferenceView {
    struct Row: Equatable {
        var key: JSONValue
        var documentID: String
        var value: Int64
    }

    let order: ValueOrder
    private(set) var documents: [String: [(key: JSONValue, value: Int64)]] = [:]

    init(_ collation: Collation) {
        order = ValueOrder(collation, strings: ICUCollator.root)
    }

    mutating func set(_ id: String, _ rows: [(key: JSONValue, value: Int64)]?) {
        documents[id] = rows
    }

    /// All rows in order: by key, by document, and as the document emitted them.
    var rows: [Row] {
        documents.flatMap { id, rows in
            rows.enumerated().map { place, row in
                (place: place, row: Row(key: row.key, documentID: id, value: row.value))
            }
        }
        .sorted { left, right in
            let keys = order.collate(left.row.key, right.row.key)
            if keys != 0 { return keys < 0 }
            let (id, other) = (left.row.documentID, right.row.documentID)
            return id == other
                ? left.place < right.place : id.utf8.lexicographicallyPrecedes(other.utf8)
        }
        .map(\.row)
    }

    /// The rows that a query finds, before skip and limit.
    func rows(_ query: ViewQuery) -> [Row] {
        if let keys = query.keys {
            let all = rows
            return keys.flatMap { key in
                let found = all.filter { order.collate($0.key, key) == 0 }
                return query.descending ? found.reversed() : found
            }
        }
        let (low, high) =
            query.descending
            ? (
                (query.endKey, query.inclusiveEnd), (query.startKey, query.inclusiveStart)
            )
            : ((query.startKey, query.inclusiveStart), (query.endKey, query.inclusiveEnd))
        let inside = rows.filter { row in
            if let key = low.0 {
                let place = order.collate(row.key, key)
                if place < 0 || place == 0 && !low.1 { return false }
            }
            if let key = high.0 {
                let place = order.collate(row.key, key)
                if place > 0 || place == 0 && !high.1 { return false }
            }
            return true
        }
        return query.descending ? inside.reversed() : inside
    }

    func window<T>(_ rows: [T], _ query: ViewQuery) -> [T] {
        Array(rows.dropFirst(query.skip).prefix(query.limit ?? .max))
    }

    /// The groups that a query finds, with the sums of their values.
    func groups(_ query: ViewQuery) -> [(key: JSONValue, sum: Int64)] {
        var groups: [(key: JSONValue, sum: Int64)] = []
        for row in rows(query) {
            var key = row.key
            if case .level(let level) = query.grouping, case .array(let items) = key {
                key = .array(Array(items.prefix(level)))
            }
            if let last = groups.last, order.collatesAsEqual(last.key, key) {
                groups[groups.count - 1].sum += row.value
            } else {
                groups.append((key, row.value))
            }
        }
        return window(groups, query)
    }
}
