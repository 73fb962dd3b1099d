// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanSQLite
internal import DivanStorage

/// The tables of a Couchbase Lite 1.x database, row by row.
///
///     docs        doc_id, docid, expiry_timestamp (since 1.2: seconds since 1970)
///     revs        sequence, doc_id, revid, parent (a sequence), current, deleted, json
///     localdocs   docid, revid ("3-local"), json
///     info        key, value: UUIDs, max_revs, checkpoint/ID
///     attachments sequence, filename, key, type, length, revpos, encoding   1.0; later in the json
///     replicators remote (a checkpoint's ID), last_sequence                 1.0; later in info
///
/// Rows that cannot be read are stepped over and reported; see `forEachRevision`.
struct CouchbaseLiteReader {
    /// The columns of `revs` without which nothing can be brought over.
    static let needed: NameSet = ["sequence", "doc_id", "revid", "parent", "deleted", "json"]

    /// A row of `revs`. Texts are nil where there are none, or none in UTF-8.
    struct Revision {
        var sequence: Int64
        var document: Int64
        var documentID: String?
        var revisionID: String?
        var parent: Int64?
        var isDeleted: Bool
        var isCurrent: Bool
        /// The body's JSON; nil when it is not here.
        var json: [UInt8]?
    }

    private let source: ForeignDatabase
    private let ancestors: ForeignStatement
    private let stubs: ForeignStatement?

    init(_ source: ForeignDatabase) throws(StorageError) {
        self.source = source
        ancestors = try source.statement("SELECT doc_id, revid, parent FROM revs WHERE sequence=?1")
        let columns = try source.columns(of: "attachments")
        guard columns.isSuperset(of: ["sequence", "filename", "key"]) else {
            stubs = nil
            return
        }
        let named = ["type", "length", "revpos", "encoding", "encoded_length"]
            .map { columns.contains($0) ? $0 : "NULL" }
        stubs = try source.statement(
            "SELECT filename, key, \(named.joined(separator: ", ")) FROM attachments"
                + " WHERE sequence=?1")
    }

    // MARK: - Revisions

    /// The highest sequence ever given out, also to revisions that are gone since.
    func lastSequence() throws(StorageError) -> Int64 {
        let highest = try number("SELECT max(sequence) FROM revs") ?? 0
        guard try !source.columns(of: "sqlite_sequence").isEmpty else { return highest }
        return max(
            highest, try number("SELECT seq FROM sqlite_sequence WHERE name='revs'") ?? 0)
    }

    /// How many revisions there are; nil when that cannot be found out.
    func revisionCount() -> Int? {
        // SQLite counts all rows at once by an instruction that no bound of work ends.
        ((try? number("SELECT count(revid) FROM revs")) ?? nil).map { Int(clamping: $0) }
    }

    private func number(_ sql: String) throws(StorageError) -> Int64? {
        let statement = try source.statement(sql)
        defer { statement.reset() }
        guard try statement.next(), !statement.isNull(at: 0) else { return nil }
        return statement.integer(at: 0)
    }

    /// Walks all revisions by ascending sequence.
    ///
    /// Where damage ends the walk it goes on behind it: at the next sequence that can be read, found
    /// by doubling steps and then by halving the last one.
    ///
    /// - Parameters:
    ///   - last: The highest sequence there may be.
    ///   - damaged: Gets the sequences that cannot be read.
    ///   - body: Gets each revision.
    /// - Throws: `StorageError` for what is no damage of a place, and what `body` throws.
    func forEachRevision(
        upTo last: Int64, damaged: (ClosedRange<Int64>) -> Void, _ body: (Revision) throws -> Void
    ) throws {
        let rows = try source.statement(
            """
            SELECT r.sequence, r.doc_id, d.docid, r.revid, r.parent, r.deleted, r.json, r.current
            FROM revs AS r LEFT JOIN docs AS d ON d.doc_id = r.doc_id
            WHERE r.sequence >= ?1 ORDER BY r.sequence
            """)
        var position = Int64.min
        var bad: Int64?
        defer { rows.reset() }
        while true {
            rows.reset()
            rows.bind(position, at: 1)
            do {
                while try rows.next() {
                    let revision = Self.revision(rows)
                    position = revision.sequence.addingSaturated(1)
                    try body(revision)
                }
                return
            } catch let error as StorageError where error.code == .corrupted {
                let start = max(position, 1)
                // The same place twice: nothing behind it can be read either.
                guard start <= last, bad != start else {
                    if start <= last { damaged(start...last) }
                    return
                }
                bad = start
                let next = firstReadable(after: start, upTo: last, rows)
                damaged(start...(next.map { $0 - 1 } ?? last))
                guard let next else { return }
                position = next
            }
        }
    }

