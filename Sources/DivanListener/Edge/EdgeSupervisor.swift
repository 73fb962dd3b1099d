// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanLogging
internal import DivanModel
internal import DivanReplication
internal import DivanSystem
internal import Synchronization

/// Keeps databases in step with a hub: looks again and again whether all is as a `ListenerHub` says, and puts right what is not.
///
///     a look ──► the hub's name for itself, its databases, the databases here, the users here
///        │
///        ├─ a database is wanted ──► made where it is missing ──► its two documents are written into `_replicator`
///        ├─ the hub had it, and has it no more ──► its documents are ended; it stays here
///        ├─ it is wanted no more ──► its documents are removed; it stays on both sides
///        ├─ a document was removed, or its replication has failed ──► written anew
///        └─ the hub was away ──► pushes begin anew: another server may stand there now, or it may be restored
///
/// The replications are those of `ReplicatorDatabase`. This type only writes documents, so that administrators see with the
/// usual means what an edge does, and change it.
///
/// 1. Nothing is deleted on either side but documents that the edge has written itself.
/// 2. A look that does not learn all that it asks for removes nothing.
/// 3. A database that is missing at a hub is made there, unless a server of the same name for itself has had it: that one has
///    deleted it. A hub that was replaced calls itself by another name, and gets everything again.
/// 4. What an administrator has edited stays as it is.
///
/// State: `state`, guarded by its mutex. Looks follow one another in one task.
final class EdgeSupervisor: Sendable {
    private struct State {
        var report = EdgeReport()
        /// How many conversations each pull had begun at the last look, by the number of its replication.
        var runs: [Int: Int] = [:]
        var tasks: [Task<Void, Never>] = []
        var isClosed = false
    }

    let rules: EdgeRules
    private let state = Mutex(State())
    private let (wishes, wish) = AsyncStream.makeStream(
        of: Void.self, bufferingPolicy: .bufferingNewest(1))

    init(_ hub: ListenerHub) throws { rules = try EdgeRules(hub) }

    /// What was found out so far.
    var report: EdgeReport { state.withLock { $0.report } }

    /// Begins to look.
    func begin(_ site: Site) {
        let (wishes, wish, interval) = (
            wishes, wish, max(rules.hub.interval.bounded, .milliseconds(10))
        )
        let looks = Task { [weak self, weak site] in
            for await _ in wishes {
                guard let self, let site, !Task.isCancelled else { return }
                await self.look(site)
            }
        }
        let clock = Task {
            while !Task.isCancelled {
                wish.yield()
                try? await Task.sleep(for: interval)
            }
        }
        let isClosed = state.withLock { state in
            if !state.isClosed { state.tasks = [looks, clock] }
            return state.isClosed
        }
        if isClosed { for task in [looks, clock] { task.cancel() } }
    }

    /// Looks soon: a database was made here.
    func lookSoon() { wish.yield() }

    /// Ends looking. The replications go on.
    func close() {
        let tasks = state.withLock { state in
            state.isClosed = true
            defer { state.tasks = [] }
            return state.tasks
        }
        for task in tasks { task.cancel() }
        wish.finish()
    }

    // MARK: - A look

    private func look(_ site: Site) async {
        state.withLock { $0.report.looked = AccountsFile.now }
        do {
            let server = try RemoteServer(rules.base, rules.settings)
            var look = Look(site: site, server: server, memory: try Self.memory(site))
            look.uuid = try await server.uuid() ?? ""
            try await followAll(&look)
            guard !Task.isCancelled else { return }
            try removeOthers(look)
            try remember(look)
            restartPushes(look)
            note(.reached, nil, look.entries)
        } catch let error as ReplicationError {
            let isRefusal = [.unauthorized, .forbidden].contains(error.code)
            note(isRefusal ? .refused : .unreachable, error.message, nil)
        } catch let error as DatabaseError where error.code == .databaseClosed {
            // It went meanwhile; the next look finds what there is.
            Log.listener.verbose("A database was closed while the edge looked at it.")
        } catch is CancellationError {
            // The listener stops.
        } catch {
            note(.unknown, ErrorResponse.failure(for: error).reason, nil)
            Log.listener.error(
                "The edge could not look after its databases: \(Log.words(of: error))")
        }
        await countWaiting(site)
    }

