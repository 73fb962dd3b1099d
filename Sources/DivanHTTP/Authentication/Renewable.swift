// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// A secret that is fetched when it is first needed and again when it was refused, once for all who wait.
///
///     A  current ──┬─► fetch ─────────────► secret      A and B get it
///     B  current ──┘
///     B is cancelled                                    B's wait ends at once, the fetch goes on for A
///     A is cancelled, too                               so does A's, and the fetch is cancelled
///
/// So a wait ends with its task, whatever a fetch does: it may wait for the app, and for a user.
///
/// State, guarded by the mutex: the secret, the fetch under way, and who waits for it. There are waits only while there is a
/// fetch.
final class Renewable<Secret: Sendable>: Sendable {
    /// Gets a secret in place of one that was refused, if there is one; gives nil when none is to be had.
    typealias Fetch = @Sendable (_ refused: Secret?) async throws -> Secret?

    private typealias Wait = CheckedContinuation<Secret?, any Error>

    private struct State {
        var secret: Secret?
        var fetch: (number: Int, task: Task<Void, Never>)?
        var waits: [Int: Wait] = [:]
        /// The last number that a wait or a fetch got.
        var lastNumber = 0

        mutating func nextNumber() -> Int {
            lastNumber += 1
            return lastNumber
        }
    }

    private let state = Mutex(State())

    /// The secret as far as it is known.
    var known: Secret? { state.withLock { $0.secret } }

    /// The secret; `nil` when there is none.
    ///
    /// - Parameter fetch: Gets it where it is not known.
    /// - Returns: The secret.
    /// - Throws: What `fetch` throws, and `CancellationError` when the task is cancelled while it waits.
    func current(_ fetch: @escaping Fetch) async throws -> Secret? {
        try await secret(fetchedIf: { $0 == nil }, by: fetch)
    }

    /// Another secret than one that was refused; `nil` when there is none.
    ///
    /// Where the last fetch gave none there is nothing to renew, and `fetch` is not called: it might ask a user who has just
    /// said no.
    ///
    /// - Parameters:
    ///   - isRefused: Whether a secret is the one that was refused. Another request may have renewed it meanwhile.
    ///   - fetch: Gets another one.
    /// - Returns: The secret.
    /// - Throws: As ``current(_:)``.
    func renewed(_ isRefused: (Secret) -> Bool, by fetch: @escaping Fetch) async throws -> Secret? {
        try await secret(fetchedIf: { $0.map(isRefused) ?? false }, by: fetch)
    }

    /// Changes the secret to one that came by itself.
    func update(_ change: (inout Secret?) -> Void) { state.withLock { change(&$0.secret) } }

    private func secret(
        fetchedIf mustFetch: (Secret?) -> Bool, by fetch: @escaping Fetch
    ) async throws -> Secret? {
        let number = state.withLock { $0.nextNumber() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { wait in
                let answer = state.withLock { state -> Result<Secret?, any Error>? in
                    if state.fetch == nil, !mustFetch(state.secret) {
                        return .success(state.secret)
                    }
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.fetch == nil { begin(fetch, &state) }
                    state.waits[number] = wait
                    return nil
                }
                if let answer { wait.resume(with: answer) }
            }
        } onCancel: {
            endWait(number)
        }
    }

    /// Begins a fetch, as no child of a task: others may wait for it, too.
    private func begin(_ fetch: @escaping Fetch, _ state: inout State) {
        let (number, refused) = (state.nextNumber(), state.secret)
        let task = Task {
            let result: Result<Secret?, any Error>
            do { result = .success(try await fetch(refused)) } catch { result = .failure(error) }
            finish(number, result)
        }
        state.fetch = (number, task)
    }

    private func finish(_ number: Int, _ result: Result<Secret?, any Error>) {
        let waits = state.withLock { state -> [Wait] in
            // One that was cancelled may end late.
            guard state.fetch?.number == number else { return [] }
            if case .success(let secret) = result { state.secret = secret }
            defer { (state.fetch, state.waits) = (nil, [:]) }
            return Array(state.waits.values)
        }
        for wait in waits { wait.resume(with: result) }
    }

    private func endWait(_ number: Int) {
        let (wait, unwanted) = state.withLock { state -> (Wait?, Task<Void, Never>?) in
            guard let wait = state.waits.removeValue(forKey: number) else { return (nil, nil) }
            guard state.waits.isEmpty else { return (wait, nil) }
            defer { state.fetch = nil }
            return (wait, state.fetch?.task)
        }
        unwanted?.cancel()
        wait?.resume(throwing: CancellationError())
    }
}
