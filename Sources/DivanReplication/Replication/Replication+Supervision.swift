// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanLogging
internal import DivanModel
internal import DivanQuery
internal import DivanSystem
internal import Synchronization

// One run after the other, until everything is transferred or it is stopped.
extension Replication {
    /// Runs, waits after failures, and runs again.
    func supervise(_ stop: StopSignal) async {
        tellBeginning()
        // What no try can mend is told at once.
        do {
            try FilterParameters.check(settings.filterParameters)
            if case .url(let url) = remote {
                _ = try RemotePeers.address(url, settings)
                _ = try RemotePeers.headers(settings)
            }
        } catch {
            return end(ReplicationError(error))
        }
        var retries = RetryCount(settings.retry, isContinuous: settings.isContinuous)
        var isResetting = settings.withOldNames.resetsCheckpoint
        let countsStored = !settings.withOldNames.assumesAllNew
        var lastSaved: RemoteSequence?
        while true {
            let watch = RunWatch(after: lastSaved, countsStored: countsStored)
            do {
                beginRun()
                try await run(stop, isResetting, watch, isRetry: retries.failures > 0)
                // What delayed it before is over.
                settleErrors()
                return end(nil)
            } catch {
                // What the first run has saved counts for the next.
                isResetting = isResetting && watch.saved == nil
                lastSaved = watch.saved ?? lastSaved
                guard let error = Self.failure(error, unless: stop) else { return end(nil) }
                // A handle that is closed stays so, also where a database of its name is made anew.
                if database.isClosed || remote.database?.isClosed ?? false { return end(error) }
                if database.isSuspended {
                    await waitWhileSuspended(stop)
                    if stop.isGiven || Task.isCancelled { return end(nil) }
                    continue
                }
                let delay = retries.fail(
                    error, after: watch.seen(), random: Double.random(in: 0...1))
                guard let delay else { return end(retries.givingUp(error)) }
                update { status in
                    status.activity = .offline
                    status.error = error
                    status.nextTry = delay
                }
                let sentence =
                    "The \(description) tries again in \(delay.words), after try \(retries.failures): \(error.logged)"
                if settings.isContinuous {
                    Log.replication.info(sentence)
                } else {
                    // A caller waits for the end of this one.
                    Log.replication.warning(sentence)
                }
                // The wait is cut short when the network changes, or when the app asks for a try now.
                if await wait(for: delay, unless: stop) { retries.forget() }
                if stop.isGiven || Task.isCancelled { return end(nil) }
                update { status in
                    status.activity = .connecting
                    status.nextTry = nil
                }
            }
        }
    }

    /// What a run has ended with; nil where it was stopped.
    private static func failure(_ error: any Error, unless stop: StopSignal) -> ReplicationError? {
        let error = ReplicationError(error)
        if stop.isGiven || Task.isCancelled { return nil }
        guard error.code == .cancelled else { return error }
        return error.underlying.map { .interrupted(by: $0) }
    }

