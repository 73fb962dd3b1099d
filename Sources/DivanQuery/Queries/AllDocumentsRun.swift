// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel

/// One run of a query of all documents: the store of documents is its index.
struct AllDocumentsRun {
    let query: ViewQuery
    let core: DatabaseCore

    func run() throws -> QueryResult {
        try core.read { snapshot in
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
        var lower: String?
        var upper: String?
        /// Only these; nil for all of the range.
        var list: NameSet?

        func contains(_ id: String) -> Bool {
            if let list { return list.contains(id) }
            // In the order of the store, which is that of bytes.
            if let lower, id.utf8.lexicographicallyPrecedes(lower.utf8) { return false }
            if let upper, upper.utf8.lexicographicallyPrecedes(id.utf8) { return false }
            return true
        }
    }

    var idRange: IDRange {
        get throws {
            if let keys = query.keys { return IDRange(list: NameSet(keys.compactMap(\.string))) }
            let start = try bound(query.startKey, isHigh: query.descending)
            let end = try bound(query.endKey, isHigh: !query.descending)
            return query.descending
                ? IDRange(lower: end, upper: start) : IDRange(lower: start, upper: end)
        }
    }

    // MARK: - A range

    private func rows(_ snapshot: Snapshot) throws -> [QueryRow] {
        var options = AllDocumentsOptions()
        options.startID = try bound(query.startKey, isHigh: query.descending)
        options.endID = try bound(query.endKey, isHigh: !query.descending)
        options.descending = query.descending
        options.includeDeleted = query.allDocumentsMode == .includeDeleted
        options.onlyConflicts = query.allDocumentsMode == .onlyConflicts
        options.includeDocuments = query.includeDocuments
        let isWindowed = query.filter != nil || query.sort != nil
        let isExclusive = !query.inclusiveStart || !query.inclusiveEnd
        if !isWindowed, !isExclusive {
            options.skip = query.skip
            options.limit = query.limit
        }
        var rows: [QueryRow] = []
        try snapshot.forEachDocument(options) { document in
            let isOut =
                !query.inclusiveStart && document.id.hasSameBytes(as: options.startID)
                || !query.inclusiveEnd && document.id.hasSameBytes(as: options.endID)
            if !isOut { rows.append(try row(document, snapshot)) }
        }
        guard isWindowed || isExclusive else { return rows }
        rows = query.filter.map { rows.filter($0) } ?? rows
        if let sort = query.sort { rows.sort(by: sort) }
        return Array(rows.dropFirst(query.skip).prefix(query.limit ?? .max))
    }

    private func id(_ key: JSONValue?) throws -> String? {
        guard let key else { return nil }
        guard let id = key.string else {
            throw DatabaseError(
                .invalidQuery,
                "A query of all documents has document IDs as keys, which are strings.")
        }
        return id
    }

    /// A bound of a range; with prefix matching, the upper one is behind all that begins with it.
    private func bound(_ key: JSONValue?, isHigh: Bool) throws -> String? {
        let id = try id(key)
        return isHigh && query.prefixMatchLevel > 0 ? id.map { $0 + "\u{10FFFF}" } : id
    }

    private func row(_ document: DocumentRow, _ snapshot: Snapshot) throws -> QueryRow {
        var value: JSONObject = ["rev": .string(document.revisionID)]
        if document.isDeleted { value["deleted"] = true }
        let showsConflicts =
            query.allDocumentsMode == .showConflicts || query.allDocumentsMode == .onlyConflicts
        var conflicts: [Document]?
        if showsConflicts, document.isConflicted {
            let id = DocumentID(unchecked: document.id)
            conflicts = try snapshot.record(id)?.tree.leaves
                .filter { !$0.isTombstone }.map { try snapshot.document(id, node: $0) }
        }
        return QueryRow(
            .made(
                .init(
                    key: .string(document.id), value: .object(value), documentID: document.id,
                    core: core)),
            including: document.document, conflicts: conflicts)
    }

    // MARK: - Single IDs

    /// Rows in the order of the IDs; one without a value for an ID that no document ever had.
    private func rows(_ snapshot: Snapshot, withIDs keys: [JSONValue]) throws -> [QueryRow] {
        var rows: [QueryRow] = []
        for key in keys {
            guard let text = try id(key) else { continue }
            let id = try DocumentID.parse(text)
            guard let head = try snapshot.head(id) else {
                rows.append(
                    QueryRow(
                        .made(.init(key: key, value: nil, documentID: nil, core: core))))
                continue
            }
            let found = DocumentRow(
                id: text, revision: head.winner.id, sequence: head.winner.sequence ?? 0,
                isDeleted: head.isDeleted, isConflicted: head.isConflicted,
                document: query.includeDocuments ? try snapshot.document(id) : nil)
            rows.append(try row(found, snapshot))
        }
        rows = query.filter.map { rows.filter($0) } ?? rows
        if let sort = query.sort { rows.sort(by: sort) }
        return Array(rows.dropFirst(query.skip).prefix(query.limit ?? .max))
    }
}
