// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import Synchronization

/// The digest of content that streams by, taken on another core than the one that moves it.
///
///     update ──▶ waiting pieces, at most 4 ──▶ hasher
///        │                                       ▲ ▲
///        └── too many wait: hashes one itself ───┘ └── a worker, while any wait
///
/// A SHA-1 takes about as long as copying does, so content that is read, hashed and written in turn
/// goes half as fast as it could. Short content is hashed at once: a thread costs more than it saves.
///
/// ## Invariants
///
/// `checkInvariants()` tests what the line shows of 2 and 3. `ContentDigestTests` call it, and show the first by the digest
/// of random pieces.
///
/// 1. Pieces are hashed in their order: the thread that holds the hasher takes the first piece that waits.
/// 2. At most `room` pieces wait, so memory is bounded whatever the content's size.
/// 3. No caller waits for a free thread: a worker that has not begun is not needed, since `update` and `finish`
///    hash what waits themselves. A hundred contents on a pool of threads cannot stop each other.
///
/// `update` and `finish` are for one thread at a time.
final class ContentDigest: Sendable {
    /// How many pieces may wait.
    private static let room = 4
    /// How many pieces are hashed at once, before a worker is worth its while.
    private static let pieceCountAlone = 4

    private struct Line {
        var pieces: [[UInt8]] = []
        var pieceCount = 0
        /// Whether a worker runs, or will.
        var hasWorker = false
    }

    private let hasher: Mutex<any DigestHasher>
    private let line = Mutex(Line())

    init(_ algorithm: DigestAlgorithm, by digest: any MessageDigest) {
        hasher = Mutex(digest.makeHasher(algorithm))
    }

    /// Takes in the next piece.
    func update(_ piece: [UInt8]) {
        let (isAlone, needsWorker) = line.withLock { line in
            line.pieces.append(piece)
            line.pieceCount += 1
            guard line.pieceCount > Self.pieceCountAlone else { return (true, false) }
            defer { line.hasWorker = true }
            return (false, !line.hasWorker)
        }
        if isAlone { _ = hashNext() }
        if needsWorker { BlockingWork.start { self.work() } }
        while line.withLock({ $0.pieces.count > Self.room }) { _ = hashNext() }
    }

    /// Ends the content.
    ///
    /// - Returns: The digest of everything.
    func finish() -> [UInt8] {
        while hashNext() {}
        return hasher.withLock { $0.finish() }
    }

    /// Stops the program where an invariant does not hold between two calls; for tests, on the thread that calls.
    func checkInvariants() {
        line.withLock { line in
            precondition(line.pieces.count <= Self.room, "invariant 2")
            // What the caller has not hashed itself, a worker will.
            precondition(line.pieces.isEmpty || line.hasWorker, "invariant 3")
        }
    }

    /// Hashes the first piece that waits; false when none does.
    private func hashNext() -> Bool {
        hasher.withLock { hasher in
            guard let piece = takeNext() else { return false }
            hasher.update(piece.span)
            return true
        }
    }

    private func takeNext() -> [UInt8]? {
        line.withLock { $0.pieces.isEmpty ? nil : $0.pieces.removeFirst() }
    }

    /// Hashes until nothing waits.
    private func work() {
        while true {
            while hashNext() {}
            let isDone = line.withLock { line in
                guard line.pieces.isEmpty else { return false }
                line.hasWorker = false
                return true
            }
            if isDone { return }
        }
    }
}
