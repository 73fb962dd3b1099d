// SPDX-License-Identifier: Apache-2.0

package import DivanDatabase
internal import DivanDesign
internal import DivanHTTP
internal import DivanJSON
internal import DivanLogging
internal import DivanSystem
internal import Synchronization
internal import FoundationEssentials

/// What all requests to one listener share.
package final class Site: Sendable {
    /// The release of CouchDB whose answers these are.
    static let couchVersion = "3.4.3"
    /// How the listener names itself: in CouchDB's form, since clients look there for a CouchDB.
    static let serverName = "CouchDB/\(couchVersion) (Divan/\(Manager.version))"

    let manager: Manager
    let options: ListenerOptions
    let configuration: Configuration
    let accounts: Accounts
    let guardian: Guardian
    let cors: CORS
    let tasks: TaskList
    let verifications: Verifications
    /// The last entries of the log; nil without a console.
    let logTail: LogTail?
    let replications = RunningReplications()
    let replicator = ReplicatorDatabase()
    /// Keeps databases in step with a hub; nil where there is none.
    let edge: EdgeSupervisor?
    let updates: DatabaseUpdates
    let statistics: ListenerStatistics
    let uuids = UUIDSource()
    let deaths: EarlyDeaths
    private let ownHosts = Mutex<NameSet>([])
    private let address = Mutex<(host: String, port: UInt16)?>(nil)
    /// The system databases that a client has deleted, which do not come into being by themselves in this run.
    private let deleted: Mutex<Set<SystemDatabase>>
    private let opening = Mutex<ListenerToken?>(nil)
    private let hasEndedReplications = Atomic(false)
    let throttle: PasswordThrottle
    /// Tells when the disk is too full for edits.
    let disk: DiskMonitor
    /// How large partitions are, where that is limited.
    let partitions = PartitionSizes()
    /// Which sequences databases had at which times.
    let times = SequenceTimes()
    /// Purges what was deleted long ago.
    let purging = AutoPurge()
    /// The memory for bodies that are decoded and parsed.
    let memory: MemoryBudget
    /// The memory for bytes that wait on the network: bodies that come in, and answers that clients have not taken. It is
    /// apart, so that bodies that wait to be parsed leave room for those that are.
    let waitingBytes: MemoryBudget
    /// The memory for long documents that are being written as text.
    let longDocuments: MemoryBudget
    /// The room on the disk for answers that find none in memory.
    let answerFiles: MemoryBudget

    /// Gathers what requests share.
    ///
    /// - Parameters:
    ///   - manager: The manager whose databases are served.
    ///   - options: How they are served.
    ///   - former: What a listener shares that this one takes the place of: what goes on, was counted and was told stays.
    /// - Throws: `HTTPFailure` when the file of users is malformed; `DatabaseError` with code
    ///   `.invalidName` when the app's header fields are none, or belong to the protocol, or a hub makes no sense,
    ///   `.invalidQuery` when new databases are to keep no revision ID.
    package init(_ manager: Manager, _ options: ListenerOptions, succeeding former: Site? = nil)
        throws
    {
        deleted = Mutex(former?.deleted.withLock { $0 } ?? [])
        tasks = former?.tasks ?? TaskList()
        verifications = former?.verifications ?? Verifications()
        logTail = options.console.map { _ in LogTail.shared }
        updates = former?.updates ?? DatabaseUpdates()
        statistics = former?.statistics ?? ListenerStatistics()
        try Self.check(options.responseHeaders)
        if let limit = options.revisionLimit {
            try DatabaseError.check(keeping: limit, "revision IDs of a branch")
        }
        self.manager = manager
        self.options = options
        let directory = manager.directory.path(percentEncoded: false)
        configuration = try Configuration(directory: directory, options: options)
        cors = CORS(configuration: configuration)
        disk = DiskMonitor(directory)
        throttle = PasswordThrottle { [configuration] in configuration.settings.lockout }
        memory = MemoryBudget(capacity: options.limits.memory / 8 * 5)
        waitingBytes = MemoryBudget(capacity: options.limits.memory / 4)
        longDocuments = MemoryBudget(capacity: options.limits.memory / 8)
        answerFiles = MemoryBudget(capacity: options.limits.requestBody)
        deaths = EarlyDeaths(directory: directory)
        edge = try options.hub.map { try EdgeSupervisor($0) }
        switch options.access {
        case .everybodyOnLoopback:
            accounts = try Accounts(directory: directory, configuration: configuration)
        case .users(let passwords):
            let users: @Sendable () -> Database? = { [manager, configuration] in
                manager[configuration.usersDatabase]
            }
            accounts = try Accounts(
                directory: directory, passwords: passwords, configuration: configuration,
                isBlocked: { name in UserDocument.isBlocked(name, in: users()) },
                others: { name in UserDocument.account(name, in: users()) },
                moreRoles: { name in UserDocument.roles(name, in: users()) })
        }
        var allowsAnonymousAdmin = false
        if case .everybodyOnLoopback = options.access { allowsAnonymousAdmin = true }
        guardian = Guardian(
            allowsAnonymousAdmin: allowsAnonymousAdmin, anonymous: ListenerUser(),
            accounts: accounts, throttle: throttle, statistics: statistics,
            cors: cors, tokens: options.tokens, proxy: options.proxy,
            certificates: options.clientCertificates, devices: options.devices)
        let token = manager.whenOpened { [weak self] database in
            guard let self else { return }
            self.prepare(database)
            if self.edge?.rules.isChosen(database.name) ?? false { self.edge?.lookSoon() }
            guard SystemDatabase(rawValue: database.name) == .replicator else { return }
            self.replicator.look(self)
        }
        opening.withLock { $0 = token }
    }

    // Not by bytes: names of header fields are ASCII, which is checked here.
    /// Refuses header fields that would break the answers that they stand in.
    private static func check(_ headers: [String: String]) throws {
        let reserved = ["connection", "content-length", "date", "transfer-encoding"]
        for name in headers.keys {
            guard HTTPHeaders.isName(name), !reserved.contains(name.lowercased()) else {
                throw DatabaseError(
                    .invalidName,
                    "'\(name)' cannot be a header field of a listener's answers; choose another name."
                )
            }
        }
    }

    /// Has the functions of a database's design documents run, unless the app has said what runs them.
    func prepare(_ database: Database) {
        if systemDatabase(named: database.name) == .users { UsersDesign.register(in: database) }
        guard database.designDocuments.isUndecided else { return }
        database.designDocuments.enable(
            options.scripts, validates: true, makesIndexes: !options.readOnly)
    }

    /// Makes a database.
    func create(_ name: String, partitioned: Bool = false) throws {
        let database = try manager.createDatabase(named: name, partitioned: partitioned)
        if let limit = options.revisionLimit { try database.setRevisionLimit(limit) }
        if systemDatabase(named: name) == .users { try takeUsers(database) }
        if let system = SystemDatabase(rawValue: name) {
            deleted.withLock { _ = $0.remove(system) }
        }
        updates.note(.created, name)
    }

    /// Deletes a database.
    func delete(_ name: String) throws {
        guard manager.databaseExists(named: name) else { throw HTTPFailure.noDatabase }
        try manager.deleteDatabase(named: name)
        if let system = SystemDatabase(rawValue: name) {
            deleted.withLock { _ = $0.insert(system) }
        }
        verifications.forget(name)
        updates.note(.deleted, name)
    }

    /// Whether a system database that is not there comes into being when it is needed: unless a
    /// client has deleted it in this run, as in CouchDB, which makes those when it starts.
    func makesByItself(_ system: SystemDatabase) -> Bool {
        system != .globalChanges && !options.readOnly && !deleted.withLock { $0.contains(system) }
    }

    /// Begins the work that no request asks for: replications that documents describe.
    ///
    /// - Parameters:
    ///   - host: The host that the listener is bound to.
    ///   - port: Its port.
    func begin(host: String, port: UInt16) {
        address.withLock { $0 = (host, port) }
        let hosts = ReachableHosts.all(host, LocalAddresses.all).map { "\($0):\(port)" }
        ownHosts.withLock { $0.formUnion(NameSet(hosts)) }
        replicator.follow(self)
        edge?.begin(self)
        purging.begin(self)
    }

    /// The listener ends: what other devices know of it no longer leads here.
    func endListening() { address.withLock { $0 = nil } }

    /// The hosts by which other devices reach the listener, an IPv6 address without brackets.
    var reachableHosts: [String] {
        guard let host = address.withLock({ $0?.host }) else { return [] }
        return ReachableHosts.of(host, LocalAddresses.all).map { host in
            host.filter { $0 != "[" && $0 != "]" }
        }
    }

    /// The listener as its devices see it.
    package var deviceSite: DeviceSite {
        DeviceSite(
            manager: manager, hosts: reachableHosts, port: address.withLock { $0?.port ?? 0 },
            fingerprint: options.tls?.fingerprint
        ) { [weak self] in self?.address.withLock { $0 != nil } ?? false }
    }

    /// What clients call the listener.
    var hosts: [String] { ownHosts.withLock { Array($0) } }

    /// Notes what an administrator calls the listener; a few such names are enough, and the longest name of a host has 253
    /// bytes.
    func note(host: String) {
        guard host.utf8.count <= 300 else { return }
        ownHosts.withLock { if $0.count < 100 { $0.insert(host) } }
    }

    /// Checks a request that the listener makes to itself in a client's name, as it would check one from outside.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - name: The database.
    ///   - path: What stands behind the database in the path.
    ///   - user: Who makes it.
    /// - Returns: The call, of which nothing was done yet.
    /// - Throws: `HTTPFailure` 401 or 403 where the user may not make it, 404 where there is no such database.
    @discardableResult
    func authorise(_ method: String, _ name: String, _ path: [String], as user: ListenerUser)
        throws -> Call
    {
        let text = ([name] + path).map { "/" + PercentEncoding.encode($0) }.joined()
        let head = RequestHead(method: method, target: text)
        let target = try RequestTarget(text)
        let resource = Resource(target.components)
        guard let route = Router.routes[resource.pattern]?[method] else {
            throw HTTPFailure.missing
        }
        var call = Call(
            site: self, request: ListenerRequest(head), target: target, resource: resource,
            user: user)
        if method != "PUT" || !path.isEmpty {
            call.openDatabase = try manager.existingDatabase(named: name)
            prepare(try call.database)
        }
        try call.checkAccess(route)
        return call
    }

    /// Ends the replications that clients started, and those that documents describe; the first time only, since those
    /// of a successor may run then.
    ///
    /// - Parameter limit: How long to wait until they have saved their checkpoints.
    func endReplications(within limit: Duration) {
        guard !hasEndedReplications.exchange(true, ordering: .relaxed) else { return }
        purging.end()
        edge?.close()
        replicator.close()
        replications.close(within: limit)
        deaths.forget()
    }

    /// Ends what goes on between requests.
    func end() {
        opening.withLock { $0 = nil }
        memory.close()
        longDocuments.close()
        endReplications(within: .zero)
    }
}