    /// Waits offline until the database's files may be used again.
    private func waitWhileSuspended(_ stop: StopSignal) async {
        update { $0.activity = .offline }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [database] in await database.waitWhileSuspended() }
            group.addTask { await stop.wait() }
            await group.next()
            group.cancelAll()
        }
        update { $0.activity = .connecting }
    }

    /// Waits, and returns whether the wait was cut short.
    private func wait(for delay: Duration, unless stop: StopSignal) async -> Bool {
        let wake = StopSignal()
        wakeUp.withLock { $0 = wake }
        if stop.isGiven { return false }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await Task.sleep(for: delay) }
            group.addTask { await wake.wait() }
            await group.next()
            group.cancelAll()
        }
        return wake.isGiven
    }

    /// One run, with peers of its own.
    private func run(
        _ stop: StopSignal, _ isResetting: Bool, _ watch: RunWatch, isRetry: Bool
    ) async throws {
        var settings = settings.withOldNames
        if isRetry { settings.isAutomatic = true }
        let limits = try settings.limits
        let ends = try Ends(self, settings)
        let start = try await ends.prepare()
        var run = ReplicationRun(
            worker: ends.worker, isContinuous: settings.isContinuous, isResetting: isResetting,
            startingSequence: ends.startingSequence,
            checkpointInterval: settings.checkpointInterval)
        run.postponement = settings.retry.longestDelay
        run.limits = limits
        run.counted = report.counts
        // Of a source that does not say where it stands, deletions could get lost.
        let isEmpty = direction == .pull ? try database.documentCount == 0 : false
        let activeOnly = isEmpty ? start : nil
        let follow: @Sendable (ReplicationRun.Progress, [ReplicationEngine.Report]) -> Void = {
            [weak self] progress, reports in
            watch.take(progress)
            self?.take(progress)
            self?.take(reports)
        }
        let target = direction == .push ? remote.database : database
        guard settings.isContinuous, let target else {
            return try await run.run(until: stop, activeOnlyUpTo: activeOnly, follow: follow)
        }
        try await withThrowingTaskGroup(of: Void.self) { [run] group in
            group.addTask {
                try await run.run(until: stop, activeOnlyUpTo: activeOnly, follow: follow)
            }
            group.addTask { try await Self.failWhenClosed(target) }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Throws once a database is closed or deleted: a run that waits for changes elsewhere does not hear of it.
    private static func failWhenClosed(_ database: Database) async throws {
        let signal = CommitSignal(database)
        while true {
            let rung = signal.count
            if database.isClosed { _ = try database.lastSequence }
            await signal.wait(after: rung)
            try Task.checkCancellation()
        }
    }
}

/// Both ends of a run, made from the settings.
struct Ends {
    let local: LocalPeer
    let remote: any ReplicationPeer
    let id: ReplicationID
    let worker: ReplicationWorker
    let startingSequence: RemoteSequence?
    private let isPush: Bool
    private let createsTarget: Bool
    private let createsPartitioned: Bool
    /// The checkpoints that earlier versions had.
    private let earlierIDs: [ReplicationID]

    init(_ replication: Replication, _ settings: ReplicationConfiguration) throws {
        isPush = replication.direction == .push
        createsTarget = settings.createTarget && (isPush || settings.createsSource)
        createsPartitioned = settings.createsPartitioned
        let database = replication.database
        id = Self.id(replication)
        earlierIDs = Self.earlierIDs(replication)
        startingSequence = try Self.start(replication, settings)
        var reception = Reception(source: replication.remote.description)
        reception.removal = settings.accessRemoval
        reception.resolver = settings.conflictResolver
        reception.isDeferring = !isPush && !settings.downloadsAttachments
        reception.noteID = Self.note(id)
        reception.author = settings.localAuthor
        reception.tellOfConflict = { [weak replication] in replication?.takeConflict(of: $0, $1) }
        var local = LocalPeer(database, reception: reception)
        let filter = try SourceFilter(settings, isPush ? database : replication.remote.database)
        if isPush {
            local.filter = filter.function
            local.tellsWinnersOnly = settings.winningRevisionsOnly
        }
        self.local = local
        let near = Self.guarded(local, settings.localAccess)
        switch replication.remote {
        case .database(let other):
            var peer = LocalPeer(other, reception: Reception(source: local.name))
            peer.reception.author = settings.remoteAuthor
            if !isPush {
                peer.filter = filter.function
                peer.believesRemovals = settings.accessRemoval != .automatic
                peer.sendsContents = settings.downloadsAttachments
                peer.tellsWinnersOnly = settings.winningRevisionsOnly
            }
            remote = Self.guarded(peer, settings.remoteAccess)
        case .url(let url):
            remote = try RemotePeers.make(url, settings, for: database, isPush: isPush)
        }
        let keeper = CheckpointKeeper(
            id, alsoReading: earlierIDs,
            sharedByUsers: Set(
                settings.remoteUserName(replication.remote) == nil ? [] : earlierIDs),
            local: near, remote: remote, isPush: isPush, incarnation: database.incarnation,
            isKept: settings.usesCheckpoints, now: { ReplicationClock.now })
        var worker = ReplicationWorker(
            source: isPush ? near : remote, target: isPush ? remote : near, keeper: keeper)
        worker.transformer = settings.propertyTransformer
        worker.failedFetches = replication.failedFetches
        replication.failedFetches.beginRun()
        if !isPush { worker.arriving = settings.arriving }
        if isPush {
            worker.pushed = settings.purgesPushed ? PushedRevisions(of: database) : nil
            worker.assumesAllNew = settings.assumesAllNew
        }
        worker.repeatedFailures = replication.repeatedFailures
        self.worker = worker
    }

    private static func guarded(_ peer: LocalPeer, _ access: PeerAccess?) -> any ReplicationPeer {
        guard let access else { return peer }
        return GuardedPeer(peer: peer, access: access)
    }

    /// Makes the target where that is asked for, and ends conflicts that an earlier run has left.
    ///
    /// - Returns: Where the other end stands, as far as it tells.
    func prepare() async throws -> RemoteSequence? {
        let information = try await remote.information()
        if !information.exists {
            guard createsTarget else {
                throw ReplicationError(
                    .notFound,
                    "There is no database at '\(remote.name)'; create it, or have the replication create it.",
                    status: 404)
            }
            try await remote.create(partitioned: createsPartitioned)
        }
        var reception = local.reception
        for note in ([id] + earlierIDs).map(Self.note) {
            reception.noteID = note
            try await reception.resolveNoted(in: local.database)
        }
        return information.updateSequence
    }

    /// The local document that notes conflicts to be resolved. No client of a listener gets at what begins with `_divan/`.
    private static func note(_ id: ReplicationID) -> DocumentID {
        "_divan/pull-conflicts-\(id.text)"
    }

    /// Where it begins without a checkpoint.
    private static func start(_ replication: Replication, _ settings: ReplicationConfiguration)
        throws -> RemoteSequence?
    {
        guard let text = settings.startingSequence else { return nil }
        let sequence = RemoteSequence(.string(text))
        let isCounted = replication.direction == .push || replication.remote.database != nil
        guard !isCounted || sequence?.number != nil else {
            throw ReplicationError(
                .invalidSetting, "The starting sequence of a database here is a number.")
        }
        return sequence
    }
}

extension ReplicationEndpoint {
    /// The database, where it is one of this process.
    var database: Database? {
        if case .database(let database) = self { database } else { nil }
    }

    /// What checkpoints know it by.
    var identity: String {
        switch self {
        case .url: description
        case .database(let database): "divan:\(database.publicUUID)"
        }
    }
}

/// What a local source lets through.
struct SourceFilter {
    /// nil for everything; it gives nil for a document of which that cannot be told.
    var function: (@Sendable (Document) throws -> Bool?)?

    /// `source` is the database that registers filters; nil when the source is behind HTTP.
    init(_ settings: ReplicationConfiguration, _ source: Database?) throws {
        guard let source else { return }
        var tests: [@Sendable (Document) throws -> Bool?] = []
        if let name = settings.filter {
            guard let filter = try source.anyFilter(named: name) else {
                throw ReplicationError(
                    .invalidSetting,
                    "No filter named '\(name)' is registered with the database '\(source.name)'.")
            }
            let parameters = settings.filterParameters
            tests.append { try filter($0, parameters) }
        }
        if let selector = settings.selector {
            let selector = try DocumentSelector(json: .object(selector))
            tests.append { selector.truth(of: $0) }
        }
        if !settings.documentIDs.isEmpty {
            let ids = Set(settings.documentIDs)
            tests.append { ids.contains($0.id) }
        }
        guard !tests.isEmpty else { return }
        function = { [tests] document in
            try tests.truth(decisive: false) { try $0(document) }
        }
    }
}
