// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON
public import DivanModel
internal import DivanStorage

/// Brings indexes up to date: all that are outdated, in one pass over what changed, or in several where
/// their rows would not fit into memory together (``PassGroups``).
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
/// `IndexPart.checkInvariants()` tests what a part shows of 3, and `checkInvariants(from:)` what a pass leaves of 4. The
/// others speak of transactions: `IndexRobustnessTests` show 1 and 2, `IndexingBesideWritersTests` show 4 and 5.
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
        /// What it is known by among the passes that run.
        fileprivate var number: Int?

        static let mostFailures = 100

        /// Notes what became of one index's rows in a write.
        mutating func note(_ rows: IndexPart.Rows, _ written: Written?, of name: IndexName) {
            var statistics = statistics[name] ?? IndexingStatistics()
            statistics.documents += rows.count
            statistics.mapping += rows.mapping
            statistics.encoding += rows.encoding
            if let written {
                statistics.rows += written.changes.count
                statistics.inserting += written.duration - written.changes.reducing
                statistics.reducing += written.changes.reducing
                let known = failures[name] ?? []
                let more = written.failures.prefix(max(0, Self.mostFailures - known.count))
                if !written.failures.isEmpty { failures[name] = known + more }
            }
            self.statistics[name] = statistics
        }
    }

    /// Brings the indexes to where the database stands now.
    ///
    /// - Returns: What was done.
    func run() throws -> Report {
        do { return try work() } catch let error as InterruptedReduction {
            throw error.cause
        } catch let error as DamagedIndex {
            throw error.report
        }
    }

    /// Does the same, and drops an index of a view that is found damaged, once: the pass then makes it anew, as an index
    /// holds nothing that the documents do not. The others, which are sound, stay.
    ///
    /// - Returns: What was done since the last drop.
    func runMending() throws -> Report {
        var dropped: Set<IndexName> = []
        while true {
            do { return try work() } catch let error as InterruptedReduction {
                throw error.cause
            } catch let error as DamagedIndex {
                guard dropped.insert(error.name).inserted else { throw error.report }
                _ = try core.write { try $0.dropIndex(error.name) }
            }
        }
    }

    private func work() throws -> Report {
        guard !core.isInRead else { throw DatabaseError.writeInsideRead(core.name) }
        var report = Report()
        var target = try core.read { try $0.state() }
        var extensions = 0
        // The builds that this pass does alone, as it left them.
        var builds: [IndexName: OutdatedIndex] = [:]
        var groups = PassGroups(definitions)
        let memory = core.options.memoryForIndexing
        // Known to others once there is something to do.
        var running: Int?
        defer { if let running { core.runningPasses.end(running) } }
        while let current = groups.current {
            guard let piece = try firstPiece(of: outdated(current, builds, until: target)) else {
                groups.next()
                continue
            }
            if running == nil {
                let all = try outdated(definitions, builds, until: target)
                running = core.runningPasses.begin(all.map(\.definition.name.declaredName))
            }
            report.number = running
            var part = piece.first.emptied
            try map(piece, through: target.lastSequence, into: &part, groups, &report)
            groups.divide(by: part, through: target.lastSequence, memory: memory)
            if let fed = groups.current { part.narrow(to: fed) }
            part.makeRoom(memory: memory)
            while part.size < memory, let next = try nextPiece(after: part) {
                try map(next, through: part.bound, into: &part, groups, &report)
            }
            report.mostPending = max(report.mostPending, part.size)
            try write(&part, &builds, &report)
            for definition in definitions { definition.text?.removeTerms(memory: memory) }
            if part.seen > max(target.lastSequence, part.bound), extensions < Self.mostExtensions {
                (target.lastSequence, extensions) = (part.seen, extensions + 1)
            }
        }
        for definition in definitions {
            let began = ContinuousClock.now
            guard try reducePending(definition) else { continue }
            report.statistics[definition.name]?.reducing += ContinuousClock.now - began
        }
        return report
    }

    // MARK: - Reading and mapping

    /// Which indexes are outdated.
    ///
    /// A build that this pass does alone saves looking for former rows: each document up to where the
    /// database stood at the first write comes once. Where another process has written in between, it is
    /// unknown which documents have rows.
    private func outdated(
        _ definitions: [IndexDefinition], _ builds: [IndexName: OutdatedIndex],
        until target: DatabaseState
    ) throws -> [OutdatedIndex] {
        try definitions.compactMap { definition in
            guard let record = try record(of: definition), record.isOutdated(in: target) else {
                return nil
            }
            var index = OutdatedIndex(definition: definition, record: record)
            if record.lastSequence == 0 {
                index.newThrough = .max
            } else if let known = builds[definition.name], known.record == record {
                index.newThrough = known.newThrough
            }
            return index
        }
    }

    /// The record of an index, made anew when it was built in another way; nil when it was deleted meanwhile.
    private func record(of definition: IndexDefinition) throws -> IndexRecord? {
        let name = definition.name
        if let record = try core.read({ try $0.indexRecord(name) }), record.isMade(by: definition) {
            return record
        }
        return try core.write { context in
            let (_, snapshot) = try context.transaction()
            if let record = try snapshot.indexRecord(name), record.isMade(by: definition) {
                return record
            }
            guard try definition.isDeclared?(snapshot) ?? true else { return nil }
            return try context.makeIndex(
                name, signature: definition.signature, version: definition.version)
        }
    }

    /// The first piece for the indexes that lack most, and for all others that need it; nil for none.
    private func firstPiece(of indexes: [OutdatedIndex]) throws -> IndexPiece? {
        guard let start = indexes.map(\.record.lastSequence).min(),
            let purge = indexes.map(\.record.lastPurge).min()
        else { return nil }
        let count = IndexPart.firstCount(indexes.count, memory: core.options.memoryForIndexing)
        return try IndexPiece(core, for: indexes, after: start, purge: purge, count: count)
    }

    /// The next piece of what the first part's snapshot had; nil when that was all.
    private func nextPiece(after part: IndexPart) throws -> IndexPiece? {
        guard part.lastSequence < part.bound else { return nil }
        return try IndexPiece(
            core, for: part.indexes, after: part.lastSequence, purge: nil, through: part.bound,
            count: part.nextCount(memory: core.options.memoryForIndexing))
    }

    private func map(
        _ piece: IndexPiece, through last: SequenceNumber, into part: inout IndexPart,
        _ groups: PassGroups, _ report: inout Report
    ) throws {
        let remaining = last - min(last, part.lastSequence) + groups.remainingOfOthers
        let total = report.documents.addingSaturated(Int(clamping: remaining))
        if let number = report.number {
            core.runningPasses.note(number, completed: report.documents, total: total)
        }
        try progress.report(
            WorkProgress(phase: "indexing", completed: report.documents, total: total))
        let known = part.items.count
        try piece.map(adding: &part)
        report.documents += part.items.count - known
    }

    // MARK: - Reducing

    /// Writes the partial reductions of a new index, computed without holding up writers; false when
    /// there was no need.
    private func reducePending(_ definition: IndexDefinition) throws -> Bool {
        let name = definition.name
        while true {
            var record: IndexRecord?
            let computed: ComputedPartials? = try core.read { snapshot in
                record = try snapshot.indexRecord(name)
                guard let record, !record.hasPartials, record.isMade(by: definition)
                else { return nil }
                return try snapshot.reader(of: record).computePartials(
                    reducer: definition.reducer
                ) {
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

    /// Stops the program where a pass that is over has left less than invariant 4 promises; for tests.
    ///
    /// - Parameter state: The database before the pass.
    /// - Throws: `DatabaseError` if a record cannot be read.
    func checkInvariants(from state: DatabaseState) throws {
        for definition in definitions {
            let record = try core.read { try $0.indexRecord(definition.name) }
            precondition(record?.isMade(by: definition) ?? false, "invariant 4")
            precondition(
                record.map { $0.hasPartials && !$0.isOutdated(in: state) } ?? false, "invariant 4")
        }
    }
}

/// A pass found an index damaged.
struct DamagedIndex: Error {
    var name: IndexName
    var cause: IndexCorruption

    /// What an app is told.
    var report: DatabaseError { .damagedIndex(name.declaredName, cause) }
}

/// A document that a map function failed for; it has no rows in that index.
public struct IndexingFailure: Sendable, Equatable {
    /// The document.
    public var documentID: DocumentID
    /// What the map function threw, or what is wrong with what it emitted.
    public var reason: String

    /// Makes a report.
    public init(documentID: DocumentID, reason: String) {
        self.documentID = documentID
        self.reason = reason
    }
}