/// The long work that a listener does in the background: what `_active_tasks` shows.
///
/// State: `tasks`, guarded by its mutex.
final class TaskList: Sendable {
    private struct Task {
        var type: String
        var database: String
        var started = AccountsFile.now
        var updated = AccountsFile.now
        var completed = 0
        var total: Int?
    }

    private static let workers = WorkerPool("divan.listener.tasks", width: 4)
    private let tasks = Mutex<[Int: Task]>([:])
    private let count = Atomic<Int>(0)

    /// Does work in the background, unless the same is being done; tells which.
    @discardableResult
    func start(
        _ type: String, _ database: String,
        _ work:
            @escaping @Sendable (
                _ report: @escaping @Sendable (_ completed: Int, _ total: Int?) -> Void
            ) throws -> Void
    ) -> Bool {
        let number = count.add(1, ordering: .relaxed).newValue
        let isNew = tasks.withLock { tasks in
            guard
                !tasks.values.contains(where: {
                    $0.type == type && $0.database.hasSameBytes(as: database)
                })
            else { return false }
            tasks[number] = Task(type: type, database: database)
            return true
        }
        guard isNew else { return false }
        Self.workers.run {
            defer { self.tasks.withLock { _ = $0.removeValue(forKey: number) } }
            do {
                try work { completed, total in
                    self.tasks.withLock { tasks in
                        tasks[number]?.completed = completed
                        tasks[number]?.total = total
                        tasks[number]?.updated = AccountsFile.now
                    }
                }
            } catch let error as DatabaseError where error.code == .databaseClosed {
                Log.listener.info("The task \(type) ended with its database '\(database)'.")
            } catch {
                Log.listener.error(
                    "The task \(type) of the database '\(database)' failed: \(Log.words(of: error))"
                )
            }
        }
        return true
    }

    /// The tasks as `_active_tasks` lists them.
    var list: [JSONValue] {
        tasks.withLock { tasks in
            tasks.sorted { $0.key < $1.key }.map { number, task in
                var value: JSONObject = [
                    "pid": .string("<0.\(number).0>"), "type": .string(task.type),
                    "database": .string(task.database), "started_on": .integer(task.started),
                    "updated_on": .integer(task.updated),
                    "changes_done": JSONValue(task.completed),
                ]
                if let total = task.total {
                    value["total_changes"] = JSONValue(total)
                    value["progress"] = .integer(
                        Int64(
                            clamping: total > 0
                                ? task.completed.multipliedSaturated(by: 100) / total : 100))
                }
                return .object(value)
            }
        }
    }
}