    private static func revision(_ row: ForeignStatement) -> Revision {
        Revision(
            sequence: row.integer(at: 0), document: row.integer(at: 1), documentID: row.text(at: 2),
            revisionID: row.text(at: 3), parent: row.isNull(at: 4) ? nil : row.integer(at: 4),
            isDeleted: row.integer(at: 5) != 0, isCurrent: row.integer(at: 7) != 0,
            json: row.isNull(at: 6) ? nil : row.bytes(at: 6))
    }

    /// The first sequence behind a damaged one from which on a row can be read.
    private func firstReadable(after bad: Int64, upTo last: Int64, _ rows: ForeignStatement)
        -> Int64?
    {
        func isReadable(_ sequence: Int64) -> Bool {
            rows.reset()
            rows.bind(sequence, at: 1)
            return (try? rows.next()) != nil
        }
        var (low, step) = (bad, Int64(1))
        guard bad < last else { return nil }
        var high = bad + 1
        while high < last, !isReadable(high) {
            low = high
            step = step.multipliedSaturated(by: 2)
            high = min(low.addingSaturated(step), last)
        }
        guard isReadable(high) else { return nil }
        // Readable at `high`, not at `low`.
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if isReadable(middle) { high = middle } else { low = middle }
        }
        return high
    }

    /// The revision at a sequence: its document, its ID, its parent; nil when there is none.
    func ancestor(_ sequence: Int64) throws(StorageError) -> (
        document: Int64, revisionID: String?, parent: Int64?
    )? {
        defer { ancestors.reset() }
        ancestors.bind(sequence, at: 1)
        guard try ancestors.next() else { return nil }
        return (
            ancestors.integer(at: 0), ancestors.text(at: 1),
            ancestors.isNull(at: 2) ? nil : ancestors.integer(at: 2)
        )
    }

    /// The stubs of a revision that version 1.0 kept beside the body; nil when there are none.
    func attachmentStubs(_ sequence: Int64) throws(StorageError) -> JSONObject? {
        guard let stubs else { return nil }
        defer { stubs.reset() }
        stubs.bind(sequence, at: 1)
        var object: JSONObject = [:]
        while try stubs.next() {
            guard let name = stubs.text(at: 0), let key = AttachmentKey(stubs.bytes(at: 1).span)
            else { continue }
            var stub: JSONObject = ["stub": true, "digest": .string(key.digest)]
            if let type = stubs.text(at: 2) { stub["content_type"] = .string(type) }
            if !stubs.isNull(at: 3) { stub["length"] = .integer(stubs.integer(at: 3)) }
            if !stubs.isNull(at: 4) { stub["revpos"] = .integer(stubs.integer(at: 4)) }
            if stubs.integer(at: 5) == 1 {
                stub["encoding"] = .string(AttachmentEncoding.gzip)
                stub["encoded_length"] = .integer(stubs.integer(at: 6))
            }
            object[name] = .object(stub)
        }
        return object.isEmpty ? nil : object
    }

    // MARK: - The rest

    /// Walks the documents that expire, with the seconds since 1970 at which they do.
    func forEachExpiration(_ body: (_ id: String?, _ time: Int64) throws -> Void) throws {
        guard try source.columns(of: "docs").contains("expiry_timestamp") else { return }
        let rows = try source.statement(
            "SELECT docid, expiry_timestamp FROM docs WHERE expiry_timestamp IS NOT NULL")
        defer { rows.reset() }
        while try rows.next() { try body(rows.text(at: 0), rows.integer(at: 1)) }
    }

    /// Walks the local documents.
    func forEachLocal(
        _ body: (_ id: String?, _ revision: String?, _ json: [UInt8]) throws -> Void
    ) throws {
        guard try !source.columns(of: "localdocs").isEmpty else { return }
        let rows = try source.statement("SELECT docid, revid, json FROM localdocs")
        defer { rows.reset() }
        while try rows.next() { try body(rows.text(at: 0), rows.text(at: 1), rows.bytes(at: 2)) }
    }

    /// Walks the settings.
    func forEachSetting(_ body: (_ key: String, _ value: String) throws -> Void) throws {
        guard try !source.columns(of: "info").isEmpty else { return }
        let rows = try source.statement("SELECT key, value FROM info")
        defer { rows.reset() }
        while try rows.next() {
            if let key = rows.text(at: 0), let value = rows.text(at: 1) { try body(key, value) }
        }
    }

    /// Walks the checkpoints of version 1.0; later ones are settings.
    func forEachReplicator(_ body: (_ id: String, _ sequence: String) throws -> Void) throws {
        guard try source.columns(of: "replicators").isSuperset(of: ["remote", "last_sequence"])
        else { return }
        let rows = try source.statement("SELECT remote, last_sequence FROM replicators")
        defer { rows.reset() }
        while try rows.next() {
            if let id = rows.text(at: 0), let value = rows.text(at: 1) { try body(id, value) }
        }
    }
}
