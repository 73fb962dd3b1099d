// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON

extension PlannedQuery {
    /// The declared indexes that may serve the query, each in the order that serves it best.
    ///
    /// - Parameters:
    ///   - snapshot: Where the indexes are looked for.
    ///   - mayUpdate: Whether they can be brought up to date.
    /// - Returns: The indexes.
    /// - Throws: `.invalidQuery` when the index that is to be used does not exist.
    func usefulIndexes(_ snapshot: Snapshot, mayUpdate: Bool) throws -> [PropertyIndexMap] {
        if readsInOrder, indexName != nil {
            return try declaredIndexes(snapshot).compactMap { map in
                map.inAllOrders.first { $0.order == collation }
            }
        }
        let declared = try declaredIndexes(snapshot).filter(mayUse)
        guard updatesIndexes else {
            return try declared.map { try newestOrder(of: $0, snapshot) }
        }
        // What cannot be brought up to date is used as far as it is, in whatever order.
        guard mayUpdate else { return declared.flatMap(\.inAllOrders) }
        return withoutTwins(try declared.map { try bestOrder(of: $0, snapshot) })
    }

    /// The order of an index whose rows have most changes.
    private func newestOrder(of map: PropertyIndexMap, _ snapshot: Snapshot) throws
        -> PropertyIndexMap
    {
        if let begun = begunOrder(of: map) { return begun }
        let marks = try map.inAllOrders.map { order in
            (order, try snapshot.indexRecord(order.indexName)?.lastSequence ?? 0)
        }
        return marks.max { left, right in
            (left.1, left.0.order == collation ? 1 : 0)
                < (right.1, right.0.order == collation ? 1 : 0)
        }?.0 ?? map
    }

    /// The indexes without those on the same properties that have another order than the query.
    private func withoutTwins(_ maps: [PropertyIndexMap]) -> [PropertyIndexMap] {
        let own = Set(maps.filter { $0.order == collation }.map(\.components))
        return maps.filter { map in
            map.order == collation || !own.contains(map.components) || begunOrder(of: map) != nil
        }
    }

    /// The indexes that a run may read: any order of the useful ones.
    func indexesToFollow() throws -> [PropertyIndexMap] {
        try core.read { try declaredIndexes($0) }.filter(mayUse).flatMap(\.inAllOrders)
    }

    /// All indexes, or the one that the query names.
    private func declaredIndexes(_ snapshot: Snapshot) throws -> [PropertyIndexMap] {
        let all = try snapshot.propertyIndexes()
        guard let indexName else { return all }
        guard let index = all.first(where: { $0.index.name.hasSameBytes(as: indexName) }) else {
            throw DatabaseError(.invalidQuery, "There is no index '\(indexName)'.")
        }
        return [index]
    }

    /// Whether the query may use an index in some order.
    private func mayUse(_ map: PropertyIndexMap) -> Bool { reasonAgainst(map) == nil }

    /// Why the query cannot use an index in any of its orders; nil where it can.
    func reasonAgainst(_ map: PropertyIndexMap) -> UnusedIndex.Reason? {
        if includesDeleted { return .deletedDocuments }
        if map.index.filter != nil, indexName == nil { return .filter }
        let asked = Set(order.map { IndexComponent($0.path) }).union(constraint.components)
        guard asks(for: map, asked) else { return .firstProperty }
        let isServed = map.index.orders.contains { other in
            asks(for: map, components(servedIn: other))
        }
        return isServed || indexName != nil ? nil : .collation
    }

    /// Whether what is asked for begins as the keys of an index do.
    private func asks(for map: PropertyIndexMap, _ asked: Set<IndexComponent>) -> Bool {
        guard let first = map.components.first else { return false }
        return asked.contains(first)
            || first.isOfElements && map.components.contains { asked.contains($0) }
    }

    /// What an index in some order narrows down exactly, or has in the order of the query.
    private func components(servedIn other: Collation) -> Set<IndexComponent> {
        let sorted = order.filter { other == collation || constraint.hasNumbersOnly($0.path) }
        return constraint.components { $0.translated(from: collation, to: other).isExact }
            .union(sorted.map { IndexComponent($0.path) })
    }

    // MARK: - The order of an index

    /// The order of an index in which the pages before were read; nil when it was another index.
    private func begunOrder(of map: PropertyIndexMap) -> PropertyIndexMap? {
        guard case .index(let name)? = start?.kind else { return nil }
        return map.inAllOrders.first { $0.indexName.name.hasSameBytes(as: name) }
    }

    /// The order of an index to read: that of the query, unless the rows in another one are there and do as well.
    private func bestOrder(of map: PropertyIndexMap, _ snapshot: Snapshot) throws
        -> PropertyIndexMap
    {
        if let begun = begunOrder(of: map) { return begun }
        let all = map.inAllOrders
        let own = all.first { $0.order == collation } ?? map
        guard let other = all.first(where: { $0.order != own.order }), serves(other, own) else {
            return own
        }
        if narrowsMore(other, own) { return other }
        return try !snapshot.isBuilt(own) && snapshot.isBuilt(other) ? other : own
    }

    /// Whether the rows in another order narrow the documents down as those in the query's own do, and sort them.
    private func serves(_ other: PropertyIndexMap, _ own: PropertyIndexMap) -> Bool {
        let isSorted = order.allSatisfy { key in
            !own.components.contains(IndexComponent(key.path))
                || constraint.hasNumbersOnly(key.path)
        }
        return isSorted
            && constraint.isServed(own.components) { intervals in
                !intervals.translated(from: collation, to: own.order).isExact
                    || intervals.translated(from: collation, to: other.order).isExact
            }
    }

    /// Whether only the other order has the values of a condition together: texts with a beginning.
    private func narrowsMore(_ other: PropertyIndexMap, _ own: PropertyIndexMap) -> Bool {
        !constraint.isServed(own.components) { intervals in
            intervals.translated(from: collation, to: own.order).isExact
                || !intervals.translated(from: collation, to: other.order).isExact
        }
    }
}

extension QueryConstraint {
    /// All that it has conditions on.
    var components: Set<IndexComponent> { components { _ in true } }

    /// All that it has conditions on whose intervals fulfil a test.
    func components(_ test: ([ValueInterval]) -> Bool) -> Set<IndexComponent> {
        switch self {
        case .anything, .nothing: []
        case .inside(let component, let intervals): test(intervals) ? [component] : []
        case .all(let parts), .any(let parts):
            parts.reduce(into: []) { $0.formUnion($1.components(test)) }
        }
    }

    /// Whether all conditions on some components fulfil a test.
    fileprivate func isServed(
        _ components: [IndexComponent], _ test: ([ValueInterval]) -> Bool
    ) -> Bool {
        switch self {
        case .anything, .nothing: true
        case .inside(let component, let intervals):
            !components.contains(component) || test(intervals)
        case .all(let parts), .any(let parts): parts.allSatisfy { $0.isServed(components, test) }
        }
    }

    /// Whether a condition that all documents fulfil leaves only numbers of a property.
    func hasNumbersOnly(_ path: PropertyPath) -> Bool {
        conditions.contains { $0.0 == IndexComponent(path) && $0.1.areOfNumbers }
    }
}
