// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import DivanModel
internal import DivanSystem
internal import Synchronization

/// Tells the followers in this process what was committed to one database, by this or another process.
///
///     this process                          another process
///       writer: commit                        writer: commit
///         │ publish(Commit)                     │ overwrites `changes`
///         ▼                                     ▼
///     ┌─ pending ──────────┐                   FileWatcher ── every 5 s ─┐
///     └────────┬───────────┘                    │ check()                │
///              ▼                                ▼                        ▼
///     ═══════════ the hub's serial queue: drain() ═══════════════════════════
///              │ a commit with its IDs: told at once
///              │ anything else: what lies between `mark` and now is read from the two feeds
///              ▼
///     followers, in commit order: HubChange(lastSequence, lastPurge, IDs, source)
///
/// **Nothing can be missed or told twice**, because the hub records what it has told as a place in
/// two feeds, the `mark`, and does not depend on which messages have arrived. A commit that begins
/// exactly at the mark is told from memory and moves the mark to its end; if it begins beyond,
/// another process's commits lie between and the feeds are read; if it ends at or before the mark,
/// it has been told already. Who made a change is told by its number: see `CommitSources`.
///
/// **No queue grows.** A commit publishes up to a thousand IDs; when more than ten thousand wait, all
/// are forgotten and the feeds are read instead, a thousand rows at a time.
///
/// Without followers there is no watcher, no timer and no queue, and a commit costs two locks.
///
/// ## Invariants
///
/// `checkInvariants()` tests what the state shows of 2, and that it agrees with itself. The others speak of time:
/// `ChangeHubTests` show them.
///
/// 1. Handlers run on `queue`, one at a time, after the commits they are told of.
/// 2. `mark` is nil or a state that was committed after following began; it only grows.
/// 3. What is committed after `follow` has returned lies beyond the `mark`, so it will be told.
/// 4. The lock is never held while a handler runs or the database is read.
///
/// State: `state`, guarded by its mutex.
package final class ChangeHub: Sendable {
    /// What a follower does with an event.
    package typealias Handler = @Sendable (HubEvent) -> Void

    struct Follower: Sendable {
        var handler: Handler
        /// The only document it is told of; nil for all.
        var documentID: DocumentID?
    }

    struct State {
        /// Nil once it is closed. Not weak: Swift counts the references to an object with weak
        /// references elsewhere, and each of the many references to a core that a query takes would
        /// cost several times as much.
        var core: DatabaseCore?
        var nextNumber = 0
        var followers: [Int: Follower] = [:]
        /// The numbers of those that follow all documents, in the order in which they came.
        var general: [Int] = []
        /// The numbers of those that follow one document.
        var byDocument: [DocumentID: Set<Int>] = [:]
        var isFinished = false
        /// Changes when the last follower goes, so that what was begun for former ones is not taken for later ones'.
        var epoch = 0
        /// How far followers have been told; nil without followers, or when it is not known yet.
        var mark: DatabaseMark?
        /// Own commits not told yet.
        var pending: [Commit] = []
        var pendingIDs = 0
        var sources = CommitSources()
        /// Whether the counters must be compared with the mark.
        var mustCheck = false
        var isScheduled = false
        var watcher: FileWatcher?
    }

    static let largestPending = 10_000
    static let largestCommit = 1_000

    let queue: DispatchQueue
    let state = Mutex(State())
    private let count = Atomic<Int>(0)

    init(name: String) { queue = DispatchQueue(label: "divan.hub.\(name)") }

    /// Says whose hub this is; called once, at the end of the core's making.
    func attach(_ core: DatabaseCore) { state.withLock { $0.core = core } }

    /// Whether there is a follower; a transaction that begins asks whether to note what it touches.
    var isFollowed: Bool { count.load(ordering: .relaxed) > 0 }

    /// Which process made which change, for readers of the feeds; they ask for it after reading.
    var sources: CommitSources { state.withLock { $0.sources } }

    // MARK: - Following

    /// Calls `handler` for all that is committed from now on, until the token is removed or released.
    ///
    /// The handler may read, write, close the database, follow and remove tokens; others wait meanwhile.
    package func follow(_ handler: @escaping Handler) -> ListenerToken {
        add(Follower(handler: handler, documentID: nil))
    }

    /// Calls `handler` for what concerns one document.
    func follow(documentID: DocumentID, _ handler: @escaping Handler) -> ListenerToken {
        add(Follower(handler: handler, documentID: documentID))
    }

    private func add(_ follower: Follower) -> ListenerToken {
        let (number, core, isFirst) = state.withLock { state in
            state.nextNumber += 1
            guard !state.isFinished else { return (state.nextNumber, nil as DatabaseCore?, false) }
            state.add(follower, state.nextNumber)
            count.store(state.followers.count, ordering: .relaxed)
            return (state.nextNumber, state.core, state.mark == nil)
        }
        let token = ListenerToken { self.remove(number) }
        guard let core else {
            queue.async { follower.handler(.closed) }
            return token
        }
        if isFirst { start(core) }
        return token
    }

    /// Takes the mark and starts the watcher, for the first follower.
    ///
    /// Commits are collected already; those that the mark covers are dropped when it is known.
    private func start(_ core: DatabaseCore) {
        let watcher = core.directory.map { FileWatcher($0.changesPath) }
        let epoch = state.withLock { $0.epoch }
        let mark = try? core.committedMark()
        let isTaken = state.withLock { state in
            // The last follower may have gone meanwhile: a mark would keep the next one from starting a watcher.
            guard !state.isFinished, !state.followers.isEmpty, state.epoch == epoch else {
                return false
            }
            if state.mark == nil { state.mark = mark }
            guard state.watcher == nil else { return false }
            state.watcher = watcher
            return true
        }
        if isTaken {
            guard let watcher else { return }
            watcher.start(on: queue) { [weak self] in self?.check() }
            // What another process committed after the mark and before the watcher was there.
            check()
        } else {
            watcher?.stop()
        }
    }

    func remove(_ number: Int) {
        // The handler is released outside the lock: it may hold the last reference to another token.
        let (follower, watcher) = state.withLock { state in
            let follower = state.removeFollower(number)
            count.store(state.followers.count, ordering: .relaxed)
            return (follower, state.followers.isEmpty ? state.rest() : nil)
        }
        watcher?.stop()
        _ = follower
    }

    // MARK: - What happened

    /// Notes a transaction of this process that is about to commit; see `CommitSources`.
    func willCommit(_ commit: Commit) { state.withLock { $0.sources.begin(commit) } }

    /// Notes that it was rolled back.
    func withdrawCommit() { state.withLock { $0.sources.withdraw() } }

    /// Takes a commit of this process; called by the writer before the next one's turn.
    func publish(_ commit: Commit) {
        let mustSchedule = state.withLock { state in
            state.sources.add(commit)
            guard !state.followers.isEmpty else { return false }
            state.pending.append(commit)
            state.pendingIDs += 1 + (commit.documentIDs?.count ?? 0)
            if state.pendingIDs > Self.largestPending { state.forgetPending() }
            return state.schedule()
        }
        if mustSchedule { scheduleDrain() }
    }

    /// Looks for commits that were not published here: those of other processes.
    func check() {
        let mustSchedule = state.withLock { state in
            state.mustCheck = true
            return state.schedule()
        }
        if mustSchedule { scheduleDrain() }
    }

    private func scheduleDrain() { queue.async { [weak self] in self?.drain() } }

    /// Tells all followers that one of several handles was closed; each checks whether that
    /// concerns it.
    func wakeAll() {
        queue.async { [weak self] in
            guard let self else { return }
            let mark = state.withLock { $0.mark }
            tell(
                HubChange(
                    lastSequence: mark?.sequence ?? 0, lastPurge: mark?.purge ?? 0,
                    documentIDs: [], source: .local))
        }
    }

    /// Stops watching other processes until `takeUpAgain()`; followers stay, and are told nothing.
    func pause() {
        let watcher = state.withLock { state in
            defer { state.watcher = nil }
            return state.watcher
        }
        watcher?.stop()
    }

    /// Watches again, and tells what other processes have committed meanwhile.
    func takeUpAgain() {
        guard let core = state.withLock({ $0.followers.isEmpty ? nil : $0.core }) else { return }
        start(core)
        check()
        wakeAll()
    }

    /// Tells all followers that the database is closed, and releases them.
    func finish() {
        let (followers, watcher, core) = state.withLock { state in
            state.isFinished = true
            defer { state.core = nil }
            let followers = Array(state.followers.values)
            state.followers = [:]
            state.general = []
            state.byDocument = [:]
            count.store(0, ordering: .relaxed)
            return (followers, state.rest(), state.core)
        }
        watcher?.stop()
        // The closing thread holds the core, too: it must not be released under the lock.
        withExtendedLifetime(core) {}
        guard !followers.isEmpty else { return }
        queue.async { for follower in followers { follower.handler(.closed) } }
    }

    /// Stops the program where the state does not agree with itself; for tests.
    func checkInvariants() {
        state.withLock { state in
            state.checkInvariants()
            precondition(count.load(ordering: .relaxed) == state.followers.count)
        }
    }
}

