// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanLogging
internal import DivanModel
internal import DivanReplication
internal import Dispatch
internal import Synchronization

/// Runs the replications that the documents of `_replicator` describe.
///
///     a document appears, or its source, target or options change ──► the replication starts (anew)
///     the document goes ───────────────────────────────────────────► it is cancelled
///     the database goes: deleted, replaced, closed ────────────────► all are cancelled
///     a database of that name is opened or made ───────────────────► its documents' replications start
///     it is over ──────────────────────────────────────────────────► the document says `completed`
///     it cannot be ────────────────────────────────────────────────► the document says `failed`, and why
///     the listener stops ──────────────────────────────────────────► it stops, and the next one starts it
///     the process has died soon after the last starts ─────────────► it begins paused: see `EarlyDeaths`
///
/// What keeps a replication from its other end for now never ends it: it is tried again for ever, at ever
/// longer intervals.
///
/// State: `state`, guarded by its mutex; documents are read and written on one queue.
final class ReplicatorDatabase: Sendable {
    /// What is known of one document.
    struct Job: Sendable {
        var revision: RevisionID
        var state: String
        var reason: String?
        var running: RunningReplication?
        /// Whether it was not started because the process has died of such starts.
        var isPaused = false
        /// How often the process had died when it was not started.
        var deaths = 0
        /// What it had done at its end.
        var statistics: JSONObject?
        var source = ""
        var target = ""
        /// What an edge has written into the document about it, and whether that is no longer true; see `EdgeDocument`.
        @ByBytes var mark: String? = nil
        var isEdited = false
        let started = AccountsFile.now
        var updated = AccountsFile.now

        /// Takes the ends that a document names; one that makes no sense has none to tell.
        fileprivate mutating func nameEnds(_ body: JSONObject, _ site: Site) {
            guard
                let request = try? ReplicateRequest(
                    ReplicatorDatabase.request(in: body), hosts: site.hosts)
            else { return }
            (source, target) = (request.source.label, request.target.label)
        }
    }

    /// The database whose documents are followed. Its handle says when it is no longer the one of its name.
    private struct Following {
        let database: Database
        let token: ListenerToken
    }

    private struct State {
        var jobs: [DocumentID: Job] = [:]
        var position: SequenceNumber = 0
        /// Whether all was read that was there when it began to follow.
        var hasBegun = false
        var following: Following?
        var isClosed = false
    }

    private let queue = DispatchQueue(label: "divan.listener.replicator")
    private let state = Mutex(State())

    /// The documents with what became of them, by their IDs.
    var jobs: [(id: DocumentID, job: Job)] {
        state.withLock { $0.jobs }.sorted { $0.key < $1.key }.map { (id: $0.key, job: $0.value) }
    }

    /// What became of one document.
    func job(_ id: DocumentID) -> Job? { state.withLock { $0.jobs[id] } }

    /// Begins to follow the database, where there is one, and opens it for that; doing so again is fine.
    func follow(_ site: Site) {
        guard state.withLock({ $0.following?.database.isClosed ?? true }) else { return }
        do {
            _ = try site.manager.existingDatabase(named: SystemDatabase.replicator.rawValue)
        } catch {
            Log.listener.error("The database '_replicator' could not be opened: \(error)")
        }
        look(site)
    }

    /// Stops following the database. The replications are ended by `RunningReplications`.
    func close() {
        let following = state.withLock { state in
            state.isClosed = true
            defer { state.following = nil }
            return state.following
        }
        following?.token.remove()
    }

    /// What of a document describes the replication.
    static func request(in body: JSONObject) -> JSONObject {
        JSONObject(
            body.filter { !$0.key.hasBytePrefix("_") && !["user_ctx", "owner"].contains($0.key) })
    }

    /// In whose name a target here is written that is named without credentials: the document's
    /// `user_ctx`, or else the administrators, who alone write such documents.
    private static func author(of body: JSONObject) -> ListenerUser {
        guard let user = body["user_ctx"]?.object else {
            return ListenerUser(roles: [ListenerUser.adminRole])
        }
        let roles = (user["roles"]?.array ?? []).compactMap(\.string)
        return ListenerUser(name: user["name"]?.string, roles: NameSet(roles))
    }

    /// Ends a replication that runs and starts it anew, so that it reads what both ends know.
    func restart(_ id: DocumentID, _ site: Site) {
        queue.async { [weak self, weak site] in
            guard let self, let site, self.job(id)?.running != nil,
                let database = self.state.withLock({ $0.following?.database })
            else { return }
            self.cancel(id, site)
            do { try self.take(id, database, site) } catch {
                Log.listener.error(
                    "The document '\(id)' could not be read: \(Log.words(of: error))")
            }
        }
    }

