// SPDX-License-Identifier: Apache-2.0

internal import CMicroHTTPD
internal import DivanDatabase
internal import DivanHTTP
internal import DivanLogging
internal import DivanSystem
internal import Dispatch
internal import Synchronization

/// One request and its answer on a connection of libmicrohttpd.
///
///     identifying ──► identified ──► receiving ──► working ──► answering ⇄ producing ⇄ parked ──► done
///     (worker)        (daemon)       (daemon)      (worker)    (daemon)    (worker)    (no thread)
///
/// It begins with *identifying* only when a password must be hashed: until then the client's body stays in the socket.
/// The library then shows the head a second time.
/// The daemon's thread has it while it receives and answers, and where the answer is a short one goes
/// from one to the other at once; while it works, produces or is parked its
/// connection is suspended. The thread that ends such a time resumes the connection, and only then
/// does the daemon's thread look at it again.
///
/// State: `state`, guarded by its mutex, which is held for moments only.
final class Exchange: Sendable {
    /// The library's handle of a connection.
    @safe
    // Safe because other threads only resume it, which the library allows.
    struct Connection: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    private enum Phase: Equatable {
        case identifying, identified, receiving, working, answering, producing, parked, done
    }

    private struct State {
        var phase = Phase.receiving
        var head: RequestHead?
        /// When the body began to come.
        var bodyStart = ContinuousClock.now
        /// The bytes that the head takes of the connection's memory.
        var headSize = 0
        var body = BodyCollector()
        var identity = Identity.known(ListenerUser())
        var limit = 0
        /// The database that the request is about; the empty name for none.
        var database = ""
        var response: ListenerResponse?
        /// What the request has reserved, until its answer is done.
        var memory: RequestMemory?
        var producer: (any ResponseProducer)?
        /// What was produced and not yet taken.
        var piece: [UInt8] = []
        var taken = 0
        var hasEnded = false
        var hasFailed = false
        /// Whether there was a reason to look again while the producer was at work.
        var wasWoken = false
        var isAbandoned = false
        /// Whether the server is stopping, and what goes on without an end is to come to one.
        var isConcluding = false
        /// What ends the reading that a worker does for it.
        var reading: CancellationFlag?
        /// How much the client has taken, and for how long it has left something lying, since it last had
        /// taken everything.
        var sent = 0
        var lag = Duration.zero
    }

    /// What waits in the system for the client of a feed, in bytes.
    private static let sentAhead = 64 << 10

    private let server: MicroHTTPServer
    /// The target; nil where it is no UTF-8.
    private let target: String?
    private let targetSize: Int
    private let connection: Connection
    private let open: OpenConnection
    private let state = Mutex(State())
    private let resumed = DispatchGroup()

    init(
        _ server: MicroHTTPServer, target: String?, targetSize: Int, connection: Connection,
        _ open: OpenConnection
    ) {
        self.server = server
        self.target = target
        self.targetSize = targetSize
        self.connection = connection
        self.open = open
    }

    private var number: Int { unsafe Int(bitPattern: connection.pointer) }

    /// How much of the body has come; nil when all has.
    var receivedBytes: Int? {
        state.withLock { $0.phase == .receiving ? $0.body.length : nil }
    }

    /// Whether the client wants the head of the answer alone, by the method on the wire: what stands in its place does not
    /// count for the library.
    var asksForHeadOnly: Bool { state.withLock { $0.head?.method == "HEAD" } }

    /// Whether a worker has it.
    var isWorking: Bool { state.withLock { $0.phase == .working } }

    /// Whether it waits for something to tell.
    var isParked: Bool { state.withLock { $0.phase == .parked } }

    // MARK: - Receiving, on the daemon's thread

    /// Takes the next step of the library: the head, a piece of the body, its end, or that the
    /// connection was resumed.
    ///
    /// - Parameters:
    ///   - method: The method; nil where it is no UTF-8.
    ///   - piece: A piece of the body.
    /// - Returns: false to close the connection.
    func advance(_ method: String?, _ piece: UnsafeRawBufferPointer) -> Bool {
        if state.withLock({ $0.head == nil }) { return begin(method) }
        if piece.count > 0 {
            return state.withLock { state in
                // The client is told that it is not let in when it has sent what it sends.
                if case .refused = state.identity { return true }
                // SAFETY: the bytes are copied.
                return unsafe state.body.append(piece, limit: state.limit)
            }
        }
        let phase = state.withLock { $0.phase }
        switch phase {
        case .identified: return receive()
        case .receiving: return work()
        case .working: return answer()
        // The library asks again only after something was queued, and not while it is suspended.
        case .identifying, .answering, .producing, .parked, .done: return false
        }
    }

