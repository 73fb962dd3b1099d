// SPDX-License-Identifier: Apache-2.0

package import DivanIndex
internal import DivanJSON
internal import DivanModel
internal import DivanStorage

extension Snapshot {
    /// The record of an index; nil when it was never built.
    package func indexRecord(_ name: IndexName) throws -> IndexRecord? {
        var record: IndexRecord?
        let key = name.key
        try DatabaseCore.blaming(nil) {
            _ = try reader.withValue(forKey: key.span, in: core.stores.indexes) { row in
                record = try DatabaseCore.decoding(nil) { try IndexRecord(row) }
            }
        }
        return record
    }

    /// The record of an index; a record that is known already is not decoded again.
    package func indexRecord(_ name: IndexName, unless known: KnownIndexRecord?) throws
        -> KnownIndexRecord?
    {
        var found: KnownIndexRecord?
        let key = name.key
        try DatabaseCore.blaming(nil) {
            _ = try reader.withValue(forKey: key.span, in: core.stores.indexes) { row in
                found = try indexRecord(row, unless: known)
            }
        }
        return found
    }

    private func indexRecord(
        _ row: Span<UInt8>, unless known: KnownIndexRecord?
    ) throws -> KnownIndexRecord {
        if let known, compare(known.bytes.span, row) == 0 { return known }
        return KnownIndexRecord(
            bytes: [UInt8](copying: row),
            record: try DatabaseCore.decoding(nil) { try IndexRecord(row) })
    }

    /// The records of all indexes of a kind, in the order of their names, which one walk finds.
    ///
    /// - Parameters:
    ///   - kind: The kind.
    ///   - known: What is known of an index already, and is not decoded again.
    /// - Returns: The names and records.
    /// - Throws: `DatabaseError`.
    package func indexRecords(
        of kind: IndexName.Kind, unless known: (IndexName) -> KnownIndexRecord?
    ) throws -> [(name: IndexName, known: KnownIndexRecord)] {
        var records: [(name: IndexName, known: KnownIndexRecord)] = []
        try DatabaseCore.blaming(nil) {
            let cursor = try reader.cursor(in: core.stores.indexes)
            defer { cursor.close() }
            var found = try cursor.seek(toAtLeast: IndexName(kind, "").key.span)
            while found {
                var isOfKind = false
                try cursor.withRow { key, row in
                    guard let name = IndexName(key: key), name.kind == kind else { return }
                    isOfKind = true
                    records.append((name, try indexRecord(row, unless: known(name))))
                }
                found = try isOfKind && cursor.next()
            }
        }
        return records
    }

    /// Reads an index.
    package func reader(of record: IndexRecord) -> IndexReader {
        IndexReader(
            IndexStores(number: record.number, engine: core.engine), seed: record.seed, reader,
            hasPartials: record.hasPartials)
    }

    /// Reads a full-text index.
    package func textReader(of record: IndexRecord) throws -> TextIndexReader {
        try TextIndexReader(TextIndexStores(number: record.number, engine: core.engine), reader)
    }

    /// The names of all indexes that were built, in order.
    package func indexNames() throws -> [IndexName] {
        var names: [IndexName] = []
        try DatabaseCore.blaming(nil) {
            let cursor = try reader.cursor(in: core.stores.indexes)
            defer { cursor.close() }
            var found = try cursor.seekToFirst()
            while found {
                try cursor.withKey { if let name = IndexName(key: $0) { names.append(name) } }
                found = try cursor.next()
            }
        }
        return names
    }
}

extension WriteContext {
    /// Writes the record of an index.
    package func setIndexRecord(_ record: IndexRecord, of name: IndexName) throws {
        let (writer, snapshot) = try transaction()
        try writer.set(
            record.bytes.span, forKey: name.key.span, in: snapshot.core.stores.indexes)
    }

    /// Removes an index with all its rows; false when there is none.
    package func dropIndex(_ name: IndexName) throws -> Bool {
        let (writer, snapshot) = try transaction()
        let core = snapshot.core
        listedIndexes = nil
        var number: UInt64?
        let found = try writer.withValue(forKey: name.key.span, in: core.stores.indexes) {
            number = try? IndexRecord($0).number
        }
        guard found else { return false }
        if let number {
            try IndexStores(number: number, engine: core.engine).drop(writer)
            try TextIndexStores(number: number, engine: core.engine).drop(writer)
        }
        return try writer.remove(key: name.key.span, in: core.stores.indexes)
    }

    /// Makes an empty index in place of any former one.
    package func makeIndex(_ name: IndexName, signature: String, version: String) throws
        -> IndexRecord
    {
        let (_, snapshot) = try transaction()
        _ = try dropIndex(name)
        let number = try snapshot.setting(.lastIndex) ?? 0
        try set(.lastIndex, number + 1)
        var system = SystemRandomNumberGenerator()
        let record = IndexRecord(
            number: number + 1, signature: signature, version: version, seed: system.next())
        try setIndexRecord(record, of: name)
        listedIndexes = nil
        return record
    }
}
