// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import DivanJSON
internal import Synchronization

/// Runs blocking work on a few threads by turns, so that one who has much to do, or whose work never ends, holds up no
/// other: see `TurnQueue`.
///
/// The threads are its own, as those of a `WorkerPool` are.
///
/// State: `state`, guarded by its mutex; work is run, and refused, without it.
final class TurnPool: Sendable {
    typealias Action = @Sendable () -> Void

    private struct Piece: Sendable {
        var run: Action
        var refuse: Action
    }

    private struct State {
        /// The places in `threads` that have nothing to do.
        var idle: [Int]
        var waiting = TurnQueue<Piece>()
        /// Whose turn it is, for each thread that is at work.
        var running: [Turn] = []
    }

    private let mostOfOne: Int
    private let mostOfName: Int
    private let mostWaiting: Int
    private let threads: [DispatchQueue]
    private let state: Mutex<State>

    /// Makes a pool of at most `width` threads, of which an owner has at most so many, and a name of one at most so many of
    /// those, and for which at most so much waits.
    init(
        _ label: String, width: Int, mostOfOne: Int = .max, mostOfName: Int = .max,
        mostWaiting: Int = .max
    ) {
        self.mostOfOne = mostOfOne
        self.mostOfName = mostOfName
        self.mostWaiting = mostWaiting
        threads = (0..<max(1, width)).map { _ in DispatchQueue(label: label) }
        state = Mutex(State(idle: Array(threads.indices)))
    }

    /// Runs work when it is its turn.
    ///
    /// - Parameters:
    ///   - turn: Whose it is.
    ///   - refused: Called in place of the work when too much waits: at once, or later when it makes room for another
    ///     owner, of whom less waits.
    ///   - work: The work.
    func run(for turn: Turn, refused: @escaping Action = {}, _ work: @escaping Action) {
        let piece = Piece(run: work, refuse: refused)
        let (thread, victim): (Int?, Piece?) = state.withLock { state in
            if !state.idle.isEmpty, isAllowed(turn, state.running),
                let thread = state.idle.popLast()
            {
                state.running.append(turn)
                return (thread, nil)
            }
            var victim: Piece?
            if state.waiting.count >= mostWaiting {
                victim = state.waiting.makeRoom(for: turn)
                guard victim != nil else { return (nil, piece) }
            }
            state.waiting.append(piece, for: turn)
            return (nil, victim)
        }
        victim?.refuse()
        guard let thread else { return }
        threads[thread].async { self.work(work, for: turn, on: thread) }
    }

    private func isAllowed(_ turn: Turn, _ running: [Turn]) -> Bool {
        running.count { $0.owner.hasSameBytes(as: turn.owner) } < mostOfOne
            && running.count { $0 == turn } < mostOfName
    }

    private func work(_ first: @escaping Action, for turn: Turn, on thread: Int) {
        var next: (turn: Turn, run: Action)? = (turn, first)
        while let (turn, run) = next {
            run()
            next = state.withLock { state in
                if let place = state.running.firstIndex(of: turn) {
                    state.running.remove(at: place)
                }
                // While a thread is idle, each owner of waiting work, or its name, has as many threads as it may. The end of
                // this work frees a place of one owner and name, and this thread takes it; so nothing is left for an idle one.
                let running = state.running
                guard let (turn, piece) = state.waiting.next(where: { isAllowed($0, running) })
                else {
                    state.idle.append(thread)
                    return nil
                }
                state.running.append(turn)
                return (turn, piece.run)
            }
        }
    }
}
