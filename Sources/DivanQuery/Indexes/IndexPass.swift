// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
public import DivanJSON
internal import DivanModel
internal import DivanStorage

/// Brings indexes up to date: all that are behind, in one pass over what changed, or in several where
/// their rows would not fit into memory together (``IndexGroups``).
///
///     read          a part of the feed, in a snapshot that is given up at once
///     map           its documents, for every index that has not seen them
///     …both by all cores (IndexPiece), a piece at a time, as long as the rows fit into memory
///     and the first snapshot had more
///     write         the rows, in order, in one transaction with the records of the indexes
///     …again, until every index has reached where the database stood at the beginning
///
/// Many rows are written at once because the order of the rows has nothing to do with the order of the
/// documents: each write goes through the whole index from left to right, whatever it brings.
///
/// ## Invariants
///
/// `IndexBatch.checkInvariants()` tests what a batch shows of 3. The others speak of transactions: `IndexRobustnessTests`
/// show 1 and 2, `IndexingBesideWritersTests` show 4 and 5.
///
/// 1. The record of an index says what its rows contain, and both change in one transaction. So a
///    crash, a cancellation or an error loses the last piece at most, and the next pass goes on there.
/// 2. A piece is written only where the record still is what it was when the piece was read. If
///    another thread or process was faster, the piece is dropped and the next one read.
/// 3. A part says of each document how it stood in its snapshot. A later change or purge gives the
///    document a higher sequence or purge, which a later part brings. So the parts of one write end
///    where the first one's snapshot ended, and its purges are those that count.
/// 4. A part that was read later lacks documents that have changed since the first one and stand behind
///    its end. So a pass goes on to where the last part stood, until one snapshot has all that was left:
///    its index then has each document that the database had at that moment.
/// 5. Other threads read between pieces, and write between writes.
///
/// Inside a batch the same steps run in the batch's own transaction: its writes are seen, and undone
/// with it.
struct IndexPass {
    let core: DatabaseCore
    let definitions: [IndexDefinition]
    var progress: ProgressHandler?

    /// How often a pass goes on because other threads write meanwhile: each time it has less to do.
    private static let mostExtensions = 16

    /// What a pass did.
    struct Report: Sendable {
        /// How many documents were read, once for each group of indexes that they were read for.
        var documents = 0
        /// The most bytes of rows that waited at once.
        var mostPending = 0
        /// The documents that a map function failed for, the first hundred of them.
        var failures: [IndexName: [IndexingFailure]] = [:]
        var statistics: [IndexName: IndexingStatistics] = [:]

        static let mostFailures = 100

        fileprivate mutating func note(
            _ mapped: MappedFeed.Outcome, _ written: Written?, of name: IndexName
        ) {
            var statistics = statistics[name] ?? IndexingStatistics()
            statistics.documents += mapped.count
            statistics.rows += written?.changes.count ?? 0
            statistics.mapping += mapped.mapping
            statistics.encoding += mapped.encoding
            if let written {
                statistics.inserting += written.duration - written.changes.reducing
                statistics.reducing += written.changes.reducing
            }
            self.statistics[name] = statistics
        }
    }

    func run() throws -> Report {
        guard !core.isInRead else { throw DatabaseError.writeInsideRead(core.name) }
        var report = Report()
        var target = try core.read { try $0.state() }
        var extensions = 0
        var builds: [IndexName: Build] = [:]
        var groups = IndexGroups(definitions)
        let memory = core.options.indexingMemory
        while let current = groups.current {
            guard let first = try nextPiece(of: current, builds, until: target) else {
                groups.next()
                continue
            }
            var batch = IndexBatch(first.indexes, first.content.first.feed, after: first.start)
            try map(first, into: &batch, groups, &report)
            groups.divide(by: batch, through: target.lastSequence, memory: memory)
            if let fed = groups.current { batch.narrow(to: fed) }
            batch.makeRoom(memory: memory)
            while batch.size < memory, let more = try nextPiece(of: batch) {
                try map(more, into: &batch, groups, &report)
            }
            report.mostPending = max(report.mostPending, batch.size)
            try write(&batch, &builds, &report)
            if batch.mapped.seen > max(target.lastSequence, batch.bound),
                extensions < Self.mostExtensions
            {
                (target.lastSequence, extensions) = (batch.mapped.seen, extensions + 1)
            }
        }
        for definition in definitions {
            let began = ContinuousClock.now
            guard try reducePending(definition, target) else { continue }
            report.statistics[definition.name]?.reducing += ContinuousClock.now - began
        }
        return report
    }

    // MARK: - Reading

