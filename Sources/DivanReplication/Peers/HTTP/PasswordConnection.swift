// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON
internal import DivanSystem
internal import Synchronization

/// Carries requests that show a server a name and password, and lets them rest once the server has called them wrong.
///
/// CouchDB and the listener lock a name out after five wrong passwords in a row. An edge has two replications for each
/// database, which would lock their own account out by trying again, and hold it so.
struct PasswordConnection: WireConnection {
    let base: any WireConnection
    /// The server, with the name and password.
    let place: HTTPURL
    /// Whether it asks by itself, again and again: then it keeps to the rest.
    let isAutomatic: Bool
    let rest: Duration

    /// Longer than what CouchDB and the listener count wrong passwords for, so that one try in that time never locks a name.
    static let longestRest = Duration.seconds(360)
    /// What both answer to a wrong password, and to nothing else.
    private static let sentence = "Name or password is incorrect"

    var name: String { base.name }

    /// Sends a request; throws `ReplicationError` with code `.unauthorized`, without sending it, while it rests.
    func respond(to request: WireRequest) async throws -> WireResponse {
        let passwords = RefusedPasswords.shared
        guard isAutomatic else {
            let (response, verdict) = try await send(request)
            passwords.note(verdict, of: place, rest)
            return try response.get()
        }
        try await passwords.waitForTurn(place) { resting(for: $0) }
        do {
            let (response, verdict) = try await send(request)
            passwords.note(verdict, of: place, rest)
            return try response.get()
        } catch {
            passwords.fail(error, of: place)
            throw error
        }
    }

    /// Sends a request, and finds out what its answer says about the password.
    private func send(_ request: WireRequest) async throws -> (
        Result<WireResponse, ReplicationError>, RefusedPasswords.Verdict
    ) {
        do {
            let response = try await base.respond(to: request)
            guard response.status == 401 else {
                let isTold = response.status < 500 && ![403, 407, 429].contains(response.status)
                return (.success(response), isTold ? .right : .unknown)
            }
            let body = try await response.beginning()
            let error = ReplicationError(response, body, "the request", at: name)
            if error.message.contains(Self.sentence) { return (.failure(told(error)), .wrong) }
            return (
                .success(
                    WireResponse(status: 401, headers: response.headers, body: BytesPieces(body))),
                .unknown
            )
        } catch let error as ReplicationError
            where error.status == 401 && error.message.contains(Self.sentence)
        {
            return (.failure(told(error)), .wrong)
        }
    }

    /// The server's refusal, and when it is asked again.
    private func told(_ error: ReplicationError) -> ReplicationError {
        var error = error
        error.retryAfter = Double(rest.components.seconds)
        if isAutomatic { error.message += Self.pause(rest) }
        return error
    }

    /// What stands for the server's refusal while the password rests.
    private func resting(for time: Duration) -> ReplicationError {
        var error = ReplicationError(
            .unauthorized, "'\(name)' answered 401: \(Self.sentence)." + Self.pause(time),
            status: 401)
        error.retryAfter = Double(time.components.seconds)
        return error
    }

    private static func pause(_ time: Duration) -> String {
        " So that the account is not locked out, they are not sent again for \(time.words); set others to try at once."
    }
}

/// The names and passwords that the process has shown servers, and which of them were refused.
///
///     unknown ──► one request asks, the others wait for its answer ──► right: all go as they come
///        ▲                                                         └─► refused: none goes for a while
///        └──────────────────────────────────────────────────────────────────┘
///
/// State: `known`, guarded by its mutex.
final class RefusedPasswords: Sendable {
    /// What an answer says about a password.
    enum Verdict { case right, wrong, unknown }

    private enum Knowledge {
        case right
        case refused(until: ContinuousClock.Instant)
        case asking([AsyncThrowingStream<Never, any Error>.Continuation])
    }

    static let shared = RefusedPasswords()
    private static let most = 1_000
    private let known = Mutex<[HTTPURL: Knowledge]>([:])

    /// Waits until a request may go: at once where the password is right, and as the only one where that is not known.
    ///
    /// - Parameters:
    ///   - place: The server, with the name and password.
    ///   - resting: Makes the error of a password that rests for so long.
    /// - Throws: What `resting` makes, the failure of the request that was waited for, or `CancellationError`.
    func waitForTurn(_ place: HTTPURL, _ resting: (Duration) -> ReplicationError) async throws {
        while true {
            let (stream, continuation) = AsyncThrowingStream<Never, any Error>.makeStream()
            let waits = try known.withLock { known in
                switch known[place] {
                case .right: return false
                case .refused(let end) where end > .now:
                    throw resting(ContinuousClock.now.duration(to: end))
                case .asking(let waiting):
                    known[place] = .asking(waiting + [continuation])
                    return true
                case .refused, nil:
                    known[place] = .asking([])
                    return false
                }
            }
            guard waits else { return }
            for try await _ in stream {}
            try Task.checkCancellation()
        }
    }

    /// Notes what an answer says.
    func note(_ verdict: Verdict, of place: HTTPURL, _ rest: Duration) {
        let knowledge: Knowledge? =
            switch verdict {
            case .right: .right
            case .wrong: .refused(until: .now + rest)
            case .unknown: nil
            }
        for waiting in set(knowledge, of: place) { waiting.finish() }
    }

    /// Notes that there was no answer. Those that wait have none either, unless the request was only given up.
    func fail(_ error: any Error, of place: HTTPURL) {
        let isGivenUp =
            error is CancellationError || (error as? ReplicationError)?.code == .cancelled
        for waiting in set(nil, of: place) { waiting.finish(throwing: isGivenUp ? nil : error) }
    }

    /// Sets what is known, and returns what waited for it. What is known already stays where nothing new is.
    private func set(_ knowledge: Knowledge?, of place: HTTPURL)
        -> [AsyncThrowingStream<Never, any Error>.Continuation]
    {
        known.withLock { known in
            var waiting: [AsyncThrowingStream<Never, any Error>.Continuation] = []
            if case .asking(let others) = known[place] {
                waiting = others
                known[place] = nil
            }
            guard let knowledge else { return waiting }
            if known.count >= Self.most {
                known = known.filter { if case .asking = $0.value { true } else { false } }
            }
            known[place] = knowledge
            return waiting
        }
    }
}
