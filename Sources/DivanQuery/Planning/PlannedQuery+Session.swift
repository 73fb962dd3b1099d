// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON
internal import DivanModel

extension PlannedQuery {
    /// Calls `body` with a planner on a snapshot in which the indexes are up to date.
    func withPlanner<T>(_ body: (Planner) throws -> T) throws -> T {
        var maps: [PropertyIndexMap] = []
        do {
            var result: T?
            let mayUpdate = updatesIndexes && core.maintainsIndexes
            try core.read { snapshot in
                maps = try usefulIndexes(snapshot, mayUpdate: mayUpdate)
                let planner = try planner(snapshot, maps)
                // Mostly nothing has changed since the last query.
                guard !mayUpdate || planner.isUpToDate(for: maps) else { return }
                result = try body(planner)
            }
            if let result { return result }
            return try attempt(maps, body)
        } catch let error as IndexCorruption {
            guard core.maintainsIndexes else {
                throw DatabaseError.damagedIndex(
                    maps.map(\.index.name).joined(separator: "', '"), error)
            }
            try core.rebuildPropertyIndexes(maps)
        }
        do { return try attempt(maps, body) } catch let error as IndexCorruption {
            throw DatabaseError.damagedIndex(
                maps.map(\.index.name).joined(separator: "', '"), error)
        }
    }

    private func attempt<T>(_ maps: [PropertyIndexMap], _ body: (Planner) throws -> T) throws -> T {
        let mayUpdate = updatesIndexes && core.maintainsIndexes && !maps.isEmpty
        guard mayUpdate else { return try core.read { try body(try planner($0, maps)) } }
        return try core.answer(
            afterUpdate: { try core.updatePropertyIndexes(maps) },
            ifCurrent: { try isCurrent(maps, $0) }
        ) { try body(try planner($0, maps)) }
    }

    private func isCurrent(_ maps: [PropertyIndexMap], _ snapshot: Snapshot) throws -> Bool {
        let state = try snapshot.state()
        return try maps.allSatisfy { map in
            // This does not wait for an index that was deleted meanwhile.
            guard let record = try snapshot.knownRecord(map.indexName) else { return true }
            return record.isMade(by: map.definition) && !record.isOutdated(in: state)
        }
    }

    private func planner(_ snapshot: Snapshot, _ maps: [PropertyIndexMap]) throws -> Planner {
        let state = try snapshot.state()
        let indexes = try maps.compactMap { map -> IndexAccess? in
            guard let record = try snapshot.knownRecord(map.indexName),
                record.isMade(by: map.definition),
                // An outdated index is used only by a query that accepts old results.
                !record.isOutdated(in: state) || !updatesIndexes
            else { return nil }
            return IndexAccess(map: map, record: record, ranges: [.all])
        }
        let documents = Int(
            clamping: state.liveDocuments + (includesDeleted ? state.deletedDocuments : 0))
        return Planner(
            snapshot: snapshot, indexes: indexes,
            documentCount: try min(documents, count(snapshot)),
            collation: collation, idRange: idRange, includesDeleted: includesDeleted)
    }

    /// The most documents of a partition that are counted before a query of it is planned.
    private static let mostCounted = 10_000

    /// How many documents a query of a partition looks at without an index; the largest number where these are many, or
    /// the query is of all partitions.
    private func count(_ snapshot: Snapshot) throws -> Int {
        guard idRange != .all else { return .max }
        var options = AllDocumentsOptions()
        options.startID = idRange.lower.map { DocumentID(copying: $0.span) }
        // Between two partitions there is no document.
        options.endID = idRange.upper.map { DocumentID(copying: $0.span) }
        options.includeDeleted = includesDeleted
        options.limit = Self.mostCounted
        var count = 0
        try snapshot.forEachDocumentID(options) { _ in count += 1 }
        return count < Self.mostCounted ? count : .max
    }
}

extension Planner {
    /// Whether indexes have all changes and partial reductions.
    fileprivate func isUpToDate(for maps: [PropertyIndexMap]) -> Bool {
        indexes.count == maps.count && indexes.allSatisfy(\.record.hasPartials)
    }
}