    // MARK: - On the queue

    /// Reads what is new: after a commit, and when a database of this name is opened, made or gone.
    func look(_ site: Site) {
        guard !site.options.readOnly else { return }
        queue.async { [weak self, weak site] in
            guard let self, let site, !self.state.withLock({ $0.isClosed }) else { return }
            do { try self.readChanges(site) } catch let error as DatabaseError
                where error.code == .databaseClosed
            {
                // It went while it was read; its closing is told of, too.
                Log.listener.verbose("The database '_replicator' was closed.")
            } catch {
                Log.listener.error("The database '_replicator' could not be read: \(error)")
            }
        }
    }

    private func readChanges(_ site: Site) throws {
        guard let database = try followed(site) else { return }
        while true {
            let start = state.withLock { $0.position }
            let batch = try database.read { try $0.changes(since: start, limit: 1_000) }
            for change in batch.changes where !change.id.isDesign {
                try take(change.id, database, site)
            }
            state.withLock { $0.position = max($0.position, batch.lastSequence) }
            if batch.changes.isEmpty { return endBeginning(site) }
        }
    }

    /// From now on a document that changes is one that a client wants to run.
    private func endBeginning(_ site: Site) {
        let paused = state.withLock { state in
            defer { state.hasBegun = true }
            return state.hasBegun ? 0 : state.jobs.values.filter(\.isPaused).count
        }
        guard paused > 0 else { return }
        Log.listener.error(
            "The process died \(site.deaths.count) times in a row soon after replications of '_replicator' had started, so "
                + "\(paused) of them are paused; edit a document to start its replication, or stop the listener and start it."
        )
    }

    /// The database that is open under the name now, followed from its beginning where it is another one
    /// than before; nil when none is open.
    ///
    /// It is not opened here: the app may have closed it to replace it.
    private func followed(_ site: Site) throws -> Database? {
        if let known = state.withLock({ $0.following }) {
            if !known.database.isClosed { return known.database }
            // All of its documents are gone with it.
            for (id, _) in jobs { cancel(id, site) }
            state.withLock { state in
                state.following = nil
                state.position = 0
                state.hasBegun = false
            }
        }
        guard
            let database = site.manager.openedDatabase(named: SystemDatabase.replicator.rawValue)
        else { return nil }
        let token = try database.whenCommitted { [weak self, weak site] in
            guard let self, let site else { return }
            self.look(site)
        }
        let isFollowed = state.withLock { state in
            guard !state.isClosed else { return false }
            state.following = Following(database: database, token: token)
            return true
        }
        return isFollowed ? database : nil
    }

    private func take(_ id: DocumentID, _ database: Database, _ site: Site) throws {
        guard let document = try database.document(withID: id) else { return cancel(id, site) }
        guard state.withLock({ $0.jobs[id]?.revision }) != document.revisionID else { return }
        cancel(id, site)
        let body = document.body.jsonValue().object ?? [:]
        var job = Job(revision: document.revisionID, state: "initializing")
        if EdgeDocument(id) != nil {
            job.mark = body[EdgeDocument.mark]?.string
            job.isEdited = !EdgeDocument.isUnedited(body)
        }
        if let ended = body["_replication_state"]?.string, ["completed", "failed"].contains(ended) {
            job.state = ended
            job.reason = body["_replication_state_reason"]?.string
            job.statistics = body["_replication_stats"]?.object
            job.nameEnds(body, site)
            return state.withLock { $0.jobs[id] = job }
        }
        if site.deaths.isPausing, !state.withLock({ $0.hasBegun }) {
            return pause(job, id, body, site)
        }
        do {
            try start(&job, id, body, site)
        } catch {
            let failure = ErrorResponse.failure(for: error)
            state.withLock { $0.jobs[id] = job }
            guard failure.status != 503 else { return }
            if let seconds = failure.headers["Retry-After"].flatMap({ Double($0) }) {
                return startAgain(job, id, failure.reason, after: min(seconds, 3_600), site)
            }
            note("failed", failure.reason, id, job.revision, site)
        }
    }

    /// Keeps a replication from starting, and says so where clients look.
    private func pause(_ job: Job, _ id: DocumentID, _ body: JSONObject, _ site: Site) {
        var job = job
        job.isPaused = true
        job.deaths = site.deaths.count
        job.state = "crashing"
        job.reason =
            "The replication is paused, because the process died \(site.deaths.count) times in a row soon after replications of "
            + "'_replicator' had started; edit this document to start it, or stop the listener and start it."
        job.nameEnds(body, site)
        state.withLock { [job] in $0.jobs[id] = job }
    }

