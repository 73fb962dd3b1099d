// SPDX-License-Identifier: Apache-2.0

internal import DivanLogging
internal import DivanModel
internal import DivanStorage

/// What a compaction did.
public struct CompactionResult: Sendable {
    /// The bodies of old revisions that were deleted.
    public var bodiesDeleted: Int
    /// The files of attachments that were removed, since no stored revision refers to them.
    public var attachmentsRemoved: Int
    /// Whether unused attachments were left for the next compaction, since a backup was being made.
    public var attachmentsSkipped: Bool
    /// The bytes by which the files shrank.
    public var bytesFreed: Int
}

extension Database {
    /// Deletes the bodies of revisions that are no leaves, removes the attachments that no stored
    /// revision refers to, and gives the space back to the disk.
    ///
    /// Revision IDs stay in the history; bodies of leaves, conflicting ones included, stay whole. It
    /// works in batches of `Compaction.batchSize`, between which others read and write. Compacting
    /// happens only when this is called.
    ///
    /// - Parameter progress: Gets reports; throwing stops the work, and what was done by then is kept.
    /// - Returns: What was deleted and given back.
    /// - Throws: `DatabaseError` as `write(_:)`, and what `progress` throws.
    @discardableResult
    public func compact(progress: ProgressHandler? = nil) throws -> CompactionResult {
        try checkWritable()
        try checkNotInBatch()
        return try Compaction(core: core, progress: progress).run()
    }
}

/// One run of compaction.
///
/// Dead bodies are listed in `superseded`, so the work is in proportion to what there is to delete.
/// Then the oldest rows of `purges` go, but none that an index has yet to apply: its record is its mark.
/// A follower that keeps no record reads purges soon after; if it has been away so long that one it
/// needs is gone, `DatabaseState.forgottenPurge` says so, and it must look at everything anew.
///
/// Each batch is one transaction: rows of `revisions` go, the marks go, and the trees forget the
/// sequences, each document's once however many of its revisions the batch has.
struct Compaction {
    /// Enough to make a transaction worth its commit, few enough that other writers wait for
    /// hundredths of a second.
    static let batchSize = 2_000

    /// How many of the newest purges are kept: a follower must be further behind than this to miss one.
    static let keptPurges: UInt64 = 10_000

    let core: DatabaseCore
    let progress: ProgressHandler?

    func run() throws -> CompactionResult {
        let before = diskSize()
        let total = try core.read { Int(clamping: try $0.state().deadBodies) }
        var deleted = 0
        var position: Int64 = 0
        while true {
            try progress?(Progress(phase: "deleting old bodies", completed: deleted, total: total))
            let batch = try core.write { try deleteBatch($0, after: position) }
            deleted += batch.deleted
            guard let last = batch.last else { break }
            position = last
        }
        let swept = try AttachmentSweep(core: core, progress: progress).run()
        while try core.write({ try forgetPurges($0) }) {
            try progress?(Progress(phase: "forgetting old purges", completed: 0, total: nil))
        }
        try core.blaming(nil) {
            _ = try core.engine.compact { report in
                try progress?(
                    Progress(
                        phase: "shrinking the file", completed: report.completed,
                        total: report.total))
            }
        }
        let result = CompactionResult(
            bodiesDeleted: deleted, attachmentsRemoved: swept.files,
            attachmentsSkipped: swept.isSkipped, bytesFreed: max(0, before - diskSize()))
        Log.maintenance.info(
            "Compacted the database '\(core.name)': \(result.bodiesDeleted) bodies, "
                + "\(result.attachmentsRemoved) attachments and \(result.bytesFreed) bytes went.")
        return result
    }

    private func diskSize() -> Int { core.directory.map { Files.size(of: $0.path) } ?? 0 }

    private func deleteBatch(_ context: WriteContext, after position: Int64) throws
        -> (deleted: Int, last: Int64?)
    {
        let (writer, snapshot) = try context.transaction()
        let marks = try marks(after: position, snapshot)
        let dead = marks.dead
        var sequencesByDocument: [DocumentID: Set<SequenceNumber>] = [:]
        for sequence in dead {
            if let id = try documentID(of: sequence, snapshot) {
                sequencesByDocument[id, default: []].insert(sequence)
            }
            try context.removeRevision(sequence, writer, snapshot)
        }
        for (id, sequences) in sequencesByDocument {
            guard var record = try snapshot.record(id) else { continue }
            record.tree.forgetBodies(in: sequences)
            try context.rewrite(id, record)
        }
        return (dead.count, marks.last)
    }

    /// The next marks in order: the dead ones among them, and where they end.
    private func marks(after position: Int64, _ snapshot: Snapshot) throws
        -> (dead: [SequenceNumber], last: Int64?)
    {
        guard position < Int64.max else { return ([], nil) }
        let cursor = try snapshot.reader.cursor(in: core.stores.superseded)
        defer { cursor.close() }
        var dead: [SequenceNumber] = []
        var last: Int64?
        var found = try cursor.seek(toAtLeast: position + 1)
        var seen = 0
        while found, seen < Self.batchSize {
            seen += 1
            last = cursor.integerKey
            try cursor.withValue { value in
                if value.count > 0, value[0] == SupersededMark.dead.rawValue {
                    dead.append(SequenceNumber(cursor.integerKey))
                }
            }
            found = try cursor.next()
        }
        return (dead, last)
    }

    /// Removes a batch of old purges; false when there was nothing to remove.
    private func forgetPurges(_ context: WriteContext) throws -> Bool {
        let (writer, snapshot) = try context.transaction()
        let state = context.state
        guard state.lastPurge > Self.keptPurges else { return false }
        let marks = try snapshot.indexNames().map { try snapshot.indexRecord($0)?.lastPurge ?? 0 }
        let last = min(
            state.lastPurge - Self.keptPurges, state.forgottenPurge + UInt64(Self.batchSize),
            marks.min() ?? .max)
        guard last > state.forgottenPurge else { return false }
        for purge in (state.forgottenPurge + 1)...last {
            _ = try writer.remove(key: Int64(purge), in: snapshot.core.stores.purges)
        }
        context.state.forgottenPurge = last
        return true
    }

    private func documentID(of sequence: SequenceNumber, _ snapshot: Snapshot) throws -> DocumentID?
    {
        var id: DocumentID?
        _ = try snapshot.reader.withValue(forKey: Int64(sequence), in: core.stores.revisions) {
            row in
            id = try core.decoding(nil) { try RevisionRow(row).documentID }
        }
        return id
    }
}

extension WriteContext {
    /// Writes a document's record again after its tree forgot where bodies lie.
    func rewrite(_ id: DocumentID, _ record: DocumentRecord) throws {
        let (writer, snapshot) = try transaction()
        try withRow {
            record.encode(into: &$0)
        } lent: { row in
            try id.text.withSpan { key in
                try writer.set(row, forKey: key, in: snapshot.core.stores.documents)
            }
        }
    }
}
