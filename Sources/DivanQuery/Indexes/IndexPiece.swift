// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import DivanDatabase
internal import DivanModel
internal import FoundationEssentials
internal import Synchronization

/// A piece of the feed, which all cores read and map at once.
///
/// Each core claims a stretch of sequences, reads a part of it, maps that, and goes on with the next part:
///
///     sequences   │ first part │ stretch 1      │ stretch 2      │ stretch 3   …
///     one core      map          read map read map …              read map …
///     another                                     read map read map …
///
/// A part is so small that its documents are still in the processor's caches when they are mapped. It is added to the parts
/// before it as soon as all of these are there, by the core that made the last one. So few parts wait, and the memory that one
/// took serves the next.
///
/// ## Invariants
///
/// `checkInvariants()` tests what the numbers show of 2; `IndexPieceTests` show the whole of it, 3 and 4. The first
/// is the order of two calls.
///
/// 1. A part is read in a snapshot of its own, which is given up before a map function runs.
///    ``IndexPass``, invariant 3, says how the parts fit together.
/// 2. Stretches follow each other without a gap, and a stretch has no more documents than sequences: so the
///    stretches that were claimed have no more than the piece may.
/// 3. Where bodies are large, a stretch may have to end early: then the piece ends there, and what was read
///    behind it is dropped.
/// 4. Inside a batch only the thread that runs it sees what it wrote, so that thread does all the work. So
///    does the thread inside a read, which has a reader already: if it waited for other threads, those
///    could wait for it.
final class IndexPiece: Sendable {
    /// Enough for a write to be worth it, few enough for progress to be seen.
    static let largestCount = 5_000
    static let largestBytes = 16 << 20
    /// The most that a part has, except for one large document.
    private static let partCount = 256
    private static let partBytes = 1 << 20
    /// Asking for it takes as long as reading a few documents.
    private static let cores = ProcessInfo.processInfo.activeProcessorCount

    /// The first part: with the purges, and where the database stood.
    let first: IndexPart
    private let core: DatabaseCore
    private let indexes: [OutdatedIndex]
    private let bound: SequenceNumber
    private let rest: Mutex<Rest>

    /// A stretch of sequences, as far as it has not been read: behind `after`.
    struct Stretch {
        fileprivate(set) var after: SequenceNumber
        fileprivate let through: SequenceNumber
        fileprivate let length: Int
        fileprivate var found = 0
    }

    private struct Rest {
        /// Where the next stretch begins.
        var start: SequenceNumber
        /// How many documents, and how many bytes of them, are left of the piece.
        var count: Int
        var bytes: Int
        /// The length of the next stretch. It grows where sequences are sparse.
        var length = 2 * IndexPiece.partCount
    }

    /// What the threads have made.
    struct Work {
        /// The parts that follow each other, as one.
        var whole: IndexPart
        /// Those that lack some before them, by the sequence that they follow.
        private var waiting: [SequenceNumber: IndexPart] = [:]
        fileprivate var failure: (any Error)?

        init(whole: consuming IndexPart) { self.whole = whole }

        /// Adds a part, and those that waited for it.
        mutating func add(_ part: IndexPart) {
            guard part.start == whole.lastSequence else {
                waiting[part.start] = part
                return
            }
            whole.append(part)
            while let next = waiting.removeValue(forKey: whole.lastSequence) { whole.append(next) }
        }
    }

    /// Reads the first part.
    ///
    /// - Parameters:
    ///   - core: The database.
    ///   - indexes: The indexes that its documents are mapped for.
    ///   - sequence: The changes after it.
    ///   - purge: The purges after it; nil for none.
    ///   - bound: The last change; where the database stands, unless given.
    ///   - count: How many documents at most.
    /// - Throws: `DatabaseError`.
    init(
        _ core: DatabaseCore, for indexes: [OutdatedIndex], after sequence: SequenceNumber,
        purge: UInt64?, through bound: SequenceNumber? = nil, count: Int = largestCount
    ) throws {
        self.core = core
        self.indexes = indexes
        let bytes = min(Self.largestBytes, core.options.memoryForIndexing)
        first = try IndexPart(
            core, for: indexes, after: sequence, purge: purge, through: bound,
            count: min(count, Self.partCount), bytes: min(bytes, Self.partBytes))
        self.bound = bound ?? first.bound
        rest = Mutex(
            Rest(
                start: first.lastSequence, count: count - first.items.count,
                bytes: bytes - first.bytes))
    }

