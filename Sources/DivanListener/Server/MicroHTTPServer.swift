// SPDX-License-Identifier: Apache-2.0

internal import CMicroHTTPD
internal import Dispatch
internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanLogging
internal import DivanSystem
internal import FoundationEssentials
internal import Synchronization

/// An `HTTPServer` on libmicrohttpd: one thread waits for all sockets, a few work.
///
///     the daemon's thread                     workers                     Deadlines
///       target, head ──► Exchange.begin
///       body, piece by piece ──► memory, then a file
///       end of body: short? ──► answer
///                    suspend ──────────────► respond
///            ◄───────────────────── resume ─ answer
///       sends it; a piece is wanted: suspend ► producer.next()
///            ◄───────────────────── resume ─ .bytes
///       sends it; a piece is wanted: suspend ► producer.next()
///                                             .wait ─────────────────────► parked
///                                                       a commit, or time ◄─
///            ◄───────────────────── resume ─ .bytes …
///
/// No handler that may take long runs on the daemon's thread, so a slow one delays no other client. What takes
/// less time than waking a worker and being woken by it, such as reading a document, is answered there
/// (`Router.answerAtOnce`), which by itself took a fifth off a GET. A suspended connection costs its buffers and
/// no thread. The library does not look at suspended connections: every five seconds a
/// *sweep* asks the system whether their clients are gone, and closes connections that are silent or
/// too slow.
///
/// ## Invariants
///
/// 1. A connection is suspended exactly while an `Exchange` of it is with the workers or parked, and
///    resumed exactly once for each time.
/// 2. All connections are resumed before the daemon is stopped; no callback comes after.
/// 3. A descriptor is shut down only under the lock that its end waits for, so never another one that
///    got its number.
///
/// State: `state`, guarded by its mutex; connections and exchanges guard their own.
final class MicroHTTPServer: HTTPServer {
    private struct State {
        var daemon: Daemon?
        var sweeper: (any DispatchSourceTimer)?
        var table = ConnectionTable()
        /// The most connections now: fewer than `mostConnections` after the process has run short of
        /// descriptors, until the next sweep.
        var most: Int
    }

    /// So many connections beyond the limit are taken for the moment in which others are closed for them.
    private static let spare: UInt32 = 64
    private static let processors = ProcessInfo.processInfo.activeProcessorCount
    /// So many clients wait for their passwords to be checked; the next one is told to come again.
    private static let mostSigningIn = 64

    /// The handle of the library's daemon.
    @safe
    // Safe because the library's functions for a daemon may be called from any thread.
    struct Daemon: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    let handler: any HTTPRequestHandler
    let limits: ListenerLimits
    let isSecure: Bool
    private let clientCertificates: ListenerClientCertificates?
    private let knowsDevices: Bool
    let port: UInt16
    private let readers: TurnPool
    private let feeders: TurnPool
    private let writers: TurnPool
    private let waiters: WorkerPool
    private let signers: TurnPool
    private let scripts: TurnPool
    private let functions: TurnPool
    private let heavy: TurnPool
    let deadlines: Deadlines
    private let state: Mutex<State>
    private let stops = Atomic(false)
    private let finishes = Atomic(false)
    /// The listening socket that the library has given back; -1 while it has it. It is closed when the library has stopped.
    private let returned = Atomic<Int32>(-1)
    /// The most connections: some of the process's descriptors are left for databases, and for bodies and answers in files.
    private let mostConnections: Int
    /// A connection with this descriptor, or a higher one, is one of the last that the process could take.
    private let lastDescriptor: Int