    /// A build that this pass does alone, which saves looking for former rows: each document up to
    /// where the database stood at the first write comes once. Where another process has written in
    /// between, it is unknown which documents have rows.
    private struct Build {
        var through: SequenceNumber
        /// The record as this pass left it.
        var record: IndexRecord

        /// Up to which sequence a document cannot have rows in an index with a record: all documents at
        /// the first write, and then those up to where the database stood at it.
        static func newThrough(_ build: Build?, _ record: IndexRecord) -> SequenceNumber {
            if record.lastSequence == 0 { return .max }
            return build?.record == record ? build?.through ?? 0 : 0
        }

        /// The build after a write.
        static func following(
            _ index: IndexBatch.Behind, _ batch: IndexBatch, _ record: IndexRecord
        ) -> Build? {
            let through = min(index.newThrough, batch.bound)
            return through > 0 ? Build(through: through, record: record) : nil
        }
    }

    private struct Piece {
        var indexes: [IndexBatch.Behind]
        var start: SequenceNumber
        var content: IndexPiece
        var remaining: UInt64
    }

    /// The next piece for the indexes that are furthest behind, and for all others that need it.
    private func nextPiece(
        of definitions: [IndexDefinition], _ builds: [IndexName: Build],
        until target: DatabaseState
    ) throws -> Piece? {
        var behind: [IndexBatch.Behind] = []
        for definition in definitions {
            let record = try current(definition)
            guard
                record.lastSequence < target.lastSequence || record.lastPurge < target.lastPurge
            else { continue }
            behind.append(
                IndexBatch.Behind(
                    definition: definition, record: record,
                    newThrough: Build.newThrough(builds[definition.name], record)))
        }
        guard let start = behind.map(\.record.lastSequence).min(),
            let purge = behind.map(\.record.lastPurge).min()
        else { return nil }
        let count = IndexBatch.firstCount(behind.count, memory: core.options.indexingMemory)
        let piece = try IndexPiece(
            core, for: behind.map(\.mapping), after: start, purge: purge, count: count)
        let remaining = target.lastSequence - min(target.lastSequence, start)
        return Piece(indexes: behind, start: start, content: piece, remaining: remaining)
    }

    /// The next piece of what the first piece's snapshot had; nil when that was all.
    private func nextPiece(of batch: IndexBatch) throws -> Piece? {
        let start = batch.mapped.lastSequence
        guard start < batch.bound else { return nil }
        let piece = try IndexPiece(
            core, for: batch.indexes.map(\.mapping), after: start, purge: nil,
            through: batch.bound, count: batch.nextCount(memory: core.options.indexingMemory))
        return Piece(
            indexes: batch.indexes, start: start, content: piece, remaining: batch.bound - start)
    }

    /// The record of an index, made anew when it was built in another way.
    private func current(_ definition: IndexDefinition) throws -> IndexRecord {
        let (name, signature) = (definition.name, definition.signature)
        if let record = try core.read({ try $0.indexRecord(name) }),
            record.signature.hasSameBytes(as: signature)
        {
            return record
        }
        return try core.write { context in
            let (_, snapshot) = try context.transaction()
            if let record = try snapshot.indexRecord(name),
                record.signature.hasSameBytes(as: signature)
            {
                return record
            }
            return try context.makeIndex(name, signature: signature, version: definition.version)
        }
    }

    // MARK: - Indexing

    private func map(
        _ piece: Piece, into batch: inout IndexBatch, _ groups: IndexGroups,
        _ report: inout Report
    ) throws {
        let remaining = Int(clamping: piece.remaining + groups.remainingOfOthers)
        try progress.report(
            WorkProgress(
                phase: "indexing", completed: report.documents,
                total: report.documents + remaining))
        let known = batch.mapped.items.count
        try batch.add(piece.content)
        report.documents += batch.mapped.items.count - known
    }

    private func write(
        _ batch: inout IndexBatch, _ builds: inout [IndexName: Build], _ report: inout Report
    ) throws {
        // A map function that was broken off has not failed.
        try CancellationFlag.check()
        var failures: [[IndexingFailure]] = []
        var written: [Written?] = []
        // What is written in a batch is not committed yet, and may never be.
        let isOwnTransaction = !core.isInTransaction
        try core.write { context in
            failures = []
            written = []
            for position in batch.indexes.indices {
                var failed: [IndexingFailure] = []
                written.append(try write(&batch, position, context, &failed))
                failures.append(failed)
            }
        }
        for (position, part) in written.enumerated() {
            let index = batch.indexes[position]
            report.note(batch.mapped.outcomes[position], part, of: index.definition.name)
            builds[index.definition.name] = part.flatMap {
                Build.following(index, batch, $0.record)
            }
            guard let part, isOwnTransaction else { continue }
            core.indexTouches.note(
                index.definition.name, from: index.record.place, to: part.record.place,
                keys: part.keys)
        }
        for (index, failed) in zip(batch.indexes, failures) where !failed.isEmpty {
            let known = report.failures[index.definition.name] ?? []
            report.failures[index.definition.name] =
                known + failed.prefix(max(0, Report.mostFailures - known.count))
        }
    }