    /// Starts pushes anew whose hub was away, which their pulls have noticed. A push that has nothing to bring does not notice it,
    /// and a hub that was away may be another one, or restored from a backup, and lack what it had.
    private func restartPushes(_ look: Look) {
        let known = state.withLock { $0.runs }
        var runs: [Int: Int] = [:]
        for (name, entry) in look.entries where entry.state == .followed {
            guard let pull = look.site.replicator.job(EdgeDocument(.pull, name).id)?.running else {
                continue
            }
            let before = known[pull.number] ?? 1
            // While it does not reach the hub it begins again and again.
            let isAway = pull.replication.activity == .offline
            let now = isAway ? before : pull.replication.runCount
            runs[pull.number] = now
            if now > before {
                look.site.replicator.restart(EdgeDocument(.push, name).id, look.site)
            }
        }
        state.withLock { [runs] in $0.runs = runs }
    }

    /// Counts what waits here while the hub is away.
    private func countWaiting(_ site: Site) async {
        var waiting: NameMap<Int> = [:]
        for (id, job) in site.replicator.jobs {
            guard let name = EdgeDocument(id)?.name, let replication = job.running?.replication,
                replication.direction == .push, replication.activity == .offline
            else { continue }
            // A database that was closed meanwhile has nothing that waits.
            waiting[name] = try? await replication.pendingChangeCount()
        }
        state.withLock { [waiting] in $0.report.waiting = waiting }
    }

    /// A server that may be another one than before lacks a database, which cannot be made there.
    private struct Lack: Error {
        let error: ReplicationError
    }

    /// What one look knows.
    struct Look {
        let site: Site
        let server: RemoteServer
        /// The names by which servers have called themselves that had all databases.
        var memory: NameSet
        /// What the server calls itself now; empty where it has no name.
        var uuid = ""
        /// The databases that it has listed.
        var listed: NameSet = []
        var entries: NameMap<EdgeReport.Entry> = [:]
        /// Whether the server lacks a database that the edge has followed, or may do so.
        var isIncomplete = false

        /// Whether the server has had the databases that are followed.
        var isKnown: Bool { memory.contains(uuid) }
    }

    private func note(
        _ reach: EdgeReport.Reach, _ reason: String?, _ entries: NameMap<EdgeReport.Entry>?
    ) {
        let isNew = state.withLock { state in
            let isNew = state.report.reach != reach
            state.report.reach = reach
            state.report.reason = reason
            if let entries { state.report.entries = entries }
            if reach == .reached { state.report.reached = AccountsFile.now }
            return isNew
        }
        guard isNew else { return }
        switch reason {
        case nil: Log.listener.info("The hub \(rules.base) was reached.")
        case let reason?: Log.listener.warning("The hub is \(reach): \(reason)")
        }
    }

    private func followAll(_ look: inout Look) async throws {
        for name in try await wanted(&look) {
            try Task.checkCancellation()
            // It is asked for by its name, which must not lead elsewhere.
            guard EdgeRules.isName(name) else {
                look.entries[name] = EdgeReport.Entry(
                    state: .refused, reason: "No database can have this name.")
                continue
            }
            do {
                look.entries[name] = try await follow(name, look)
            } catch let error as ReplicationError where error.status != nil {
                // The hub is there, and does not give this one.
                look.entries[name] = EdgeReport.Entry(state: .refused, reason: error.message)
                if error.isTransient { look.isIncomplete = true }
            } catch let lack as Lack {
                look.entries[name] = EdgeReport.Entry(state: .refused, reason: lack.error.message)
                look.isIncomplete = true
            } catch let error where error is DatabaseError || error is HTTPFailure {
                // The others have nothing to do with it.
                look.entries[name] = EdgeReport.Entry(
                    state: .refused, reason: ErrorResponse.failure(for: error).reason)
                look.isIncomplete = true
            }
        }
        guard rules.hub.carriesUsers else { return }
        try followUsers(look.site)
        look.entries[SystemDatabase.users.rawValue] = EdgeReport.Entry(state: .followed)
    }

    /// The names of the databases that are to be followed.
    private func wanted(_ look: inout Look) async throws -> [String] {
        var names = NameSet()
        let limit = ListenerHub.mostDatabases
        let here = try look.site.manager.allDatabaseNames()
        for pattern in rules.chosen {
            guard !pattern.isName else {
                names.insert(pattern.text)
                continue
            }
            let there = try await look.server.databaseNames(
                beginning: pattern.prefix, limit: limit
            ) { pattern.matches($0) && !rules.isLeftOut($0) }
            look.listed.formUnion(NameSet(there))
            for name in there + here where pattern.matches(name) { names.insert(name) }
        }
        if rules.hub.followsUsers {
            // Where clients may sign up, their number must not end the rest.
            let room = max(0, limit.subtractingSaturated(names.count))
            for name in try Self.users(look.site).prefix(room) {
                names.insert(EdgeRules.database(ofUser: name))
            }
        }
        let site = look.site
        // Nor those that the listener has for itself, such as one of users.
        let wanted = names.filter { name in
            name.utf8.first != UInt8(ascii: "_") && !rules.isLeftOut(name)
                && site.systemDatabase(named: name) == nil
        }
        guard wanted.count <= limit else {
            throw ReplicationError(
                .invalidSetting,
                "An edge follows \(limit) databases at most, and \(wanted.count) are meant; narrow the patterns."
            )
        }
        return wanted.sorted()
    }

