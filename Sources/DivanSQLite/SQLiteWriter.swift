// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage
internal import DivanSystem

/// The connection that writes, and the care of its log.
///
/// Commits append pages to the log; a checkpoint moves them into the file. Once all are moved and no
/// reader needs the log, the next commit begins it anew, so the log is as long as the commits between
/// two such moments.
///
///      pages in the log    after a commit
///      under 2,000         nothing; of a larger file under a quarter of it, or 4,000
///      from there on       move what readers allow
///      6,000 and more      also wait for the readers that keep the log from beginning anew: a quarter
///                          of a second, then twice as long every 2,000 pages, up to four seconds
///      16,000 and more     wait a quarter of a second, since there is a reader that stays; and four
///                          seconds whenever the log has become twice as long
///
/// A page that is written several times before it is moved is moved once. Many pages are: those of an index
/// of 3,000, and all inner pages. A small database should not have a large log, though.
///
/// Without the wait, readers that come and go without a pause would let the log grow for ever: there
/// would never be a moment without one that uses it. Without the growing wait, so would readers that
/// are slow because the machine is, and they get slower still with a longer log, in which every page
/// is looked up. Pages are 4 kB, so a log beyond 64 MB is only made by one transaction that is larger,
/// or by a reader that stays for longer than the waits together, eight seconds.
///
/// ## A wait is many short tries
///
/// SQLite keeps a snapshot's place in one of four slots, and a try waits until the slots that are
/// behind when it begins are free. A slot that becomes free is taken by the next reader, for the newest
/// snapshot, which does not hinder a checkpoint; but the try goes on waiting for the slot, and where
/// readers come without a pause it is never free again. A new try passes it over:
///
///      readers     ──old──┐┌──new──┐
///                            ┌──new──┐ ┌──new──┐
///      slot 1      ███████████████████████████████     in use without a gap
///      one try     ├─ waits, and for ever ────────
///      short ones  ├────┤├────┤├ moves all
///
/// Ten minutes of eight readers on two busy cores made a log of 8.6 GB with one long try at each step, which
/// was of 4,000 pages then; with short tries the largest was 50 MB.
final class SQLiteWriter {
    /// The pages after which a commit moves the log into the file.
    private static let firstStep = 2_000...4_000
    /// How many times the pages of the first step the file has.
    private static let share = 4
    /// The pages after which it is tried again.
    private static let nextStep = 2_000
    /// The pages after which a checkpoint waits for readers.
    private static let restartFrames = 6_000
    /// How long it waits at first: longer than most readers keep a snapshot (100 ms).
    private static let leastPatience = Duration.milliseconds(250)
    /// How often it waits twice as long as before.
    private static let doublings = 4
    /// How long one try waits for the readers that it finds in its way.
    private static let tryLength = Duration.milliseconds(10)

    /// The connection's transactions; `nil` once closed, and while suspended.
    var transaction: SQLiteTransaction?
    /// Whether there is no connection only until the engine resumes.
    var isSuspended = false
    /// The length of the log at which the next commit runs a checkpoint.
    private var nextFrames = SQLiteWriter.firstStep.lowerBound
    /// The length of the log when a commit last ran a checkpoint.
    private var checkpointedFrames = 0
    /// The length of the log at which the longest wait is due again, once the growing waits are over.
    private var nextLongFrames = 0

    init(_ transaction: SQLiteTransaction) {
        self.transaction = transaction
    }

    /// How long the checkpoint that is due at a length of the log waits for readers; notes when the longest
    /// wait is due again.
    private func nextPatience(at frames: Int) -> Duration {
        let steps = (frames - Self.restartFrames) / Self.nextStep
        if steps <= Self.doublings {
            nextLongFrames = 2 * (Self.restartFrames + Self.doublings * Self.nextStep)
            return Self.leastPatience * (1 << steps)
        }
        guard frames >= nextLongFrames else { return Self.leastPatience }
        nextLongFrames = frames * 2
        return Self.leastPatience * (1 << Self.doublings)
    }

    /// Moves the log into the file when it has grown enough. Called after a commit.
    ///
    /// The commit has succeeded, so a failure here does not make it fail: a later checkpoint moves
    /// what is not moved now, and nothing is lost meanwhile.
    func checkpointIfDue(busyTimeout: Duration) {
        guard let connection = transaction?.connection else {
            return
        }
        let frames = connection.lastLogFrames
        if frames < checkpointedFrames {
            (nextFrames, checkpointedFrames, nextLongFrames) = (Self.firstStep.lowerBound, 0, 0)
        }
        guard frames >= nextFrames else {
            return
        }
        if checkpointedFrames == 0 {
            nextFrames = firstStep(of: connection)
            guard frames >= nextFrames else { return }
        }
        (nextFrames, checkpointedFrames) = (frames + Self.nextStep, frames)
        if frames >= Self.restartFrames {
            connection.setBusyTimeout(Self.tryLength)
            let patience = nextPatience(at: frames)
            restartLog(of: connection, patience: patience)
            connection.setBusyTimeout(busyTimeout)
        } else {
            _ = try? connection.checkpoint(.passive)
        }
    }

    /// The pages after which the log is moved first, by those of the file.
    private func firstStep(of connection: Connection) -> Int {
        let pages = (try? connection.integer("PRAGMA page_count")).map { Int($0) } ?? 0
        return min(max(pages / Self.share, Self.firstStep.lowerBound), Self.firstStep.upperBound)
    }

    /// Tries to move all of the log, so that the next commit begins it anew, until that is done or the
    /// patience is over.
    private func restartLog(of connection: Connection, patience: Duration) {
        // SQLite does not wait for another process's checkpoint.
        _ = poll(every: .milliseconds(1), for: patience) {
            // If a checkpoint fails, the next one would too: the disk is full, or does not answer.
            (try? connection.checkpoint(.restart)) ?? true
        }
    }
}