    /// Starts serving on a socket, which it closes in the end.
    ///
    /// - Throws: `DatabaseError` with code `.io` when the library refuses: a certificate that does not fit
    ///   its key, say.
    init(
        _ socket: ListeningSocket, _ handler: any HTTPRequestHandler, _ limits: ListenerLimits,
        tls: ListenerTLS?, clientCertificates: ListenerClientCertificates? = nil,
        knowsDevices: Bool = false
    ) throws {
        self.handler = handler
        self.clientCertificates = clientCertificates
        self.knowsDevices = knowsDevices
        self.limits = limits
        let descriptors = Descriptors.limit
        mostConnections = max(
            1, min(limits.connections, max(16, descriptors - max(64, descriptors / 4))))
        lastDescriptor = descriptors - max(16, descriptors / 8)
        state = Mutex(State(most: mostConnections))
        isSecure = tls != nil
        port = socket.port
        let workers = limits.workerCount
        readers = Self.sharedPool("readers", workers)
        // Hundreds of feeds have something to tell at the same moment.
        feeders = Self.sharedPool("feeders", max(2, Self.processors / 2))
        // A request keeps its thread while it waits for its database's writer. Two of a database may share a commit;
        // of eight databases all must be stuck before any other waits.
        let mostOfOne = max(2, workers / 4)
        writers = TurnPool(
            "divan.listener.writers", width: mostOfOne * 8, mostOfOne: mostOfOne)
        waiters = WorkerPool("divan.listener.waiters", width: workers * 4)
        // Fewer, since each holds memory.
        heavy = Self.sharedPool("heavy", mostOfOne)
        // Hashing passwords may keep half of the processors busy, or the only one.
        signers = TurnPool(
            "divan.listener.signers", width: min(workers, Self.processors / 2),
            mostWaiting: Self.mostSigningIn)
        // Each holds a snapshot of its database while it runs, and a database lends sixteen at a time. One function
        // has two at most, so four must block before any other of their database waits.
        scripts = Self.sharedPool("scripts", workers, mostOfName: mostOfOne)
        functions = Self.sharedPool("functions", workers, mostOfName: 2)
        let queue = DispatchQueue(label: "divan.listener.timer")
        deadlines = Deadlines(queue)
        let daemon = unsafe Self.start(
            socket, limits, tls,
            // A device's own certificate leads to no authority: the listener's stands there so that it is asked for one.
            clientCertificates?.anchors ?? (knowsDevices ? tls?.certificate : nil),
            Unmanaged.passUnretained(self).toOpaque())
        guard let daemon else {
            // With TLS the library may have closed it, and its number may be that of another file by now.
            if tls == nil { socket.close() }
            throw DatabaseError(
                .io, "The listener's server could not start; check that key and certificate fit.")
        }
        state.withLock { state in
            state.daemon = daemon
            let sweeper = DispatchSource.makeTimerSource(queue: queue)
            let seconds = Double(Self.sweepSeconds)
            sweeper.schedule(
                deadline: .now() + seconds, repeating: seconds, leeway: .milliseconds(500))
            sweeper.setEventHandler { [weak self] in self?.sweep() }
            sweeper.activate()
            state.sweeper = sweeper
        }
    }

    /// Makes a pool of which a database has at most so many threads, and a name of one at most so many of those.
    ///
    /// A query waits for its database's writer where an index is to be brought up to date, and keeps its thread. One
    /// database may keep all processors busy; four must be stuck before any other waits.
    private static func sharedPool(_ label: String, _ most: Int, mostOfName: Int = .max)
        -> TurnPool
    {
        TurnPool(
            "divan.listener." + label, width: most * 4, mostOfOne: most, mostOfName: mostOfName)
    }

    deinit { stop() }

    /// Has a worker do something for a request.
    ///
    /// - Parameters:
    ///   - lane: Where it waits for its turn.
    ///   - head: The head of the request, which says whose turn it is where that counts.
    ///   - refused: Called in place of the work when too many wait already.
    ///   - work: The work.
    func run(
        _ lane: Router.Lane, for head: RequestHead, refused: @escaping @Sendable () -> Void,
        _ work: @escaping @Sendable () -> Void
    ) {
        switch lane {
        case .reading(let database): readers.run(for: Turn(owner: database), work)
        case .writing(let database): writers.run(for: Turn(owner: database), work)
        case .long: waiters.run(work)
        case .heavy(let database, _): heavy.run(for: Turn(owner: database), work)
        case .signingIn(let name):
            signers.run(for: Turn(owner: head.network, name: name), refused: refused, work)
        case .scripted(let database, let design, _):
            scripts.run(for: Turn(owner: database, name: design), work)
        }
    }

    /// Has a worker make a piece of an answer about a database, or about none, which is the empty name.
    func produce(
        in lane: ProductionLane, of database: String, _ work: @escaping @Sendable () -> Void
    ) {
        switch lane {
        case .answers: readers.run(for: Turn(owner: database), work)
        case .feeds: feeders.run(for: Turn(owner: database), work)
        case .function(let name): functions.run(for: Turn(owner: database, name: name), work)
        }
    }

