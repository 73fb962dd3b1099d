// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
internal import DivanLogging
internal import DivanModel
internal import DivanStorage
internal import DivanSystem

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
    /// works in batches of `Compaction.batchSize`, between which other threads read and write. Only
    /// this call compacts; nothing does so by itself.
    ///
    /// - Parameter progress: Gets reports; throwing stops the work, and what was done by then is kept.
    /// - Returns: What was deleted and given back.
    /// - Throws: `DatabaseError` as `write(_:)`, and what `progress` throws.
    @discardableResult
    public func compact(progress: ProgressHandler? = nil) throws -> CompactionResult {
        try checkWritable()
        try checkAvailable()
        return try core.runningCompactions.counting {
            try Compaction(core: core, progress: progress).run()
        }
    }

    /// Whether this process compacts the database now.
    package var isCompacting: Bool { core.runningCompactions.isAny }
}

/// One run of compaction.
///
/// Dead bodies are listed in `superseded`, so the work is in proportion to what there is to delete. Then
/// it removes the oldest rows of `purges`, but none that an index has yet to apply: the index's record
/// is its mark. A follower that keeps no record reads purges soon after; if it has been away so long
/// that one it needs is gone, `DatabaseState.forgottenPurge` says so, and it must read all documents again.
///
/// Each batch is one transaction. It removes rows of `revisions` and their marks, and makes the
/// trees forget the sequences, once for each document: where one body of a document is dead, it
/// removes all its dead ones.
struct Compaction {
    /// Enough to make a transaction worth its commit, few enough that other writers wait for
    /// hundredths of a second.
    static let batchSize = 2_000

    let core: DatabaseCore
    let progress: ProgressHandler?

    func run() throws -> CompactionResult {
        let before = diskSize()
        let total = try core.read { Int(clamping: try $0.state().deadBodies) }
        var deleted = 0
        var position: Int64 = 0
        while true {
            try progress.report(
                WorkProgress(phase: "deleting old bodies", completed: deleted, total: total))
            let batch = try core.write { try deleteBatch($0, after: position) }
            deleted += batch.deleted
            guard let last = batch.last else { break }
            position = last
        }
        let swept = try AttachmentSweep(core: core, progress: progress).run()
        while try core.write({ try forgetPurges($0) }) {
            try progress.report(
                WorkProgress(phase: "forgetting old purges", completed: 0, total: nil))
        }
        try DatabaseCore.blaming(nil) {
            _ = try core.engine.compact { report in
                try progress.report(
                    WorkProgress(
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
        let (_, snapshot) = try context.transaction()
        let marks = try marks(after: position, snapshot)
        var deleted: Set<SequenceNumber> = []
        for sequence in marks.dead where !deleted.contains(sequence) {
            guard deleted.count < Self.batchSize else {
                return (deleted.count, Int64(sequence) - 1)
            }
            try deleteBodies(besides: sequence, context, &deleted)
        }
        return (deleted.count, marks.last)
    }

    /// Deletes a dead body and all others of its document.
    ///
    /// Revisions of one document lie far apart. So in the order of the marks its record would be
    /// written again for each of them.
    private func deleteBodies(
        besides sequence: SequenceNumber, _ context: WriteContext,
        _ deleted: inout Set<SequenceNumber>
    ) throws {
        let (writer, snapshot) = try context.transaction()
        var sequences: Set = [sequence]
        let id = try documentID(of: sequence, snapshot)
        let record = try id.flatMap { try snapshot.record($0) }
        for node in record?.tree.nodes ?? [] {
            guard let other = node.sequence, other != sequence else { continue }
            if try isDead(other, snapshot) { sequences.insert(other) }
        }
        deleted.formUnion(sequences)
        guard let id, var record else {
            return try context.removeRevision(sequence, writer, snapshot)
        }
        record.tree.forgetBodies(in: sequences)
        try context.removeRevisions(sequences, of: id, leaving: record.tree)
        try context.rewrite(id, record)
    }

    private func isDead(_ sequence: SequenceNumber, _ snapshot: Snapshot) throws -> Bool {
        var isDead = false
        _ = try snapshot.reader.withValue(forKey: Int64(sequence), in: core.stores.superseded) {
            isDead = $0.count > 0 && $0[0] == SupersededMark.dead.rawValue
        }
        return isDead
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
        let kept = try snapshot.setting(.keptPurges) ?? PurgeRecord.keptUnlessSet
        guard state.lastPurge > kept else { return false }
        // An index without rows reads everything when it is built.
        let marks = try snapshot.indexNames().compactMap { try snapshot.indexRecord($0) }
            .filter { $0.lastSequence > 0 }.map(\.lastPurge)
        let last = min(
            state.lastPurge - kept, state.forgottenPurge + UInt64(Self.batchSize),
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
            id = try DatabaseCore.decoding(nil) { try RevisionRow(row).documentID }
        }
        return id
    }
}