    // MARK: - Mapping

    /// Its documents, mapped.
    func mapped() throws -> IndexPart {
        var part = first.emptied
        try map(adding: &part)
        return part
    }

    /// Maps its documents, on all cores, and adds them to those before. Where the piece ends early, the parts behind its end
    /// wait in vain.
    ///
    /// - Parameter whole: Those before; without documents when this throws.
    /// - Throws: `DatabaseError`, what a ``GroupMapper`` throws, and `CancellationError`.
    func map(adding whole: inout IndexPart) throws {
        // The threads that help carry no flag: theirs is that of the thread that they help.
        let flag = CancellationFlag.current
        // Nothing else may refer to the arrays of the whole, or adding a part would copy them.
        var taken = whole.emptied
        swap(&taken, &whole)
        let work = Mutex(Work(whole: consume taken))
        let threads = mostThreads
        if threads == 1 {
            map(true, work, unless: flag)
        } else {
            DispatchQueue.concurrentPerform(iterations: threads) {
                map($0 == 0, work, unless: flag)
            }
        }
        try work.withLock { work in
            if let failure = work.failure { throw failure }
            swap(&work.whole, &whole)
        }
    }

    /// What one thread does; one of them begins with the part that has been read.
    private func map(
        _ isFirst: Bool, _ work: borrowing Mutex<Work>, unless flag: CancellationFlag?
    ) {
        do {
            if isFirst { try add(first, to: work, unless: flag) }
            while work.withLock({ $0.failure == nil }), var stretch = claim() {
                while let part = try read(&stretch) { try add(part, to: work, unless: flag) }
            }
        } catch {
            work.withLock { $0.failure = error }
        }
    }

    private func add(
        _ part: IndexPart, to work: borrowing Mutex<Work>, unless flag: CancellationFlag?
    ) throws {
        let mapped = try MapGuard.$isMapping.withValue(true) { try part.mapped(unless: flag) }
        work.withLock { $0.add(mapped) }
    }

    /// How many threads have something to do.
    private var mostThreads: Int {
        let length = rest.withLock { $0.count <= 0 || $0.bytes <= 0 ? 0 : bound - $0.start }
        // No other thread sees what this one sees in a batch or a read of its own.
        guard length > 0, !core.isInTransaction, !core.isInRead else { return 1 }
        return min(Self.cores, 1 + Int(clamping: length) / Self.partCount)
    }

    // MARK: - Reading

    /// The next stretch; nil when the piece is complete.
    func claim() -> Stretch? {
        rest.withLock { rest in
            guard rest.start < bound, rest.count > 0, rest.bytes > 0 else { return nil }
            let length = min(rest.length, rest.count, Int(clamping: bound - rest.start))
            defer {
                rest.start += SequenceNumber(length)
                rest.count -= length
            }
            let through = rest.start + SequenceNumber(length)
            return Stretch(after: rest.start, through: through, length: length)
        }
    }

    /// Reads the next part of a stretch; nil at its end.
    func read(_ stretch: inout Stretch) throws -> IndexPart? {
        guard goesOn(stretch) else { return nil }
        let part = try IndexPart(
            core, for: indexes, after: stretch.after, purge: nil, through: stretch.through,
            count: Self.partCount, bytes: Self.partBytes)
        stretch.after = part.lastSequence
        stretch.found += part.items.count
        rest.withLock { $0.bytes -= part.bytes }
        return part
    }

    private func goesOn(_ stretch: Stretch) -> Bool {
        rest.withLock { rest in
            if stretch.after >= stretch.through {
                rest.count += stretch.length - stretch.found
                if stretch.found < stretch.length / 8 { rest.length = 2 * stretch.length }
                return false
            }
            return rest.bytes > 0
        }
    }

    /// Stops the program where an invariant does not hold; for tests.
    ///
    /// - Parameter stretches: Stretches that were claimed and not ended.
    func checkInvariants(_ stretches: [Stretch] = []) {
        rest.withLock { rest in
            precondition(first.items.count <= Self.partCount, "invariant 2")
            precondition(rest.count >= 0 && rest.length > 0, "invariant 2")
            precondition(
                rest.start <= max(bound, first.lastSequence)
                    && rest.start >= first.lastSequence, "invariant 2")
            for stretch in stretches {
                precondition(stretch.found <= stretch.length, "invariant 2")
                precondition(stretch.through <= rest.start, "invariant 2")
            }
        }
    }
}