    private static func start(
        _ socket: ListeningSocket, _ limits: ListenerLimits, _ tls: ListenerTLS?,
        _ clientAnchors: String?, _ context: UnsafeMutableRawPointer
    ) -> Daemon? {
        var options = unsafe divan_httpd_options()
        unsafe options.socket = socket.descriptor
        // A few more, so that a new one is seen and a silent one makes room for it.
        unsafe options.connections = UInt32(clamping: max(1, limits.connections)) &+ Self.spare
        unsafe options.timeout = UInt32(clamping: limits.idle.bounded.components.seconds)
        // Room for the longest head, and behind it for that of the answer, which has whatever a shorter
        // one leaves. Each connection has so much, so it is what thousands of feeds that wait cost.
        unsafe options.memory = room(limits)
        unsafe options.context = context
        unsafe MicroHTTPCallbacks.install(&options)
        // SAFETY: the texts live through the call, which copies what it keeps. The context lives until
        // `stop`, after which no callback comes.
        func start() -> Daemon? {
            unsafe divan_httpd_start(&options).map { unsafe Daemon(pointer: $0) }
        }
        guard let tls else { return start() }
        return unsafe tls.key.withCString { key in
            unsafe tls.certificate.withCString { certificate in
                unsafe options.key = unsafe key
                unsafe options.certificate = unsafe certificate
                guard let clientAnchors else { return start() }
                return unsafe clientAnchors.withCString { anchors in
                    unsafe options.clientAnchors = unsafe anchors
                    return start()
                }
            }
        }
    }

    /// The memory of a connection for the heads of a request and its answer, in bytes.
    static func room(_ limits: ListenerLimits) -> Int {
        max(limits.headLength, 4 << 10) + (2 << 10)
    }

    var connectionCount: Int { state.withLock { $0.table.connections.count } }

    /// Whether the server is going down.
    var isStopping: Bool { stops.load(ordering: .sequentiallyConsistent) }

    /// Whether no further request is wanted on a connection.
    var isFinishing: Bool { finishes.load(ordering: .sequentiallyConsistent) }

    func stop() {
        // Before the exchanges are counted: one that comes later sees it.
        stops.store(true, ordering: .sequentiallyConsistent)
        let (daemon, exchanges) = state.withLock { state in
            defer { state.daemon = nil }
            state.sweeper?.cancel()
            state.sweeper = nil
            return (state.daemon, state.table.connections.values.compactMap(\.occupation.exchange))
        }
        guard let daemon else { return }
        deadlines.stop()
        // Those with the workers are resumed by them: they see that the server stops.
        for exchange in exchanges { exchange.abandon() }
        for exchange in exchanges { exchange.waitUntilResumed() }
        // SAFETY: it was started, and is stopped once; it returns when its thread has ended.
        unsafe MHD_stop_daemon(daemon.pointer)
        let socket = returned.exchange(-1, ordering: .sequentiallyConsistent)
        if socket >= 0 { Descriptors.close(socket) }
    }

    func stopAccepting() {
        guard state.withLock({ $0.daemon != nil }) else { return }
        finishes.store(true, ordering: .sequentiallyConsistent)
        // The library's thread stops accepting when it sees a new connection. It is handed one, since another server of the
        // socket may take all that clients make.
        let hasStopped = poll(
            every: .milliseconds(1), growingTo: .milliseconds(20), for: Self.patience
        ) {
            if hasReturned { return true }
            wake()
            return false
        }
        guard !hasStopped else { return }
        Log.listener.warning("The listener's server does not stop accepting connections.")
    }

    /// How long the library's thread may take to see a connection, on a machine that has other things to do.
    private static let patience = Duration.seconds(10)

    /// Has the library's thread see a new connection.
    private func wake() {
        state.withLock { state in
            // SAFETY: a daemon that is stopped is not there. The library's thread, which it hands the connection to, asks for
            // the lock, not this one.
            if let daemon = state.daemon { _ = unsafe divan_httpd_wake(daemon.pointer) }
        }
    }

