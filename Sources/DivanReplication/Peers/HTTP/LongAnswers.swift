// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import Synchronization

/// Lets the long documents of a server be read one at a time, so that a replication takes no more memory than is stated,
/// whatever the server sends.
///
///     text up to 2 MB, which takes up to 8 MB when it is parsed ──► no turn is needed: 16 such are under way at most
///     longer, or worse ──► one turn for all of them: others wait, and their server with them
///     worse than 768 MB ──► refused, as one document that cannot be replicated
///
/// State: who has the turn and who waits, guarded by its mutex.
final class LongAnswers: Sendable {
    /// Text that is longer is read in turn.
    static let shortText = 2 << 20
    /// What takes more when it is parsed is parsed in turn.
    static let shortCost = 8 << 20
    /// What takes more is refused: eight times a document of 64 MB, and its values.
    static let largestCost = 768 << 20

    private struct State {
        var isTaken = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Waits for the turn, which ends with the last reference to what is returned.
    func take() async -> Turn {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.isTaken else {
                    state.isTaken = true
                    return true
                }
                state.waiting.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
        return Turn(self)
    }

    /// How many wait for the turn; for tests.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    fileprivate func end() {
        let next = state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isTaken = false
                return nil as CheckedContinuation<Void, Never>?
            }
            return state.waiting.removeFirst()
        }
        next?.resume()
    }

    /// The right to read a long document.
    final class Turn: Sendable {
        private let answers: LongAnswers

        fileprivate init(_ answers: LongAnswers) { self.answers = answers }

        deinit { answers.end() }
    }
}

/// The turn of one answer, if it has come to need one.
struct AnswerTurn {
    private let answers: LongAnswers
    private var turn: LongAnswers.Turn?

    init(_ answers: LongAnswers) { self.answers = answers }

    /// Waits for the turn if so many bytes of text are more than is read without one.
    mutating func hold(_ bytes: Int) async {
        guard bytes > LongAnswers.shortText, turn == nil else { return }
        turn = await answers.take()
    }

    /// Waits for the turn if a text needs it to be parsed.
    ///
    /// - Returns: Whether the text may be parsed at all.
    mutating func parse(_ text: [UInt8]) async -> Bool {
        guard text.count > LongAnswers.shortCost / 128 else { return true }
        let cost = JSONWeight(text.span).packedCost
        guard cost <= LongAnswers.largestCost else { return false }
        if cost > LongAnswers.shortCost, turn == nil { turn = await answers.take() }
        return true
    }
}
