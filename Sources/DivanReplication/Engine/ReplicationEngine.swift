// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
package import DivanModel

/// The conversation between a source and a target, as a value: events in, actions out.
///
///     read changes ──► find missing ──► fetch ──► store ──► safe ──► save checkpoint
///       a page           of a unit      pieces    batches    the longest finished prefix
///
/// A page of the feed is a *unit*. Its changes are compared with the target at once; what is missing
/// joins one queue, from which several fetches take pieces; what was fetched is stored in batches. Units
/// finish in any order, but the *safe* sequence moves only over a prefix of finished ones, and only it
/// is ever saved.
///
/// ```swift
/// var engine = ReplicationEngine(since: nil, isContinuous: false)
/// var actions = engine.start()
/// // … carry each action out; what comes of it is an event:
/// actions = engine.handle(.page(page))
/// ```
///
/// It does no I/O and knows no clock. Its driver may carry actions out in any order, one after the other or
/// together; tests do so in seeded random order. A whole request that fails is no event:
/// the driver gives the engine up, and the next one goes on after the last checkpoint.
///
/// ## Invariants
///
/// `checkInvariants()` tests what the value shows of each. That a finished unit's revisions are where invariant 1 says, and
/// none behind the safe sequence is lost, `SimulationTests` show.
///
/// 1. A unit is finished when each of its revisions is stored, gone from the source, refused for
///    good by the target, or postponed. Refusals are reported, and count as done: the document is offered again when
///    it changes. What is postponed is offered again, too; see `PostponedRevisions`.
/// 2. The safe sequence is the last one of the longest prefix of finished units without a revision that
///    failed for now. Once such a unit is met, it moves no further; the rest of the feed goes on.
/// 3. At most `limits` of everything is under way, so memory is bounded whatever the feed's length.
/// 4. A change is *examined* once the target has said what it lacks of it. A document of which it lacks something is
///    *wanted* until each of its revisions is done, and is then *transferred* when all that it lacked was stored.
package struct ReplicationEngine: Sendable {
    /// How much may be under way.
    package struct Limits: Sendable {
        /// Changes in a page.
        package var page = 1_000
        /// Units that are not finished.
        package var units = 4
        /// Revisions in a fetch.
        package var revisionsPerFetch = 100
        /// Fetches at a time.
        package var fetches = 4
        /// Revisions in a store.
        package var revisionsPerStore = 1_000
        /// Stores at a time.
        package var stores = 1
        /// Bytes of fetched documents in memory, before no further fetch begins.
        package var readyBytes = 8 << 20
        /// Changes after which a checkpoint is due, whatever the time.
        package var changesPerCheckpoint = 20_000

        /// Makes the usual limits.
        package init() {}
    }

    /// What has happened.
    package enum Event: Sendable {
        /// A piece of the feed was read.
        case page(ChangesPage)
        /// The target has said what it lacks of a unit.
        case missing(unit: Int, [MissingRevisions])
        /// A fetch has answered, perhaps in part.
        case fetched(Int, [FetchedRevision])
        /// A store has answered; the outcomes are in the order of its documents.
        case stored(Int, [PutOutcome])
        /// A checkpoint was saved on both sides.
        case checkpointSaved(RemoteSequence)
        /// Changes of earlier parts of the feed are to be looked at once more.
        case offer([PeerChange])
        /// Some seconds have gone by.
        case timer
        /// Nothing new is to begin.
        case stop
    }

    /// What is to be done.
    package enum Action: Sendable {
        /// Read a piece of the feed.
        case readChanges(ChangesRequest)
        /// Ask the target what it lacks.
        case findMissing(unit: Int, [PeerChange])
        /// Fetch revisions from the source.
        case fetch(Int, [MissingRevisions])
        /// Store revisions in the target.
        case store(Int, [WireDocument])
        /// Save a checkpoint on both sides, with what was counted up to it.
        case saveCheckpoint(RemoteSequence, RevisionCounts)
        /// It is over; with the first failure that may be gone another time.
        case finish(ReplicationError?)
    }

    /// What became of a revision, for the app's callbacks.
    package struct Report: Sendable {
        /// The document.
        package var id: DocumentID
        /// The revision; nil when it is not known.
        package var revision: RevisionID?
        /// Whether it is a tombstone.
        package var isDeleted = false
        /// Whether it says that the target may no longer see the document.
        package var isAccessRemoved = false
        /// Why it was not stored, or not whole.
        package var error: ReplicationError?

        /// Whether the revision was not transferred, and is not tried again before its document changes.
        var isRefusal: Bool {
            error.map { !$0.isTransient && $0.code != .attachmentTooLarge } ?? false
        }
    }

    /// A unit of the feed.
    struct Unit {
        var lastSequence: RemoteSequence
        var isCompared = false
        /// Documents that are not done.
        var open = 0
        /// Revisions to be compared.
        var offered = 0
        var hasFailed = false
        var isFinished: Bool { isCompared && open == 0 }
    }

    /// What is left of a document that the target lacks something of, and what became of the rest.
    struct Remainder {
        /// The revisions that are not done.
        var revisions: Int
        var isStored = false
        var hasFailed = false
        /// Those whose attachments were asked for in full.
        var completions: Set<RevisionID> = []
    }

    /// Revisions of one document that a unit still waits for.
    struct Wanted {
        var unit: Int
        var missing: MissingRevisions
    }

    /// A fetched revision that waits for its turn to be stored.
    struct Ready {
        var unit: Int
        var document: WireDocument
        var id: DocumentID
        var revision: RevisionID
    }

    struct Place: Hashable {
        var unit: Int
        var id: DocumentID
    }

    let limits: Limits
    let isContinuous: Bool
    /// Up to where the feed may leave out deleted documents, which the target never had; nil once it must not.
    ///
    ///     the feed, before     a  b  c  d† │ activeOnlyEnd
    ///     while it is read        b  c     │ e  a†        a was read alive: the page with a† must tell of it
    var activeOnlyEnd: UInt64?

    var units: [Int: Unit] = [:]
    /// The numbers of the oldest unit that is kept and of the next one.
    var firstUnit = 0
    var nextUnit = 0
    var wanted: [Wanted] = []
    var wantedStart = 0
    var fetches: [Int: [Wanted]] = [:]
    var ready: [Ready] = []
    var readyBytes = 0
    var stores: [Int: [Ready]] = [:]
    var nextRequest = 0
    /// The documents that are wanted.
    var remaining: [Place: Remainder] = [:]

    /// Up to where the feed was read.
    package private(set) var readPosition: RemoteSequence?
    var isReading = false
    var hasReachedEnd = false
    var safe: RemoteSequence?
    var saved: RemoteSequence?
    var isBlocked = false
    var isSaving = false
    var isCheckpointDue = false
    var changesSinceCheckpoint = 0
    var isStopping = false
    var isFinished = false
    var failure: ReplicationError?
    var reports: [Report] = []
    /// What became of revisions.
    package internal(set) var counts = RevisionCounts()
    /// Whether a checkpoint was saved.
    package private(set) var hasSaved = false
    /// Changes that come after those read, as far as the source tells.
    private var pending = 0
    /// Changes that were read and not compared yet.
    private(set) var uncompared = 0
    /// Changes that were compared with the target.
    package private(set) var examined = 0
    /// Documents that the target lacked, and has now.
    package internal(set) var transferred = 0
    /// Documents that the target is known to lack, and that are on their way.
    package var wantedDocuments: Int { remaining.count }
    /// Changes that are not compared yet, as far as they are known of.
    package var unexamined: Int { uncompared.addingSaturated(pending) }

    /// Makes an engine.
    ///
    /// - Parameters:
    ///   - since: The last checkpoint; nil for the beginning.
    ///   - isContinuous: Whether to wait for changes at the feed's end.
    ///   - start: The place up to which the first reading may leave out deleted documents: where the source stands. nil
    ///     where it may leave out none.
    ///   - limits: How much may be under way.
    package init(
        since: RemoteSequence?, isContinuous: Bool, activeOnlyUpTo start: RemoteSequence? = nil,
        limits: Limits = Limits()
    ) {
        self.limits = limits
        self.isContinuous = isContinuous
        activeOnlyEnd = start?.estimate
        readPosition = since
        safe = since
        saved = since
    }

    /// Whether it has caught up and waits for changes. What failed for now is still to come.
    package var isIdle: Bool { isContinuous && hasReachedEnd && isDrained && failure == nil }

    /// The reports since they were last taken.
    package mutating func takeReports() -> [Report] {
        defer { reports = [] }
        return reports
    }

    /// The first actions.
    package mutating func start() -> [Action] { nextActions() }

    /// Takes an event, and says what is to be done now.
    package mutating func handle(_ event: Event) -> [Action] {
        guard !isFinished else { return [] }
        switch event {
        case .page(let page): take(page)
        case .offer(let changes): offer(changes)
        case .missing(let unit, let missing): take(missing, unit)
        case .fetched(let fetch, let revisions): take(revisions, fetch)
        case .stored(let store, let outcomes): take(outcomes, store)
        case .checkpointSaved(let sequence):
            saved = sequence
            hasSaved = true
            isSaving = false
        case .timer: isCheckpointDue = true
        case .stop: isStopping = true
        }
        settle()
        return nextActions()
    }

    private mutating func take(_ page: ChangesPage) {
        isReading = false
        if let end = activeOnlyEnd, page.isAtEnd || page.lastSequence.estimate ?? .max >= end {
            activeOnlyEnd = nil
            // It may have left out what has died since the first reading began, so it is read again, whole.
            if page.lastSequence.estimate ?? .max > end { return }
        }
        hasReachedEnd = page.isAtEnd
        pending = page.isAtEnd ? 0 : ForeignCount.bounded(page.pending ?? 0)
        readPosition = page.lastSequence
        for error in page.failures {
            reports.append(Report(id: error.documentID ?? "?", error: error))
            counts.failed += 1
        }
        add(Self.merged(page.changes), upTo: page.lastSequence)
    }

    /// Takes changes that earlier pages have told of: a unit that ends where the last page did. Where there is no room for
    /// it they are offered another time.
    private mutating func offer(_ changes: [PeerChange]) {
        guard let position = readPosition, !changes.isEmpty, !isStopping,
            nextUnit - firstUnit + (isReading ? 1 : 0) < limits.units
        else { return }
        add(Self.merged(changes), upTo: position)
    }

    private mutating func add(_ changes: [PeerChange], upTo sequence: RemoteSequence) {
        var unit = Unit(lastSequence: sequence)
        unit.isCompared = changes.isEmpty
        unit.open = changes.count
        unit.offered = changes.reduce(0) { $0 + $1.revisions.count }
        uncompared += changes.count
        units[nextUnit] = unit
        offers[nextUnit] = changes.isEmpty ? nil : changes
        nextUnit += 1
    }

    /// A page with each document once, and each of its revisions once: a feed that is followed may tell of a document
    /// twice, and a server may name a revision twice, for the second of which nothing would ever come.
    private static func merged(_ changes: [PeerChange]) -> [PeerChange] {
        var places: [DocumentID: Int] = [:]
        // The revisions of documents that come twice: a server may name any number of them.
        var known: [Int: Set<RevisionID>] = [:]
        var merged: [PeerChange] = []
        for var change in changes {
            guard let place = places[change.id] else {
                places[change.id] = merged.count
                if change.revisions.count > 1 {
                    var seen: Set<RevisionID> = []
                    change.revisions.removeAll { !seen.insert($0).inserted }
                }
                merged.append(change)
                continue
            }
            var revisions = known.removeValue(forKey: place) ?? Set(merged[place].revisions)
            for revision in change.revisions where revisions.insert(revision).inserted {
                merged[place].revisions.append(revision)
            }
            known[place] = revisions
        }
        return merged
    }

    /// Pages whose changes have not been compared with the target.
    var offers: [Int: [PeerChange]] = [:]

    private mutating func take(_ missing: [MissingRevisions], _ unit: Int) {
        guard var state = units[unit] else { return }
        // Of a document that lacks no revision nothing would ever come.
        let missing = missing.filter { !$0.revisions.isEmpty }
        state.isCompared = true
        uncompared -= state.open
        examined += state.open
        counts.checked += state.offered
        changesSinceCheckpoint += max(0, state.open - missing.count)
        state.open = missing.count
        units[unit] = state
        for one in missing {
            counts.found += one.revisions.count
            remaining[Place(unit: unit, id: one.id)] = Remainder(revisions: one.revisions.count)
            wanted.append(Wanted(unit: unit, missing: one))
        }
    }

    // MARK: - Finished units

    /// Moves the safe sequence over what is finished.
    private mutating func settle() {
        while firstUnit < nextUnit, let unit = units[firstUnit], unit.isFinished {
            if unit.hasFailed { isBlocked = true }
            if !isBlocked { safe = unit.lastSequence }
            units[firstUnit] = nil
            firstUnit += 1
        }
        if isDrained, !isContinuous || isStopping { isCheckpointDue = true }
        if changesSinceCheckpoint >= limits.changesPerCheckpoint { isCheckpointDue = true }
    }

    /// Whether nothing is under way but the reading of the feed.
    var isDrained: Bool {
        units.isEmpty && fetches.isEmpty && stores.isEmpty && ready.isEmpty
            && wantedStart == wanted.count
    }
}