extension ChangeHub.State {
    fileprivate mutating func add(_ follower: ChangeHub.Follower, _ number: Int) {
        followers[number] = follower
        if let id = follower.documentID {
            byDocument[id, default: []].insert(number)
        } else {
            general.append(number)
        }
    }

    fileprivate mutating func removeFollower(_ number: Int) -> ChangeHub.Follower? {
        guard let follower = followers.removeValue(forKey: number) else { return nil }
        if let id = follower.documentID {
            byDocument[id]?.remove(number)
            if byDocument[id]?.isEmpty == true { byDocument[id] = nil }
        } else {
            general.removeAll { $0 == number }
        }
        return follower
    }

    /// Whether a drain must be put on the queue.
    fileprivate mutating func schedule() -> Bool {
        defer { isScheduled = true }
        return !isScheduled
    }

    /// Forgets what waits; the feeds are read instead.
    mutating func forgetPending() {
        pending = []
        pendingIDs = 0
        mustCheck = true
    }

    /// Forgets everything about following; gives back the watcher to be stopped.
    fileprivate mutating func rest() -> FileWatcher? {
        defer { watcher = nil }
        epoch += 1
        mark = nil
        pending = []
        pendingIDs = 0
        mustCheck = false
        return watcher
    }

    /// Stops the program where an invariant does not hold; for tests.
    fileprivate func checkInvariants() {
        sources.checkInvariants()
        // Each follower is found in the one place that its document says.
        let ofAll = followers.filter { $0.value.documentID == nil }.keys.sorted()
        precondition(general == ofAll, "followers")
        var ofOne: [DocumentID: Set<Int>] = [:]
        for (number, follower) in followers {
            if let id = follower.documentID { ofOne[id, default: []].insert(number) }
        }
        precondition(byDocument == ofOne, "followers")
        precondition(followers.keys.allSatisfy { $0 <= nextNumber }, "followers")

        precondition(
            pendingIDs == pending.reduce(0) { $0 + 1 + ($1.documentIDs?.count ?? 0) }, "pending")
        precondition(pendingIDs <= ChangeHub.largestPending, "pending")
        for (commit, next) in zip(pending, pending.dropFirst()) {
            precondition(commit.end.isReached(by: next.begin), "pending")
        }
        precondition(pending.isEmpty || isScheduled, "pending")
        if followers.isEmpty {
            precondition(mark == nil && pending.isEmpty && watcher == nil, "invariant 2")
        }
        if isFinished { precondition(followers.isEmpty && core == nil, "invariant 2") }
    }
}
