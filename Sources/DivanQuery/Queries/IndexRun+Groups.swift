// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON

// What a view's rows reduce to: in all, by key, or by the beginnings of keys (CouchDB's `group` and `group_level`).
extension IndexRun {
    func reduce(
        _ index: IndexReader, _ ranges: [RowRange], _ reducer: any ViewReducer
    ) throws -> [QueryRow] {
        guard let value = try valueOrFailure(index, ranges, reducer) else { return [] }
        return windowed([made(.null, value)])
    }

    /// What the rows of ranges reduce to, or what stands for that where the query wants to be told of failures.
    private func valueOrFailure(
        _ index: IndexReader, _ ranges: [RowRange], _ reducer: any ViewReducer
    ) throws -> JSONValue? {
        guard let valueOfFailure = query.valueOfFailure else {
            return try value(index, ranges, reducer)
        }
        do { return try value(index, ranges, reducer) } catch let error as ReductionFailure {
            return valueOfFailure(error.description)
        }
    }

    /// What the rows of ranges reduce to; nil when there are none.
    private func value(
        _ index: IndexReader, _ ranges: [RowRange], _ reducer: any ViewReducer
    ) throws -> JSONValue? {
        var parts: [PackedValue] = []
        var held = 0
        let flag = CancellationFlag.current
        for range in ranges {
            if !reducer.isStored {
                try index.forEachRow(in: range) { _, value in
                    try flag?.check()
                    parts.append(RowValue.decode(value))
                    let former = held
                    held += MemoryLayout<PackedValue>.stride + value.count
                    if held >> 16 > former >> 16 { try query.willHold?(held) }
                    return true
                }
            } else if let value = try index.reduce(range, with: reducer).value {
                parts.append(value)
            }
        }
        guard let first = parts.first else { return nil }
        do {
            let isWhole = parts.count == 1 && reducer.isStored
            return reducer.result(try isWhole ? first : reducer.rereduce(parts))
        } catch let error as InterruptedReduction {
            throw error
        } catch {
            throw ReductionFailure("\(error)")
        }
    }

    private func made(_ key: JSONValue, _ value: JSONValue?) -> QueryRow {
        QueryRow(
            .made(.init(key: key, value: value, documentID: nil, core: snapshot.core)))
    }

    /// The groups of a range: each is found from its first row, and skipped as a whole.
    func addGroups(
        to groups: inout [QueryRow], holding held: inout Int, _ index: IndexReader,
        _ range: RowRange
    ) throws {
        let former = groups.count
        var rest = range
        // Without a filter no more groups than wanted need be reduced.
        let isWindowed = query.filter != nil || query.sort != nil
        let wanted = isWindowed ? Int.max : query.skip.addingSaturated(query.limit ?? .max)
        while groups.count - former < wanted, let key = try firstKey(index, rest) {
            let (group, name) = group(of: key)
            let inside = group.clamped(to: range)
            let value = try reducer.flatMap { try valueOrFailure(index, [inside], $0) }
            groups.append(made(name, value))
            if let willHold = query.willHold {
                let former = held
                held += QueryRow.madeBytes + Self.size(of: name) + Self.size(of: value)
                if held >> 16 > former >> 16 { try willHold(held) }
            }
            if query.descending {
                rest.upper = inside.lower
            } else {
                guard let end = group.upper else { break }
                rest.lower = end
            }
        }
    }

    /// About how much memory a value takes: as texts and numbers of their own, some times what it takes packed.
    private static func size(of value: JSONValue?) -> Int {
        value.map { 4 * PackedValue($0).byteCount } ?? 0
    }

    private func firstKey(_ index: IndexReader, _ range: RowRange) throws -> JSONValue? {
        var first: JSONValue?
        try index.forEachRow(in: range, descending: query.descending) { key, _ in
            first = try RowKey.emittedKey(in: key, coder)
            return false
        }
        return first
    }

    /// The rows that are in one group with a key, and the group's key, which is written as in the first
    /// of its rows.
    private func group(of key: JSONValue) -> (rows: RowRange, key: JSONValue) {
        if case .level(let level) = query.grouping, case .array(let items) = key,
            items.count >= level
        {
            var prefix = QueryRanges(query: query, coder: coder).lead
            coder.appendPrefix(of: items.prefix(level), to: &prefix)
            return (RowRange(prefix: prefix), .array(Array(items.prefix(level))))
        }
        return (QueryRanges(query: query, coder: coder).equal(to: key), key)
    }
}