    func finish(within limit: Duration) -> Bool {
        stopAccepting()
        guard state.withLock({ $0.daemon != nil }) else { return true }
        return poll(every: .milliseconds(2), growingTo: .milliseconds(50), for: limit) {
            !hasWork()
        }
    }

    private var hasReturned: Bool { returned.load(ordering: .sequentiallyConsistent) >= 0 }

    /// Stops accepting connections, if the server finishes; on the daemon's thread, since the library's own changes of
    /// what it waits for must not come in between.
    private func returnSocket() {
        guard isFinishing, !hasReturned, let daemon = state.withLock({ $0.daemon }) else { return }
        // SAFETY: the daemon runs: this is its thread.
        let socket = unsafe MHD_quiesce_daemon(daemon.pointer)
        returned.store(socket, ordering: .sequentiallyConsistent)
    }

    /// A connection that has been silent for so long has no request under way.
    private static let quiet = Duration.seconds(1)

    /// Ends what waits for nothing: connections without a request, and feeds that have told all.
    ///
    /// - Returns: Whether a request is left.
    private func hasWork() -> Bool {
        let exchanges = state.withLock { state in
            var exchanges: [Exchange] = []
            var hasNew = false
            for (number, connection) in state.table.connections where !connection.isShut {
                let (exchange, since, _) = connection.occupation
                if let exchange {
                    exchanges.append(exchange)
                } else if ConnectedSocket.hasBytes(connection.descriptor)
                    || since.duration(to: .now) < Self.quiet
                {
                    // A request may be under way, or a half of its head.
                    hasNew = true
                } else {
                    _ = shut(number, &state)
                }
            }
            return hasNew || !exchanges.isEmpty ? exchanges : nil
        }
        guard let exchanges else { return false }
        for exchange in exchanges { exchange.conclude() }
        return true
    }

    // MARK: - Connections

    /// Takes a new connection; where there are too many, of its network or in all, one gives way at once, as
    /// `ConnectionTable.victim` says.
    ///
    /// The system gives each connection the lowest descriptor that is free, so a high one says that the process has few
    /// left, whatever has the others. With none left, no connection would be taken before another one ends.
    func opened(_ number: Int, _ connection: OpenConnection) {
        returnSocket()
        let closed: Exchange? = state.withLock { state in
            let networkCount = state.table.open(number, connection)
            let isOver =
                networkCount > limits.connectionsPerAddress
                && !limits.trustedProxies.contains(connection.network)
            if Int(clamping: connection.descriptor) >= lastDescriptor {
                state.most = min(state.most, max(1, state.table.count - 1))
            }
            guard isOver || state.table.count > state.most else { return nil }
            let victim = state.table.victim(
                for: number, isOwn: isOver, sparing: limits.trustedProxies)
            return shut(victim, &state)
        }
        closed?.abandon()
    }

    /// Closes silent connections while the process is short of descriptors, so that a request finds some for the files of its
    /// database; on a thread that may block.
    ///
    /// Where there are few connections, they are not why it is short, and nothing is looked at.
    func leaveDescriptors() {
        let few = max(Self.descriptorStep, mostConnections / 8)
        // The daemon's thread gives them back in a moment.
        _ = poll(every: .milliseconds(5), for: .milliseconds(500)) {
            looking.withLock { _ in
                connectionCount <= few || Descriptors.areFree(Self.descriptorStep) || !makeRoom()
            }
        }
    }

    /// Shuts so many silent connections down that some descriptors become free.
    ///
    /// - Returns: Whether any will.
    private func makeRoom() -> Bool {
        let (coming, closed) = state.withLock { state -> (Int, [Exchange?]) in
            // Those that were shut down and are not closed yet give theirs back soon.
            let coming = state.table.connections.count - state.table.count
            let closed = (coming..<max(coming, Self.descriptorStep)).compactMap { _ in
                state.table.oldestSilent.map { shut($0, &state) }
            }
            if !closed.isEmpty { state.most = min(state.most, max(1, state.table.count)) }
            return (coming, closed)
        }
        for exchange in closed { exchange?.abandon() }
        return coming + closed.count > 0
    }

    private static let descriptorStep = 16
    /// Held by the one worker that looks for free descriptors, since looking takes some.
    private let looking = Mutex(())

