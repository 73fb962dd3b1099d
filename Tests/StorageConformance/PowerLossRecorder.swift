// SPDX-License-Identifier: Apache-2.0

internal import CFaultVFS
internal import Synchronization

/// Records what an engine does to the files of a directory, and makes the states a power loss could
/// leave. SQLite's files are recorded by a file system of SQLite's, LMDB's by the system's calls (on Linux).
///
/// ```swift
/// try PowerLossRecorder.record(directory) { … work, and PowerLossRecorder.acknowledge(number) … }
/// for event in PowerLossRecorder.events {
///     try PowerLossRecorder.restore(before: event, .someSectors(seed: 1), into: other)
///     … open `other` and check …
/// }
/// ```
///
/// There is one recording in a process at a time, so a test records and looks at the recording within
/// `alone`. Other directories are not touched.
public enum PowerLossRecorder {
    /// What becomes of what was written to a file after its last sync.
    public enum Loss: Sendable {
        /// None of it is there.
        case everything
        /// All of it is there, as after the death of the process.
        case nothing
        /// Of its sectors and truncations some are there and some not.
        case someSectors(seed: UInt64)
    }

    /// The recording could not be made or replayed.
    public struct Failure: Error {}

    private static let turn = Mutex(())

    /// Runs `work` while no other test records.
    public static func alone(_ work: () throws -> Void) throws {
        try turn.withLock { (_: inout Void) throws -> Void in try work() }
    }

    /// Records while `work` runs.
    public static func record(_ directory: String, _ work: () throws -> Void) throws {
        // SAFETY: the path is copied during the call.
        if unsafe divan_recording_start(directory) != 0 {
            throw Failure()
        }
        defer { divan_recording_stop() }
        try work()
    }

    /// Notes that everything up to `number` has been acknowledged as safe.
    public static func acknowledge(_ number: Int) {
        divan_recording_mark(Int64(number))
    }

    /// Makes a write to the directory's files come out short and fail for want of room.
    ///
    /// - Parameter number: Which write, counted from 1; 0 for none.
    /// - Returns: Whether the write that was set before has come and failed.
    public static func failWrite(_ number: Int) -> Bool {
        divan_recording_fail_write(Int32(number)) != 0
    }

    /// The events before any of which power can be lost.
    public static var events: Range<Int> {
        0..<Int(divan_recording_count()) + 1
    }

    /// Whether an event is a sync, and the moment before it the most dangerous.
    public static func isSync(_ event: Int) -> Bool {
        events.dropLast().contains(event) && divan_recording_is_sync(Int32(event)) != 0
    }

    /// The last number that had been acknowledged before an event.
    public static func acknowledged(before event: Int) -> Int {
        Int(divan_recording_mark_before(Int32(event)))
    }

    /// Writes the files as a power loss before an event could leave them into an empty directory.
    public static func restore(before event: Int, _ loss: Loss, into directory: String) throws {
        let (kind, seed) =
            switch loss {
            case .everything: (Int32(divan_loss_all), 0 as UInt64)
            case .nothing: (Int32(divan_loss_nothing), 0)
            case .someSectors(let seed): (Int32(divan_loss_some_sectors), seed)
            }
        // SAFETY: the path is read during the call.
        if unsafe divan_recording_replay(Int32(event), kind, seed, directory) != 0 {
            throw Failure()
        }
    }
}