    // MARK: - One database

    private func follow(_ name: String, _ look: Look) async throws -> EdgeReport.Entry {
        let documents = EdgeDocument.Direction.allCases.map { EdgeDocument($0, name) }
        let replicator = try Self.replicator(look.site)
        let stored = try documents.map { try replicator.document(withID: $0.id) }
        let database = try look.site.manager.existingDatabase(named: name)
        let had = stored.contains { $0 != nil }
        if database != nil, !stored.contains(nil), isFine(name, documents, look) {
            try store(try await wantedSecurity(name, look), name, look)
            return EdgeReport.Entry(state: .followed)
        }
        let information = try await look.server.information(of: name)
        if information == nil, had, look.isKnown {
            for (document, stored) in zip(documents, stored) {
                try end(document, stored, in: replicator)
            }
            return EdgeReport.Entry(
                state: .deleted,
                reason:
                    "The hub has deleted it; delete the documents 'hub-pull-\(name)' and 'hub-push-\(name)' of "
                    + "'_replicator' to make it there again.")
        }
        if information == nil {
            do {
                try await look.server.create(name, partitioned: database?.isPartitioned ?? false)
            } catch let error as ReplicationError where had && error.status != nil {
                throw Lack(error: error)
            }
            if rules.hub.followsUsers, let security = Self.security(ofOwnerOf: name) {
                try await look.server.setSecurity(security, of: name)
            }
        }
        // Known before the database is made here: it must not be open to all meanwhile.
        let security = try await wantedSecurity(name, look)
        if database == nil {
            try look.site.create(name, partitioned: information?.isPartitioned ?? false)
        }
        try store(security, name, look)
        for (document, stored) in zip(documents, stored) {
            try write(document, stored, in: replicator, look.site)
            // What waits for a hub that was away, or for the database, need not wait any longer.
            guard information == nil || !look.isKnown || report.reach != .reached else { continue }
            look.site.replicator.job(document.id)?.running?.replication.retryNow()
        }
        return EdgeReport.Entry(state: .followed)
    }

    /// Whether both replications of a database run by these rules, and nothing says that the hub does not have it. A
    /// server that is asked for the first time may lack it though they have not noticed yet.
    private func isFine(_ name: String, _ documents: [EdgeDocument], _ look: Look) -> Bool {
        guard look.isKnown else { return false }
        let isListed = look.listed.contains(name)
        guard isListed || !rules.isChosenByList(name) else { return false }
        return documents.allSatisfy { document in
            guard let job = look.site.replicator.job(document.id), let running = job.running,
                job.isEdited || job.mark.hasSameBytes(as: document.digest(rules))
            else { return false }
            return isListed || running.replication.activity != .offline
        }
    }

    /// Who may use a database, as the hub or its name says; nil where neither does.
    ///
    /// - Throws: `ReplicationError` where the hub does not tell; the database is then not followed.
    private func wantedSecurity(_ name: String, _ look: Look) async throws -> JSONObject? {
        var wanted: JSONObject?
        if rules.hub.carriesSecurity {
            let security = try await look.server.security(of: name)
            _ = try SecurityObject(security)
            wanted = security
        }
        guard rules.hub.followsUsers, let own = Self.security(ofOwnerOf: name) else {
            return wanted
        }
        return try SecurityObject(wanted ?? [:]).isForAll ? own : wanted
    }

    /// Stores who may use a database, unless that is so; what a name says counts only where nothing is set.
    private func store(_ security: JSONObject?, _ name: String, _ look: Look) throws {
        guard let security, let database = try look.site.manager.existingDatabase(named: name)
        else { return }
        let stored = try SecurityObject.stored(in: database)
        guard security != stored, rules.hub.carriesSecurity || stored.isEmpty else { return }
        try SecurityObject.store(security, in: database)
    }

    private func followUsers(_ site: Site) throws {
        let name = SystemDatabase.users.rawValue
        if !site.manager.databaseExists(named: name) { try site.create(name) }
        let document = EdgeDocument(.pull, name)
        let replicator = try Self.replicator(site)
        try write(document, try replicator.document(withID: document.id), in: replicator, site)
    }
}