    /// Notes whether a connection may give way to a new one; see `ConnectionTable.setSilent`.
    func setSilent(_ number: Int, _ isSilent: Bool, isKnown: Bool = false) {
        state.withLock { $0.table.setSilent(number, isSilent, isKnown: isKnown) }
    }

    /// Notes that an exchange begins.
    ///
    /// - Returns: false when the server is going down, and none may begin.
    func begin(_ exchange: Exchange, on connection: OpenConnection) -> Bool {
        connection.set(exchange)
        return !isStopping
    }

    /// What the client of a connection has shown of itself; on the daemon's thread.
    func certificate(of connection: Exchange.Connection) -> PresentedCertificate {
        guard clientCertificates != nil || knowsDevices else { return PresentedCertificate() }
        let most = Int(clamping: DIVAN_HTTPD_CHAIN_MAXIMUM)
        var certificates = unsafe [UnsafePointer<UInt8>?](repeating: nil, count: most)
        var counts = [Int](repeating: 0, count: most)
        // SAFETY: both arrays have room for the most that is written; what is lent lives as long as the connection, which
        // is in a callback of its own.
        return unsafe certificates.withUnsafeMutableBufferPointer { certificates in
            unsafe counts.withUnsafeMutableBufferPointer { counts in
                guard let first = certificates.baseAddress, let firstCount = counts.baseAddress
                else { return PresentedCertificate() }
                let count = Int(
                    clamping: unsafe divan_httpd_client_certificates(
                        connection.pointer, first, firstCount))
                var shown = PresentedCertificate()
                if let clientCertificates {
                    shown.standing = unsafe clientCertificates.verified(first, firstCount, count)
                }
                if knowsDevices, count > 0, let own = unsafe first[0] {
                    // SAFETY: the certificate has as many bytes as are told.
                    let bytes = unsafe UnsafeBufferPointer(start: own, count: firstCount[0])
                    shown.key = unsafe CertificatePin.sha256(ofKeyIn: Array(bytes))
                }
                return shown
            }
        }
    }

    func closed(_ number: Int) { state.withLock { $0.table.close(number) } }

    private static let sweepSeconds = 5

    /// Closes what is silent or too slow, either way, and tells exchanges whose clients are gone.
    private func sweep() {
        let numbers = state.withLock { state in
            state.most = mostConnections
            return Array(state.table.connections.keys)
        }
        // The lock is taken for each, since every request takes it, too. Under it the descriptor is still the connection's.
        for number in numbers {
            let ended = state.withLock { state -> Exchange? in
                guard let connection = state.table.connections[number] else { return nil }
                return look(at: connection, number, &state)
            }
            ended?.abandon()
        }
    }

    /// Closes a connection that is silent or too slow.
    ///
    /// - Returns: Its exchange, when that ends by it, or the client is gone and the library does not look.
    private func look(
        at connection: OpenConnection, _ number: Int, _ state: inout State
    ) -> Exchange? {
        let (exchange, since, hasServed) = connection.occupation
        let age = since.duration(to: .now)
        guard let exchange else {
            let allowed = hasServed ? limits.idle : min(limits.idle, limits.firstRequest)
            return age > allowed ? shut(number, &state) : nil
        }
        if let received = exchange.receivedBytes {
            let allowed = limits.bodyGrace.bounded + .seconds(received / max(1, limits.slowestBody))
            if age > allowed { return shut(number, &state) }
            if ConnectedSocket.hasEnded(connection.descriptor) {
                // The library does not notice an end that comes together with bytes, until it is told again.
                ConnectedSocket.shutDownReceiving(connection.descriptor)
            }
        } else if exchange.isTooSlow(.seconds(Self.sweepSeconds), limits) {
            return shut(number, &state)
        } else if exchange.isParked, ConnectedSocket.isGone(connection.descriptor) {
            return exchange
        } else if exchange.isWorking, ConnectedSocket.isBroken(connection.descriptor) {
            return exchange
        }
        return nil
    }

    /// Shuts a connection down.
    ///
    /// - Returns: The exchange that it is in, which the caller abandons without the lock.
    private func shut(_ number: Int, _ state: inout State) -> Exchange? {
        guard let connection = state.table.shut(number) else { return nil }
        ConnectedSocket.shutDown(connection.descriptor)
        return connection.occupation.exchange
    }
}
