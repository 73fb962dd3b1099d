// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// One exchange: what passes between the task that asked and the thread that libcurl runs on.
///
/// ```
///     task                                  loop's thread
///     ────                                  ─────────────
///     start ── .start ───────────────────►  CurlHandle, added to the multi handle
///     offer(piece) ─► upload ─────────────► fillUpload    empty: sending pauses
///     head ◄── continuation ─────────────── receiveHead
///     next() ◄─ pieces ◄─────────────────── receiveBody   full: receiving pauses
///     cancel ── .remove ─────────────────►  taken out
///                            finish ◄────── done, or a deadline passed
/// ```
///
/// ## Invariants
///
/// `checkInvariants()` tests what the state shows of 2, 3 and 4. `CurlTransferRandomTests` call it, with a task and a thread in
/// the place of the loop. The others speak of libcurl: the suites of the transport show them.
///
/// 1. All state is in one mutex; no continuation is resumed and libcurl never called while it is held.
/// 2. At most one task waits for the head, then one for a piece, and one for room in the upload.
/// 3. `outcome` is set once; after that every wait ends and the callbacks stop the transfer.
/// 4. At most ``window`` bytes and what libcurl hands over at once (16 kB) are held each way, unless one piece given
///    to the upload is larger.
/// 5. Only the loop's thread pauses and resumes: a task that made room asks it to, by a command.
final class CurlTransfer: Sendable {
    /// How many bytes wait for a reader before receiving pauses: enough to keep a fast connection busy, and little
    /// enough for a hundred stalled readers.
    static let window = 256 * 1_024
    /// The longest head.
    static let headLimit = 256 * 1_024
    /// Pieces below this size are joined with the one before.
    static let joinSize = 32 * 1_024

    /// What the loop must do after a step of the task.
    enum Need { case nothing, resuming }

    struct State {
        var outcome: Result<Void, any Error>?
        var lastActivity = ContinuousClock.now

        var head = HTTPResponseHead(status: 0)
        var headBytes = 0
        var isHeadWhole = false
        var headWaiter: CheckedContinuation<HTTPResponseHead, any Error>?

        var pieces: [[UInt8]] = []
        var firstPiece = 0
        var receivedBytes = 0
        var isReceivingPaused = false
        var pieceWaiter: CheckedContinuation<[UInt8]?, any Error>?

        var upload: [[UInt8]] = []
        var uploadOffset = 0
        var uploadBytes = 0
        var sentBytes = 0
        var isUploadWhole = false
        var isSendingPaused = false
        var roomWaiter: CheckedContinuation<Void, any Error>?
    }

    let url: HTTPURL
    let timeouts: HTTPTimeouts
    /// The bytes of a body in memory, which can be sent again.
    let wholeUpload: [UInt8]?
    /// The length that was announced.
    let uploadLength: Int?
    let state: Mutex<State>

    init(_ request: HTTPRequest, timeouts: HTTPTimeouts) {
        url = request.url
        self.timeouts = timeouts
        var state = State()
        switch request.body {
        case .none:
            wholeUpload = []
            uploadLength = 0
            state.isUploadWhole = true
        case .bytes(let bytes):
            wholeUpload = bytes
            uploadLength = bytes.count
            state.upload = bytes.isEmpty ? [] : [bytes]
            state.uploadBytes = bytes.count
            state.isUploadWhole = true
        case .stream(let length, _):
            wholeUpload = nil
            uploadLength = length
        }
        self.state = Mutex(state)
    }

    /// The transfer that a callback's context stands for.
    static func lent(_ context: UnsafeMutableRawPointer?) -> CurlTransfer {
        // SAFETY: the context is a `CurlTransfer` that the handle keeps alive; see `CurlHandle`.
        guard let context = unsafe context else {
            preconditionFailure("A callback of libcurl's came without its transfer.")
        }
        return unsafe Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
    }
}

/// What the task does.
extension CurlTransfer {
    /// Waits for the head of the answer.
    func head(starting start: () -> Void) async throws -> HTTPResponseHead {
        try await withCheckedThrowingContinuation { waiter in
            let ready: Result<HTTPResponseHead, any Error>? = state.withLock { state in
                if state.isHeadWhole { return .success(state.head) }
                if case .failure(let error)? = state.outcome { return .failure(error) }
                state.headWaiter = waiter
                return nil
            }
            if let ready { waiter.resume(with: ready) }
            start()
        }
    }

    /// Waits for the next bytes of the body.
    ///
    /// - Parameter resume: Is called when receiving may go on.
    /// - Returns: The bytes; `nil` at the end.
    /// - Throws: `HTTPError`, `CancellationError`.
    func nextPiece(_ resume: () -> Void) async throws -> [UInt8]? {
        var need = Need.nothing
        let piece = try await withCheckedThrowingContinuation { waiter in
            let ready: Result<[UInt8]?, any Error>? = state.withLock { state in
                if let piece = state.takePiece() {
                    if state.isReceivingPaused && state.receivedBytes <= Self.window / 2 {
                        state.isReceivingPaused = false
                        state.lastActivity = .now
                        need = .resuming
                    }
                    return .success(piece)
                }
                if let outcome = state.outcome { return outcome.map { nil } }
                state.pieceWaiter = waiter
                return nil
            }
            if let ready { waiter.resume(with: ready) }
        }
        if need == .resuming { resume() }
        return piece
    }

