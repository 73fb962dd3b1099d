// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex
internal import DivanLogging
internal import DivanModel
internal import DivanStorage

/// The state of the open write transaction, reused from one to the next.
///
/// Owned by `DatabaseCore`'s writer queue: only the thread whose turn it is touches it, so it needs
/// no lock. Between transactions `current` is nil.
package final class WriteContext {
    /// What a transaction writes to and reads from. One object, so that handing it on copies nothing.
    final class Open {
        let core: DatabaseCore
        let writer: any StorageWriter
        /// Reads what the transaction has written.
        let snapshot: Snapshot

        init(_ writer: any StorageWriter, core: DatabaseCore, context: WriteContext) {
            self.core = core
            self.writer = writer
            snapshot = Snapshot(reader: writer, core: core, context: context)
        }
    }

    /// Nil between transactions.
    private(set) var current: Open?
    /// The counters as this transaction has changed them so far.
    package var state = DatabaseState()
    /// How many revisions of each branch stay whole; what the transaction itself has set counts.
    var revisionBodyLimit: Int { Int(clamping: state.revisionBodyLimit) }
    /// How many IDs of each branch are kept.
    var revisionLimit: Int { Int(clamping: state.revisionLimit) }
    /// Set by a failure in the middle of an operation: the transaction must not commit.
    var failure: (any Error)?
    /// Whether an app's validation function runs: it may read but not write.
    var isValidating = false
    /// Whether the running operation has begun to write.
    private var hasWritten = false
    /// The document whose tree was put together with its older part for the write that comes.
    var joined: DocumentID?
    /// How many records were written again without a new place in the feed.
    var rewrites = 0
    /// The earliest date of expiration that this transaction has set, undone batches included.
    var earliestExpiration: ExpirationTime?
    /// Reused for rows and for what is hashed, so that a save allocates nothing for them.
    private var row: [UInt8] = []
    private var digestInput: [UInt8] = []
    /// Whether attachments got names that must be on disk before the commit.
    package var hasPlacedAttachments = false

    /// Where the changes come from.
    var source = ChangeSource.local

    /// What live documents show the thread that runs the transaction: this one's own work.
    var views: [DocumentID: LiveSnapshot] = [:]

    /// What holds content for the case that the transaction is undone. What the app lets go of is not kept.
    private var holders: [WeakHolder] = []

    private struct WeakHolder {
        weak var holder: (any ContentHolder)?
    }

    private var stateAtBegin = DatabaseState()
    /// What the transactions have changed that this one has joined, in their order.
    private var earlier: [Part] = []
    /// What documents have lost of their bodies, as far as indexes have not followed.
    var losses: [DocumentID: EmissionLists.Loss] = [:]
    /// How many sequences these losses name.
    var sequencesOfLosses = 0
    /// The indexes that have lists, once they were looked for.
    var listedIndexes: [ListedIndex]?
    /// Where the database stood when the first of these began.
    private var markAtFirst: DatabaseMark?
    /// The counters after this process's last transaction; nil before the first.
    private var stateAtEnd: DatabaseState?
    /// The documents changed so far; nil when they are too many or there is no follower.
    private var touched: [DocumentID]?
    private var isCommitting = false
    /// Whether the transaction, or the innermost batch inside it, is open, kept or undone.
    private(set) var outcome = BatchOutcome()
    private var depth = 0

    /// Where the database stood when the transaction began, as all other threads still see it.
    var markAtBegin: DatabaseMark { markAtFirst ?? stateAtBegin.mark }

    /// Whether an operation or a batch is open, so that another batch is a savepoint.
    var isNested: Bool { depth > 0 }

    // MARK: - Life of a transaction

    func begin(_ storage: any StorageWriter, core: DatabaseCore) throws {
        let snapshot = Snapshot(reader: storage, core: core)
        state = try snapshot.state()
        stateAtBegin = state
        if let known = stateAtEnd, known.lastSequence != state.lastSequence {
            // It may have written a design document.
            core.designFunctions.setValidating(true)
            Log.database.verbose(
                "Another process has written to the database '\(core.name)', up to sequence "
                    + "\(state.lastSequence).")
        }
        stateAtEnd = state
        touched = core.hub.isFollowed ? [] : nil
        current = Open(storage, core: core, context: self)
    }

    /// Syncs the names of attachments; called last before the commit.
    func prepareCommit() throws {
        guard hasPlacedAttachments, let open = current else { return }
        do { try open.core.attachments.synchronise() } catch { throw DatabaseError.io(error) }
    }

    /// Writes the counters after the work of a transaction, and of one that joins it.
    func closePart() throws {
        try settleLosses()
        guard state != stateAtBegin, let open = current else { return }
        if state.mark != stateAtBegin.mark {
            isCommitting = true
            open.core.hub.willCommit(commit)
        }
        let key = DatabaseState.key
        try withRow { row in
            try DatabaseCore.decoding(nil) { try state.encode(into: &row) }
        } lent: { row in
            try open.writer.set(row, forKey: key.span, in: open.core.stores.info)
        }
    }

    /// Ends a committed transaction and tells what it changed, and before that what those changed that it
    /// has joined; nothing for one that changed no document.
    func finish() -> (earlier: [Commit], last: Commit?) {
        defer { reset() }
        for part in earlier { part.outcome.keep() }
        outcome.keep()
        for entry in holders { entry.holder?.releaseContent() }
        stateAtEnd = state
        return (earlier.compactMap(\.commit), isCommitting ? commit : nil)
    }

    /// What the transaction changed so far.
    private var commit: Commit {
        Commit(begin: stateAtBegin.mark, end: state.mark, documentIDs: touched, source: source)
    }

    /// Ends a transaction that was rolled back.
    func abandon() {
        withdrawCommit()
        outcome.undo()
        while let part = earlier.popLast() {
            if part.commit != nil { current?.core.hub.withdrawCommit() }
            part.outcome.undo()
        }
        reset()
    }

    private func withdrawCommit() {
        if isCommitting { current?.core.hub.withdrawCommit() }
        isCommitting = false
    }

    private func reset() {
        current = nil
        failure = nil
        hasPlacedAttachments = false
        depth = 0
        outcome = BatchOutcome()
        touched = nil
        isCommitting = false
        earlier = []
        markAtFirst = nil
        holders = []
        source = .local
        earliestExpiration = nil
        views = [:]
        listedIndexes = nil
        forgetLosses()
    }

    /// One of the transactions that share a commit.
    private struct Part {
        var commit: Commit?
        var outcome: BatchOutcome
    }

    /// Runs a transaction after the one that is open, to be committed with it.
    ///
    /// When it throws, only its work is undone. After a failure of the storage it is not known what is
    /// undone, so none of them may commit: `failure` stays.
    func join(_ body: () throws -> Void) throws {
        let open = try openTransaction()
        if markAtFirst == nil { markAtFirst = stateAtBegin.mark }
        earlier.append(Part(commit: isCommitting ? commit : nil, outcome: outcome))
        stateAtBegin = state
        isCommitting = false
        outcome = BatchOutcome()
        touched = open.core.hub.isFollowed ? [] : nil
        source = .local
        views = [:]
        do {
            try open.writer.savepoint {
                try enter(body)
                if let failure { throw failure }
                try closePart()
            }
        } catch {
            withdrawCommit()
            state = stateAtBegin
            touched = nil
            views = [:]
            listedIndexes = nil
            forgetLosses()
            outcome.undo()
            outcome = BatchOutcome()
            failure = failure as? StorageError ?? error as? StorageError
            throw error
        }
    }

    // MARK: - Operations

    /// Runs one operation of a transaction, such as a save.
    ///
    /// It checks everything before its first write, so a refusal leaves nothing behind, and the
    /// closure of the transaction may catch that and go on. A failure later leaves a part of the
    /// operation, and a failure of the storage may have undone what came before: either way the
    /// transaction must not commit, whatever its closure catches.
    func operation<T>(_ body: () throws -> T) throws -> T {
        if let failure { throw Self.asPublic(failure) }
        let outer = hasWritten
        hasWritten = false
        defer { hasWritten = outer }
        do { return try body() } catch {
            if hasWritten || error is StorageError { failure = error }
            throw Self.asPublic(error)
        }
    }

    /// Notes that an operation has done its checks and writes from here on.
    func beginWrites() { hasWritten = true }

    private static func asPublic(_ error: any Error) -> any Error {
        (error as? StorageError).map { DatabaseError($0, documentID: nil) } ?? error
    }

    // MARK: - Batches and savepoints

    /// Runs an operation or the outermost batch.
    func enter<T>(_ body: () throws -> T) rethrows -> T {
        depth += 1
        defer { depth -= 1 }
        return try body()
    }

    /// Runs a nested batch: when it throws, only its work is undone.
    func savepoint<T>(_ body: () throws -> T) throws -> T {
        let writer = try openTransaction().writer
        try settleLosses()
        let before = (
            state: state, touched: touched?.count, failure: failure, outcome: outcome
        )
        outcome = BatchOutcome(inside: before.outcome)
        defer { outcome = before.outcome }
        do {
            return try writer.savepoint { try enter { try body() } }
        } catch {
            state = before.state
            // Once they were too many, they stay so: the followers read what is there.
            if let count = touched?.count { touched?.removeLast(count - (before.touched ?? 0)) }
            outcome.undo()
            views = [:]
            listedIndexes = nil
            forgetLosses()
            // Half an operation is undone with the batch; what the storage itself has undone is not known.
            if !(failure is StorageError) { failure = before.failure }
            throw error
        }
    }

    /// Composes a row in memory that is kept for it, and lends it.
    @inline(__always)
    func withRow<R>(
        _ compose: (inout [UInt8]) throws -> Void, lent body: (Span<UInt8>) throws -> R
    ) rethrows -> R {
        var bytes: [UInt8] = []
        // Taken out of the object, so that the optimiser sees that no other code changes it.
        swap(&bytes, &row)
        defer { swap(&bytes, &row) }
        bytes.removeAll(keepingCapacity: true)
        try compose(&bytes)
        return try body(bytes.span)
    }

    /// The ID of the revision that an edit makes.
    func revisionID(of content: RevisionContent, parent: RevisionID?, core: DatabaseCore)
        -> RevisionID
    {
        var scratch: [UInt8] = []
        swap(&scratch, &digestInput)
        defer { swap(&scratch, &digestInput) }
        return RevisionID.of(
            parent: parent, isDeleted: content.isDeleted, body: content.body, digest: core.digest,
            scratch: &scratch)
    }

    /// Has content released when the transaction has committed.
    func releaseAtEnd(_ holder: some ContentHolder) { holders.append(WeakHolder(holder: holder)) }

    /// Remembers that a document changed.
    func touch(_ id: DocumentID) {
        if !views.isEmpty { views[id] = nil }
        guard let count = touched?.count else { return }
        if count < ChangeHub.largestCommit { touched?.append(id) } else { touched = nil }
    }
}
