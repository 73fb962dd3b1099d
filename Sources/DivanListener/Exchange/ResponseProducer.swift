// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Makes the body of an answer piece by piece, as fast as the client takes it and no faster.
///
///     server                                  producer
///     next() ───────────────────────────────► makes a piece
///            ◄─────────────── .bytes ─────────
///     sends it; the client has room again
///     next() ───────────────────────────────► has nothing to say yet
///            ◄─────────────── .wait(30 s) ────
///     parks the connection: no thread, no timer of its own
///                                             a commit: wake()
///     next() ───────────────────────────────► …
///            ◄─────────────── .end ───────────
///
/// ## Invariants
///
/// 1. `next` is called by one thread at a time, on a thread that may block, never after `.end`.
/// 2. `wake` may be called at any time from any thread, also while `next` runs; the server then
///    calls `next` once more before it parks.
/// 3. The server calls `cancel` once, when it wants no more: after the end, or because the client is gone.
package protocol ResponseProducer: AnyObject, Sendable {
    /// Makes the next piece.
    ///
    /// - Throws: any error, which breaks the answer off: the client sees that it is not whole.
    func next() throws -> Production

    /// Which threads make the pieces.
    var lane: ProductionLane { get }

    /// Whether the first piece may fail by what the request asked for: it is then made before the head of the answer is
    /// sent, and its error is the answer.
    var beginsBeforeHead: Bool { get }

    /// Hands over what to call when there may be more after `.wait`.
    func whenReady(_ wake: @escaping @Sendable () -> Void)

    /// Says that the server is stopping: what goes on without an end comes to one at the next place where it may, without
    /// `.wait`; what ends anyway goes on to its end. It is called between calls of `next`, perhaps more than once.
    func conclude()

    /// Says that the server wants no more.
    func cancel()
}

/// How long the head of an answer waits for the first piece.
enum HeadDelay {
    /// Clients wait longer for an answer to begin.
    static let longest = Duration.seconds(5)
}

/// Which threads make the pieces of an answer. None waits behind those of another kind, and those of one database take a
/// part of them only.
package enum ProductionLane: Sendable, Equatable {
    /// Those of answers that end.
    case answers
    /// Those of feeds that follow changes, of which a commit wakes hundreds at once.
    case feeds
    /// Those of functions of the app, which may block for as long as they want: one of this name has few of its database's.
    case function(String)
}

/// What a producer has.
package enum Production: Sendable, Equatable {
    /// A piece that is not empty.
    case bytes([UInt8])
    /// Nothing yet: ask again when woken, or after so long.
    case wait(Duration)
    /// There is no more.
    case end
}

/// The steps of a producer, as a value: what each kind of answer is written as.
protocol ResponseSteps: Sendable {
    /// See `ResponseProducer`.
    mutating func next() throws -> Production
    /// See `ResponseProducer`.
    var lane: ProductionLane { get }
    /// See `ResponseProducer`.
    var beginsBeforeHead: Bool { get }
    /// See `ResponseProducer`.
    mutating func whenReady(_ wake: @escaping @Sendable () -> Void)
    /// See `ResponseProducer`.
    mutating func conclude()
    /// See `ResponseProducer`.
    mutating func cancel()
}

extension ResponseSteps {
    /// Most answer what there is.
    var lane: ProductionLane { .answers }
    /// Most cannot fail by what was asked.
    var beginsBeforeHead: Bool { false }
    /// Most never wait.
    mutating func whenReady(_ wake: @escaping @Sendable () -> Void) {}
    /// Most end anyway.
    mutating func conclude() {}
    /// Most hold nothing.
    mutating func cancel() {}
}

/// A producer that takes the steps of a value.
///
/// State: the value, guarded by its mutex, which is held while a step is made.
final class SteppedProducer<Steps: ResponseSteps>: ResponseProducer {
    let lane: ProductionLane
    let beginsBeforeHead: Bool
    private let steps: Mutex<Steps>

    /// Makes a producer of its steps.
    init(_ steps: Steps) {
        lane = steps.lane
        beginsBeforeHead = steps.beginsBeforeHead
        self.steps = Mutex(steps)
    }

    func next() throws -> Production { try steps.withLock { try $0.next() } }
    func whenReady(_ wake: @escaping @Sendable () -> Void) {
        steps.withLock { $0.whenReady(wake) }
    }
    func conclude() { steps.withLock { $0.conclude() } }
    func cancel() { steps.withLock { $0.cancel() } }
}