    /// Hands over the next bytes of the request's body, once there is room.
    func offer(_ piece: [UInt8], _ resume: () -> Void) async throws {
        guard !piece.isEmpty else { return }
        var need = Need.nothing
        try await withCheckedThrowingContinuation {
            (waiter: CheckedContinuation<Void, any Error>) in
            let ready: Result<Void, any Error>? = state.withLock { state in
                // An answer that is whole needs no more of the body, however much there is.
                if let outcome = state.outcome {
                    return outcome.flatMap { .failure(CancellationError()) }
                }
                state.upload.append(piece)
                state.uploadBytes += piece.count
                if state.isSendingPaused {
                    state.isSendingPaused = false
                    state.lastActivity = .now
                    need = .resuming
                }
                if state.uploadBytes < Self.window { return .success(()) }
                state.roomWaiter = waiter
                return nil
            }
            if let ready { waiter.resume(with: ready) }
            if need == .resuming { resume() }
        }
    }

    /// Says that the request's body is whole.
    func endUpload(_ resume: () -> Void) {
        let mustResume = state.withLock { state in
            state.isUploadWhole = true
            defer { state.isSendingPaused = false }
            if state.isSendingPaused { state.lastActivity = .now }
            return state.isSendingPaused
        }
        if mustResume { resume() }
    }

    /// Ends the exchange; only the first outcome counts.
    ///
    /// - Returns: Whether this was the first.
    @discardableResult
    func finish(_ outcome: Result<Void, any Error>) -> Bool {
        let waiters = state.withLock { state -> (State, isFirst: Bool) in
            guard state.outcome == nil else { return (State(), false) }
            state.outcome = outcome
            let old = state
            state.headWaiter = nil
            state.roomWaiter = nil
            state.upload = []
            // The end and a failure come behind what the server sent before them, however late it is read; a
            // reader that cancels wants nothing more.
            if case .failure(is CancellationError) = outcome {
                state.pieces = []
                state.firstPiece = 0
                state.receivedBytes = 0
            }
            state.pieceWaiter = nil
            return (old, true)
        }
        guard waiters.isFirst else { return false }
        let old = waiters.0
        switch outcome {
        case .success:
            old.headWaiter?.resume(throwing: HTTPError.endedInHead(url))
            old.pieceWaiter?.resume(returning: nil)
            old.roomWaiter?.resume(throwing: CancellationError())
        case .failure(let error):
            old.headWaiter?.resume(throwing: error)
            old.pieceWaiter?.resume(throwing: error)
            old.roomWaiter?.resume(throwing: error)
        }
        return true
    }

    /// Whether it has ended.
    var isFinished: Bool { state.withLock { $0.outcome != nil } }
}

extension CurlTransfer.State {
    /// Keeps a piece for the reader; small ones are joined.
    mutating func append(_ piece: [UInt8], joiningBelow limit: Int) {
        receivedBytes += piece.count
        if firstPiece < pieces.count, pieces[pieces.count - 1].count + piece.count <= limit {
            pieces[pieces.count - 1] += piece
        } else {
            pieces.append(piece)
        }
    }

    /// Takes the oldest piece.
    mutating func takePiece() -> [UInt8]? {
        guard firstPiece < pieces.count else { return nil }
        let piece = pieces[firstPiece]
        pieces[firstPiece] = []
        firstPiece += 1
        if firstPiece == pieces.count {
            pieces.removeAll(keepingCapacity: true)
            firstPiece = 0
        }
        receivedBytes -= piece.count
        return piece
    }
}

extension CurlTransfer {
    /// Stops the program where an invariant does not hold; for tests.
    ///
    /// - Parameter handedOver: The most bytes that the loop hands over, or the task offers, at once.
    func checkInvariants(handedOver: Int) {
        state.withLock { state in
            precondition(state.headWaiter == nil || state.pieceWaiter == nil, "invariant 2")
            precondition(state.headWaiter == nil || !state.isHeadWhole, "invariant 2")
            let waiting = state.pieces.dropFirst(state.firstPiece)
            precondition(state.pieceWaiter == nil || waiting.isEmpty, "invariant 2")
            precondition(waiting.reduce(0) { $0 + $1.count } == state.receivedBytes, "invariant 4")
            precondition(state.receivedBytes <= Self.window + handedOver, "invariant 4")
            guard state.outcome == nil else {
                precondition(state.headWaiter == nil && state.pieceWaiter == nil, "invariant 3")
                precondition(state.roomWaiter == nil && state.upload.isEmpty, "invariant 3")
                return
            }
            let offered = state.upload.reduce(0) { $0 + $1.count } - state.uploadOffset
            precondition(offered == state.uploadBytes, "invariant 4")
            precondition(state.uploadBytes <= Self.window + handedOver, "invariant 4")
        }
    }
}
