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

    /// All rows in order.
    var rows: [Row] {
        documents.flatMap { id, rows in
            rows.map { Row(key: $0.key, documentID: id, value: $0.value) }
        }
        .sorted { left, right in
            let keys = order.compare(left.key, right.key)
            if keys != 0 { return keys < 0 }
            if left.documentID != right.documentID {
                return left.documentID.utf8.lexicographicallyPrecedes(right.documentID.utf8)
            }
            return left.value < right.value
        }
    }

    /// The rows that a query finds, before skip and limit.
    func rows(_ query: Query) -> [Row] {
        if let keys = query.keys {
            let all = rows
            return keys.flatMap { key in
                let found = all.filter { compare($0.key, key) == 0 }
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
                let place = compare(row.key, key)
                if place < 0 || place == 0 && !low.1 { return false }
            }
            if let key = high.0 {
                let place = compare(row.key, key)
                if place > 0 || place == 0 && !high.1 { return false }
            }
            return true
        }
        return query.descending ? inside.reversed() : inside
    }

    func window<T>(_ rows: [T], _ query: Query) -> [T] {
        Array(rows.dropFirst(query.skip).prefix(query.limit ?? .max))
    }

    /// The groups that a query finds, with the sums of their values.
    func groups(_ query: Query) -> [(key: JSONValue, sum: Int64)] {
        var groups: [(key: JSONValue, sum: Int64)] = []
        for row in rows(query) {
            var key = row.key
            if case .level(let level) = query.grouping, case .array(let items) = key {
                key = .array(Array(items.prefix(level)))
            }
            if let last = groups.last, isSame(last.key, key, row.key, query) {
                groups[groups.count - 1].sum += row.value
            } else {
                groups.append((key, row.value))
            }
        }
        return window(groups, query)
    }

    /// A short array is a group of its own, apart from the beginnings of longer ones.
    private func isSame(
        _ group: JSONValue, _ key: JSONValue, _ full: JSONValue, _ query: Query
    ) -> Bool {
        if case .number = group.kind, case .number = key.kind {
            return order.collatesAsEqual(group, key)
        }
        return order.compare(group, key) == 0
    }

    /// As a query compares: numbers that are the whole key are equal whatever their form.
    private func compare(_ left: JSONValue, _ right: JSONValue) -> Int {
        if case .number = left.kind, case .number = right.kind, order.collatesAsEqual(left, right) {
            return 0
        }
        return order.compare(left, right)
    }
}

extension JSONValue {
    enum Kind { case number, other }

    fileprivate var kind: Kind {
        switch self {
        case .integer, .unsigned, .double, .number: .number
        default: .other
        }
    }
}