    private func begin(_ method: String?) -> Bool {
        let fields = unsafe MicroHTTPCallbacks.fields(connection.pointer)
        var head = RequestHead(method: method ?? "", target: target ?? "", headers: fields.headers)
        head.isSecure = server.isSecure
        head.certificate = open.certificate { server.certificate(of: connection) }
        head.network = open.network
        head.identifier = RequestIdentifier.of(fields.headers)
        let size = fields.size + targetSize
        guard server.begin(self, on: open) else { return false }
        state.withLock { state in
            state.head = head
            state.body.budget = server.handler.receivedBodies
            // The library notes where each field lies.
            state.headSize = size + 64 * fields.count
        }
        if size > server.limits.headLength {
            return refuse(.headTooLarge)
        }
        guard method != nil, target != nil else {
            return refuse(
                RequestFraming.refusal(
                    "The request line is not UTF-8; write other bytes as escapes, as %C3%A9."))
        }
        let failure = RequestFraming.failure(of: head.headers) ?? fields.failure
        if let failure { return refuse(failure) }
        guard let identity = server.handler.identity(of: head, mayTakeLong: false) else {
            return identify(head)
        }
        admit(identity)
        return receive()
    }

    /// Goes on to the body, unless it is known to be too long for this client.
    private func receive() -> Bool {
        let (identity, length, limit) = state.withLock { state in
            state.phase = .receiving
            state.bodyStart = .now
            return (state.identity, state.head?.declaredLength, state.limit)
        }
        // One whose sender has not shown who it is gives way while its body comes.
        server.setSilent(number, !identity.isProven, isKnown: identity.isProven)
        guard let length, length > limit else { return true }
        guard case .refused(let failure) = identity else { return refuse(.bodyTooLarge) }
        return refuse(failure)
    }

    /// Has a worker find out who makes the request.
    private func identify(_ head: RequestHead) -> Bool {
        guard leave(for: .identifying) else { return false }
        server.setSilent(number, false)
        suspend()
        let admitted: @Sendable (Identity) -> Void = { [self] identity in
            admit(identity)
            resume()
        }
        let lane = Router.Lane.signingIn(Guardian.name(in: head.headers))
        server.run(lane, for: head, refused: { admitted(.busy) }) { [self] in
            admitted(
                isPointless
                    ? .busy : server.handler.identity(of: head, mayTakeLong: true) ?? .busy)
        }
        return true
    }

    /// Notes who makes the request, and so how long its body may be.
    private func admit(_ identity: Identity) {
        let limit = server.handler.largestBody(of: identity)
        state.withLock { state in
            state.identity = identity
            state.limit = limit
            state.phase = .identified
        }
    }

    /// Notes that a worker gets the exchange, and the connection is to be suspended.
    ///
    /// - Returns: false when it was abandoned, and its connection is to be closed.
    private func leave(for phase: Phase) -> Bool {
        state.withLock { state in
            // Under the lock: a thread that abandons it afterwards waits for its end.
            guard !state.isAbandoned else { return false }
            state.phase = phase
            resumed.enter()
            return true
        }
    }

