// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// What passes between the task that reads a WebSocket and the thread that it runs on.
///
/// State: `state`, guarded by its mutex; no continuation is resumed while it is held.
final class WebSocketState: Sendable {
    /// How many bytes of messages wait for a reader before the thread reads no more.
    private static let window = 256 * 1_024

    private struct State {
        var answer: Result<WebSocketAnswer.Kind, any Error>?
        var answerWaiter: CheckedContinuation<WebSocketAnswer.Kind, any Error>?
        var messages: [[UInt8]] = []
        var bytes = 0
        var messageWaiter: CheckedContinuation<[UInt8]?, any Error>?
        var outcome: Result<Void, any Error>?
    }

    private let state = Mutex(State())

    /// Whether it has ended, or the reader wants no more.
    var hasEnded: Bool { state.withLock { $0.outcome != nil } }

    /// Whether so much waits for the reader that nothing more is to be read.
    var isFull: Bool { state.withLock { $0.bytes >= Self.window } }

    // MARK: - The task

    func answer() async throws -> WebSocketAnswer.Kind {
        try await withCheckedThrowingContinuation { waiter in
            let ready = state.withLock { state -> Result<WebSocketAnswer.Kind, any Error>? in
                if let answer = state.answer { return answer }
                if case .failure(let error)? = state.outcome { return .failure(error) }
                state.answerWaiter = waiter
                return nil
            }
            if let ready { waiter.resume(with: ready) }
        }
    }

    /// The next message; `wake` is called when there is room again.
    func next(_ wake: () -> Void) async throws -> [UInt8]? {
        var hasRoom = false
        let message = try await withCheckedThrowingContinuation { waiter in
            let ready = state.withLock { state -> Result<[UInt8]?, any Error>? in
                guard let first = state.messages.first else {
                    if let outcome = state.outcome { return outcome.map { nil } }
                    state.messageWaiter = waiter
                    return nil
                }
                state.messages.removeFirst()
                hasRoom = state.bytes >= Self.window
                state.bytes -= first.count
                return .success(first)
            }
            if let ready { waiter.resume(with: ready) }
        }
        if hasRoom { wake() }
        return message
    }

    // MARK: - The thread

    func answered(_ kind: WebSocketAnswer.Kind) {
        let waiter = state.withLock { state in
            state.answer = .success(kind)
            defer { state.answerWaiter = nil }
            return state.answerWaiter
        }
        waiter?.resume(returning: kind)
    }

    func received(_ message: [UInt8]) {
        let waiter = state.withLock { state -> CheckedContinuation<[UInt8]?, any Error>? in
            guard state.outcome == nil else { return nil }
            if let waiter = state.messageWaiter {
                state.messageWaiter = nil
                return waiter
            }
            state.messages.append(message)
            state.bytes += message.count
            return nil
        }
        waiter?.resume(returning: message)
    }

    /// Ends it; the first outcome counts. The end and a failure come behind the messages before them, however
    /// late these are read; a reader that cancels wants nothing more.
    func finish(_ outcome: Result<Void, any Error>) {
        let old = state.withLock { state -> State in
            guard state.outcome == nil else { return State() }
            state.outcome = outcome
            let old = state
            state.answerWaiter = nil
            state.messageWaiter = nil
            if case .failure(is CancellationError) = outcome { state.messages = [] }
            return old
        }
        switch outcome {
        case .success:
            old.answerWaiter?.resume(throwing: HTTPError.closed)
            old.messageWaiter?.resume(returning: nil)
        case .failure(let error):
            old.answerWaiter?.resume(throwing: error)
            old.messageWaiter?.resume(throwing: error)
        }
    }
}
