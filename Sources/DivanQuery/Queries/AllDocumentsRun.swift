// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel

/// One run of a query of all documents: the store of documents is its index.
struct AllDocumentsRun {
    let query: ViewQuery
    let core: DatabaseCore

    func run() throws -> QueryResult {
        if let partition = query.partition { try DatabasePartition.check(partition, in: core) }
        return try core.read { snapshot in
            let rows =
                try query.keys.map { try self.rows(snapshot, withIDs: $0) }
                ?? self.rows(snapshot)
            let state = try snapshot.state()
            return QueryResult(
                rows, core: core, sequence: state.lastSequence, purge: state.lastPurge,
                totalRows: Int(clamping: state.liveDocuments), offset: nil)
        }
    }

    /// The IDs that can be found, whatever the other properties leave of them.
    struct IDRange: Sendable {
        var lower: DocumentID?
        var upper: DocumentID?
        /// Only these; nil for all of the range.
        var list: Set<DocumentID>?

        func contains(_ id: DocumentID) -> Bool {
            if let list { return list.contains(id) }
            // In the order of the store, which is that of bytes.
            if let lower, id < lower { return false }
            if let upper, upper < id { return false }
            return true
        }
    }

    var idRange: IDRange {
        get throws {
            if let keys = query.keys {
                return IDRange(list: Set(keys.compactMap(\.string).map { DocumentID($0) }))
            }
            let start = try bound(query.startKey, isHigh: query.descending)
            let end = try bound(query.endKey, isHigh: !query.descending)
            var options = AllDocumentsOptions()
            (options.startID, options.endID) = query.descending ? (end, start) : (start, end)
            if let partition = query.partition {
                options = options.narrowed(toPartition: partition)
            }
            return IDRange(lower: options.startID, upper: options.endID)
        }
    }

    // MARK: - A range

    private func rows(_ snapshot: Snapshot) throws -> [QueryRow] {
        var options = AllDocumentsOptions()
        let start = try bound(query.startKey, isHigh: query.descending)
        let end = try bound(query.endKey, isHigh: !query.descending)
        (options.startID, options.endID) = (start, end)
        options.descending = query.descending
        options.includeDeleted = query.allDocumentsMode == .includeDeleted
        options.onlyConflicts = query.allDocumentsMode == .onlyConflicts
        options.includeDocuments = query.includeDocuments
        if let partition = query.partition {
            options = options.narrowed(toPartition: partition)
        }
        options.excludesStart = !query.inclusiveStart
        options.excludesEnd = !query.inclusiveEnd
        // What a filter or another order leaves is not known before all rows have been looked at.
        let isWindowed = query.filter != nil || query.sort != nil
        if !isWindowed { (options.skip, options.limit) = (query.skip, query.limit) }
        var rows: [QueryRow] = []
        try snapshot.forEachDocument(options) { rows.append(try row($0, snapshot)) }
        guard isWindowed else { return rows }
        rows = query.filter.map { rows.filter($0) } ?? rows
        if let sort = query.sort { rows.sort(by: sort) }
        return Array(rows.dropFirst(query.skip).prefix(query.limit ?? .max))
    }

    private func id(_ key: JSONValue?) throws -> DocumentID? {
        guard let key else { return nil }
        guard let id = key.string else {
            throw DatabaseError(
                .invalidQuery,
                "A query of all documents has document IDs as keys, which are strings.")
        }
        return DocumentID(id)
    }

    /// A bound of a range; with prefix matching, the upper one is behind all that begins with it.
    private func bound(_ key: JSONValue?, isHigh: Bool) throws -> DocumentID? {
        let id = try id(key)
        return isHigh && query.prefixMatchLevel > 0 ? id.map { "\($0)\u{10FFFF}" } : id
    }

    private func row(_ document: DocumentRow, _ snapshot: Snapshot) throws -> QueryRow {
        var value: JSONObject = ["rev": .string(document.revisionID.description)]
        if document.isDeleted { value["deleted"] = true }
        let showsConflicts =
            query.allDocumentsMode == .showConflicts || query.allDocumentsMode == .onlyConflicts
        var conflicts: [Document]?
        if showsConflicts, document.isConflicted {
            let id = document.id
            conflicts = try snapshot.record(id)?.tree.leaves
                .filter { !$0.isTombstone }.map { try snapshot.document(id, node: $0) }
        }
        return QueryRow(
            .made(
                .init(
                    key: .string(document.id.text), value: .object(value), documentID: document.id,
                    core: core)),
            including: document.document, conflicts: conflicts)
    }

    // MARK: - Single IDs

    private func isInPartition(_ id: DocumentID) -> Bool {
        query.partition.map { $0.hasSameBytes(as: id.partition) } ?? true
    }

    /// Rows in the order of the IDs; one without a value for an ID that no document ever had, or that is of another
    /// partition than the query's.
    private func rows(_ snapshot: Snapshot, withIDs keys: [JSONValue]) throws -> [QueryRow] {
        var rows: [QueryRow] = []
        for key in keys {
            guard let id = try id(key)?.checked() else { continue }
            guard isInPartition(id), let head = try snapshot.head(id) else {
                rows.append(
                    QueryRow(
                        .made(.init(key: key, value: nil, documentID: nil, core: core))))
                continue
            }
            let found = DocumentRow(
                id: id, revision: head.winner.id, sequence: head.winner.sequence ?? 0,
                isDeleted: head.isDeleted, isConflicted: head.isConflicted,
                document: query.includeDocuments ? try snapshot.document(id) : nil)
            rows.append(try row(found, snapshot))
        }
        rows = query.filter.map { rows.filter($0) } ?? rows
        if let sort = query.sort { rows.sort(by: sort) }
        return Array(rows.dropFirst(query.skip).prefix(query.limit ?? .max))
    }
}