    /// What was written of one index.
    fileprivate struct Written {
        /// Its record as it is now.
        var record: IndexRecord
        /// The rows that changed.
        var changes: IndexWriter.Changes
        /// Their keys; nil when no live query asks for them.
        var keys: [[UInt8]]?
        var duration: Duration
    }

    /// Writes one index's part; nil when another writer has changed the index since.
    private func write(
        _ batch: inout IndexBatch, _ position: Int, _ context: WriteContext,
        _ failures: inout [IndexingFailure]
    ) throws -> Written? {
        let (index, feed) = (batch.indexes[position], batch.feed)
        let began = ContinuousClock.now
        let (writer, snapshot) = try context.transaction()
        let name = index.definition.name
        guard var record = try snapshot.indexRecord(name), record == index.record else {
            return nil
        }
        let isBuild = record.lastSequence == 0
        // The first write makes the partial reductions at once if it is the last one too, unless a reduce
        // function of the app's would hold up other writers. Else they are made anew at the end.
        if isBuild {
            let reducer = index.definition.reducer
            record.hasPartials =
                batch.mapped.lastSequence >= feed.state.lastSequence
                && (reducer == nil || reducer is any AddingReducer)
        }
        var target = IndexWriter(
            IndexStores(number: record.number, engine: core.engine), seed: record.seed,
            reducer: index.definition.reducer, writer)
        target.keepsPartials = record.hasPartials
        target.tellsRows = core.indexTouches.isFollowed(name)
        batch.addPurged(after: record.lastPurge, to: position)
        let places = batch.places(position)
        let failed = try batch.failures(position, places)
        record.failures += UInt64(failed.count)
        failures += failed
        let changes: IndexWriter.Changes
        do {
            let items = batch.mapped.items
            let positions = batch.mapped.outcomes[position].positions
            let mapping = index.mapping
            changes =
                isBuild
                ? try target.build(
                    from: batch.mapped.outcomes[position].emissions, at: places,
                    reducing: record.hasPartials)
                : try target.replace(
                    with: &batch.mapped.outcomes[position].emissions, at: places
                ) {
                    $0 < positions.count && mapping.isNew(items[positions[$0]])
                }
        } catch let error as IndexCorruption {
            throw DatabaseError.damagedIndex(name.name, error)
        }
        record.lastSequence = max(record.lastSequence, batch.mapped.lastSequence)
        record.lastPurge = feed.lastPurge
        try context.setIndexRecord(record, of: name)
        return Written(
            record: record, changes: changes,
            keys: target.tellsRows ? changes.rows.map(\.key) : nil,
            duration: ContinuousClock.now - began)
    }

    // MARK: - Reducing

    /// Writes the partial reductions of a new index, computed without holding up writers; false when
    /// there was no need.
    private func reducePending(_ definition: IndexDefinition, _ target: DatabaseState) throws
        -> Bool
    {
        let name = definition.name
        while true {
            var record: IndexRecord?
            let computed: ComputedPartials? = try core.read { snapshot in
                record = try snapshot.indexRecord(name)
                guard let record, !record.hasPartials,
                    record.signature.hasSameBytes(as: definition.signature)
                else { return nil }
                return try reader(record, snapshot).computePartials(reducer: definition.reducer) {
                    try progress.report(WorkProgress(phase: "reducing", completed: $0, total: nil))
                }
            }
            guard let computed, var record else { return false }
            let isDone = try core.write { context in
                let (writer, snapshot) = try context.transaction()
                guard try snapshot.indexRecord(name) == record else { return false }
                try computed.write(
                    to: IndexStores(number: record.number, engine: core.engine), writer)
                record.hasPartials = true
                try context.setIndexRecord(record, of: name)
                return true
            }
            if isDone { return true }
        }
    }

    private func reader(_ record: IndexRecord, _ snapshot: Snapshot) -> IndexReader {
        IndexReader(
            IndexStores(number: record.number, engine: core.engine), seed: record.seed,
            snapshot.reader, hasPartials: record.hasPartials)
    }
}

/// A document that a map function failed for; it has no rows in that index.
public struct IndexingFailure: Sendable, Equatable {
    /// The document.
    @ByBytes public var documentID: String
    /// What the map function threw, or what is wrong with what it emitted.
    public var reason: String

    /// Makes a report.
    public init(documentID: String, reason: String) {
        self.documentID = documentID
        self.reason = reason
    }
}
