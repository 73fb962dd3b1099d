// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

/// The connection that writes, and the care of its log.
///
/// Commits append pages to the log; a checkpoint moves them into the file. Once all are moved and no
/// reader needs the log, the next commit begins it anew, so the log is as long as the commits between
/// two such moments.
///
///      pages in the log    after a commit
///      under 2,000         nothing
///      2,000 and more      move what readers allow; then again every 2,000 pages
///      6,000 and more      also wait for the readers that keep the log from beginning anew: a quarter
///                          of a second, then twice as long at each step, up to four seconds
///      16,000 and more     wait a quarter of a second only: there is a reader that stays
///
/// Without the wait, readers that come and go without a pause would let the log grow for ever: there
/// would never be a moment without one that uses it. Without the growing wait, so would readers that
/// are slow because the machine is: ten minutes of eight of them on two busy cores made a log of 1.1
/// GB. Pages are 4 kB, so a log beyond 64 MB is only made by one transaction that is larger, or by a
/// reader that stays for longer than the waits together, eight seconds.
final class SQLiteWriter {
    /// The pages after which a commit moves the log into the file, and the step after that.
    private static let checkpointFrames = 2_000
    /// The pages after which a checkpoint waits for readers.
    private static let restartFrames = 6_000
    /// How long it waits at first: longer than most readers keep a snapshot (100 ms).
    private static let leastPatience = Duration.milliseconds(250)
    /// How often it waits twice as long as before.
    private static let doublings = 4

    /// The connection's transactions; `nil` once closed, and while suspended.
    var transaction: SQLiteTransaction?
    /// Whether there is no connection only until the engine resumes.
    var isSuspended = false
    /// The length of the log at which the next commit tends it.
    private var nextFrames = SQLiteWriter.checkpointFrames

    init(_ transaction: SQLiteTransaction) {
        self.transaction = transaction
    }

    /// How long a checkpoint waits for readers when the log has a length.
    static func patience(at frames: Int) -> Duration {
        let step = max(0, frames - restartFrames) / checkpointFrames
        return leastPatience * (step <= doublings ? 1 << step : 1)
    }

    /// Moves the log into the file when it has grown enough. Called after a commit.
    ///
    /// The commit has succeeded, so trouble here is no failure of it: what is not moved now is moved
    /// by a later checkpoint, and nothing is lost meanwhile.
    func tendLog(busyTimeout: Duration) {
        guard let connection = transaction?.connection else {
            return
        }
        let frames = connection.lastLogFrames
        if frames + SQLiteWriter.checkpointFrames < nextFrames {
            nextFrames = SQLiteWriter.checkpointFrames
        }
        guard frames >= nextFrames else {
            return
        }
        nextFrames = frames + SQLiteWriter.checkpointFrames
        if frames >= SQLiteWriter.restartFrames {
            connection.setBusyTimeout(SQLiteWriter.patience(at: frames))
            _ = try? connection.checkpoint(.restart)
            connection.setBusyTimeout(busyTimeout)
        } else {
            _ = try? connection.checkpoint(.passive)
        }
    }
}