    /// Starts a replication anew after a refusal that ends by itself, such as that of a name that is locked for a while.
    private func startAgain(
        _ job: Job, _ id: DocumentID, _ reason: String, after seconds: Double, _ site: Site
    ) {
        let revision = job.revision
        state.withLock {
            $0.jobs[id]?.state = "crashing"
            $0.jobs[id]?.reason = reason
        }
        queue.asyncAfter(deadline: .now() + seconds) { [weak self, weak site] in
            guard let self, let site else { return }
            let database = self.state.withLock { state -> Database? in
                guard !state.isClosed, let job = state.jobs[id], job.running == nil,
                    job.revision == revision
                else { return nil }
                state.jobs[id] = nil
                return state.following?.database
            }
            guard let database else { return }
            do { try self.take(id, database, site) } catch {
                Log.listener.error(
                    "The document '\(id)' could not be read: \(Log.words(of: error))")
            }
        }
    }

    private func start(_ job: inout Job, _ id: DocumentID, _ body: JSONObject, _ site: Site) throws
    {
        site.deaths.noteStart()
        var request = try ReplicateRequest(Self.request(in: body), hosts: site.hosts)
        request.settings.retry.maximumAttempts = .max
        request.settings.retry.patience = nil
        if EdgeDocument(id) != nil { site.edge?.rules.sign(&request) }
        (job.source, job.target) = (request.source.label, request.target.label)
        guard let replication = try site.makeReplication(request, by: Self.author(of: body))
        else {
            throw HTTPFailure.missing
        }
        let new = RunningReplication(
            replication, request, site, user: body["user_ctx"]?["name"]?.string,
            number: site.replications.nextNumber(), documentID: id)
        let running = try site.replications.start(new)
        guard running === new else {
            throw HTTPFailure(
                409, "conflict",
                "The same replication was started already, by a request or another document.")
        }
        job.state = "running"
        job.running = running
        let (started, revision) = (job, job.revision)
        state.withLock { $0.jobs[id] = started }
        running.whenOver { [weak self, weak site] outcome in
            guard let self, let site else { return }
            self.queue.async { self.end(outcome, of: running, id, revision, site) }
        }
    }

    private func cancel(_ id: DocumentID, _ site: Site) {
        let job = state.withLock { $0.jobs.removeValue(forKey: id) }
        guard let running = job?.running else { return }
        _ = site.replications.cancel(running.id)
    }

    private func end(
        _ outcome: RunningReplication.Outcome, of running: RunningReplication, _ id: DocumentID,
        _ revision: RevisionID, _ site: Site
    ) {
        // A document of a new database may have the same revision: it is not about that one.
        guard state.withLock({ !$0.isClosed && $0.jobs[id]?.running === running }) else { return }
        switch outcome {
        case .done: note("completed", nil, id, revision, site)
        case .failed(let error):
            // It was cancelled because a client changed or removed the document, or because the listener stops.
            guard error.code != .cancelled else { return }
            note("failed", ErrorResponse.reason(for: error), id, revision, site)
        }
    }

    /// Writes into a document what became of it, unless it has changed meanwhile.
    private func note(
        _ word: String, _ reason: String?, _ id: DocumentID, _ revision: RevisionID, _ site: Site
    ) {
        let job = state.withLock { $0.jobs[id] }
        var statistics = job?.running?.statistics
        if let started = job?.started { statistics?["start_time"] = .string(HTTPDate.iso(started)) }
        do {
            guard
                let database = try site.manager.existingDatabase(
                    named: SystemDatabase.replicator.rawValue),
                let document = try database.document(withID: id),
                document.revisionID == revision
            else { return }
            let body = document.body.replacing([
                "_replication_state": .string(word),
                "_replication_state_time": .string(HTTPDate.iso(AccountsFile.now)),
                "_replication_state_reason": reason.map { .string($0) },
                "_replication_id": (job?.running).map {
                    .string($0.replication.checkpointID)
                },
                "_replication_stats": statistics.map { .object($0) },
            ])
            let saved = try database.put(id, body: body, parent: revision, isDeleted: false)
            state.withLock { state in
                state.jobs[id]?.revision = saved.revisionID
                state.jobs[id]?.state = word
                state.jobs[id]?.reason = reason
                state.jobs[id]?.updated = AccountsFile.now
                state.jobs[id]?.statistics = statistics
                state.jobs[id]?.running = nil
            }
        } catch {
            Log.listener.error(
                "The state of '\(id)' in '_replicator' could not be written: \(Log.words(of: error))"
            )
        }
    }
}