    /// What header fields take on the wire, and so many bytes more.
    private static func size(of headers: HTTPHeaders, _ rest: Int) -> Int {
        headers.reduce(rest) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 }
    }

    /// Answers before the body has come; the library then closes the connection.
    private func refuse(_ failure: HTTPFailure) -> Bool {
        state.withLock { state in
            state.response = state.head.map { server.handler.refuse(failure, $0) }
        }
        return answer()
    }

    private func work() -> Bool {
        let (head, identity, body, isAbandoned) = state.withLock { state in
            if state.body.length > 0 {
                let time = state.bodyStart.duration(to: .now).components
                state.head?.bodyTime = Int(
                    clamping: time.seconds * 1_000 + time.attoseconds / 1_000_000_000_000_000)
            }
            return (state.head, state.identity, state.body.finish(), state.isAbandoned)
        }
        guard let head, !isAbandoned else { return false }
        if !identity.isProven { server.setSilent(number, false) }
        guard let body else {
            return refuse(
                HTTPFailure(507, "insufficient_storage", "The body could not be kept."))
        }
        var request = ListenerRequest(head, body: body)
        request.identity = identity
        if let response = server.handler.answerAtOnce(request) {
            state.withLock { $0.response = response }
            return answer()
        }
        guard leave(for: .working) else { return false }
        suspend()
        let lane = server.handler.lane(request)
        state.withLock { $0.database = lane.database }
        let refuse: @Sendable () -> Void = { [self] in
            finish(server.handler.refuse(.tooManySignIns, head))
        }
        server.run(lane, for: head, refused: refuse) { [self, request] in
            if case .signingIn = lane, isPointless { return refuse() }
            server.leaveDescriptors()
            begin(respond(request, lane))
        }
        return true
    }

    /// Has a request answered. What only reads ends early when the client is gone or the server stops: a question may
    /// take minutes.
    private func respond(_ request: ListenerRequest, _ lane: Router.Lane) -> ListenerResponse {
        guard lane.mayEndEarly else { return server.handler.respond(request) }
        let flag = CancellationFlag()
        let isAbandoned = state.withLock { state in
            state.reading = flag
            return state.isAbandoned
        }
        defer { state.withLock { $0.reading = nil } }
        if isAbandoned { flag.cancel() }
        do {
            return try flag.carried { server.handler.respond(request) }
        } catch { return server.handler.refuse(ErrorResponse.failure(for: error), request.head) }
    }

    /// Whether nothing waits for what a worker would find out: checking a password then only holds up the next one.
    private var isPointless: Bool {
        server.isStopping || ConnectedSocket.isBroken(open.descriptor)
    }

    private func finish(_ response: ListenerResponse) {
        state.withLock { $0.response = response }
        resume()
    }

    /// Sends an answer on its way: at once, or when the first piece of its body is there, where that may fail.
    private func begin(_ response: ListenerResponse) {
        guard case .stream(let producer, _) = response.body, producer.beginsBeforeHead else {
            return finish(response)
        }
        state.withLock { state in
            state.response = response
            state.producer = producer
        }
        producer.whenReady { [weak self] in self?.wake() }
        makeFirst(producer, until: .now + HeadDelay.longest)
    }

    /// Has a worker make the first piece, before the head is sent.
    private func makeFirst(_ producer: any ResponseProducer, until end: ContinuousClock.Instant) {
        produce { [self] in
            do {
                let production = try producer.next()
                if production == .wait(.zero), .now < end, !state.withLock({ $0.isAbandoned }) {
                    return makeFirst(producer, until: end)
                }
                state.withLock { state in
                    if case .bytes(let bytes) = production { state.piece = bytes }
                    state.hasEnded = production == .end
                }
            } catch {
                state.withLock { state in
                    guard let head = state.head else { return }
                    state.response = server.handler.fail(error, head)
                }
            }
            resume()
        }
    }

    private func answer() -> Bool {
        let (answer, headSize, isAbandoned) = state.withLock { state in
            defer { state.response = nil }
            state.memory = state.response?.memory
            state.phase = .answering
            return (state.response, state.headSize, state.isAbandoned)
        }
        guard var response = answer, !isAbandoned else { return false }
        // A stranger may leave its answer lying for as long as it likes, so it gives way meanwhile.
        if !state.withLock({ $0.identity.isProven }) { server.setSilent(number, true) }
        if server.isFinishing { response.headers["Connection"] = "close" }
        // A long ID stands in both heads; rather an answer without its URL than none.
        if headSize + Self.size(of: response.headers, 1_024) > MicroHTTPServer.room(server.limits) {
            response.headers["Location"] = nil
            // A redirect leads nowhere without it; its body says what became of the request.
            if (300..<400).contains(response.status), response.status != 304 {
                response.status = response.statusAlone
            }
        }
        return MicroHTTPResponse.queue(response, on: connection, for: self)
    }

    /// Takes over a body that is there as a whole.
    func begin(_ bytes: [UInt8]) {
        state.withLock { state in
            state.piece = bytes
            state.hasEnded = true
        }
    }

    /// Takes over the producer of a body.
    func begin(_ producer: any ResponseProducer) {
        state.withLock { $0.producer = producer }
        // What a client does not take stays with the producer, which keeps none of it.
        if producer.lane != .answers {
            ConnectedSocket.boundSending(open.descriptor, bytes: Self.sentAhead)
        }
        producer.whenReady { [weak self] in self?.wake() }
    }

    /// What the library gets when it wants more of a body.
    enum Piece {
        case bytes(Int)
        /// Nothing now: the connection is suspended.
        case later
        case end
        case failure
    }

    /// Copies the next bytes of the body, on the daemon's thread.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Piece {
        let piece: Piece = state.withLock { state in
            let left = state.piece.count - state.taken
            if left > 0 {
                let count = min(left, buffer.count)
                // SAFETY: both have room for `count` bytes.
                unsafe state.piece[state.taken..<(state.taken + count)].withUnsafeBytes {
                    unsafe buffer.copyMemory(from: $0)
                }
                state.taken += count
                state.sent += count
                return .bytes(count)
            }
            if state.isAbandoned || state.hasFailed { return .failure }
            if state.hasEnded { return .end }
            state.phase = .producing
            resumed.enter()
            return .later
        }
        if case .later = piece {
            suspend()
            makeMore()
        }
        return piece
    }

    // MARK: - Producing, on a worker

    /// Has a worker make the next piece.
    private func makeMore() { produce { [self] in produce() } }

    /// Has a worker make a piece when it is its turn.
    private func produce(_ work: @escaping @Sendable () -> Void) {
        let (lane, database) = state.withLock { ($0.producer?.lane ?? .answers, $0.database) }
        server.produce(in: lane, of: database, work)
    }

    private func produce() {
        guard let producer = state.withLock({ $0.producer }) else { return deliver(.end) }
        let (isAbandoned, isConcluding) = state.withLock { ($0.isAbandoned, $0.isConcluding) }
        if isAbandoned { return deliver(.end, hasFailed: true) }
        if isConcluding { producer.conclude() }
        do {
            switch try producer.next() {
            case .wait(let duration): park(duration)
            case let production: deliver(production)
            }
        } catch {
            if (error as? DatabaseError)?.code == .databaseClosed {
                Log.listener.info("An answer was broken off, since its database was closed.")
            } else {
                Log.listener.error("An answer was broken off: \(Log.words(of: error))")
            }
            deliver(.end, hasFailed: true)
        }
    }

    private func deliver(_ production: Production, hasFailed: Bool = false) {
        state.withLock { state in
            state.phase = .answering
            state.taken = 0
            state.hasFailed = hasFailed
            switch production {
            case .bytes(let bytes): state.piece = bytes
            case .end, .wait:
                state.piece = []
                state.hasEnded = true
            }
        }
        resume()
    }

    private func park(_ duration: Duration) {
        let mustLook = state.withLock { state in
            guard !state.wasWoken, !state.isAbandoned, duration > .zero else {
                state.wasWoken = false
                return true
            }
            state.phase = .parked
            return false
        }
        guard !mustLook else {
            makeMore()
            return
        }
        server.deadlines.set(number, after: duration) { [weak self] in self?.wake() }
        // It may have been woken before the deadline was set.
        if state.withLock({ $0.phase != .parked }) { server.deadlines.remove(number) }
    }

    /// Has the producer look again.
    private func wake() {
        let mustLook = state.withLock { state in
            guard state.phase == .parked else {
                state.wasWoken = true
                return false
            }
            state.phase = .producing
            state.wasWoken = false
            return true
        }
        guard mustLook else { return }
        server.deadlines.remove(number)
        makeMore()
    }

    /// Has an answer that goes on without an end come to one, since the server is stopping.
    func conclude() {
        let isNew = state.withLock { state in
            defer { state.isConcluding = true }
            return !state.isConcluding
        }
        if isNew { wake() }
    }

    /// Ends it: the client is gone, or the server stops.
    func abandon() {
        let reading = state.withLock { state in
            state.isAbandoned = true
            return state.reading
        }
        reading?.cancel()
        wake()
    }

    /// Whether the client takes what lies ready for it too slowly; asked once in each interval.
    func isTooSlow(_ interval: Duration, _ limits: ListenerLimits) -> Bool {
        state.withLock { state in
            guard state.phase == .answering, state.taken < state.piece.count else {
                state.sent = 0
                state.lag = .zero
                return false
            }
            state.lag += interval
            return state.lag > limits.bodyGrace.bounded
                + .seconds(state.sent / max(1, limits.slowestAnswer))
        }
    }

    // MARK: - The connection

    /// Suspends the connection; `resumed` was entered before.
    private func suspend() {
        // SAFETY: called on the daemon's thread, in a callback for this connection.
        unsafe MHD_suspend_connection(connection.pointer)
    }

    private func resume() {
        // SAFETY: it is suspended, and this is the one call that resumes it.
        unsafe MHD_resume_connection(connection.pointer)
        resumed.leave()
    }

    /// Waits until the connection is no longer suspended.
    func waitUntilResumed() { resumed.wait() }

    /// Called when the library is done with the request, however it ended.
    func finish() {
        let producer = state.withLock { state in
            defer { state.producer = nil }
            state.body.abandon()
            state.memory = nil
            state.phase = .done
            state.piece = []
            return state.producer
        }
        open.set(nil)
        server.setSilent(number, true)
        producer?.cancel()
    }
}
