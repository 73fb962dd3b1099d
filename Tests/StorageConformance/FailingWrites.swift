// SPDX-License-Identifier: Apache-2.0

internal import CFaultVFS

/// Makes the system's writes fail, below every file system of SQLite's; for one test at a time, as a ``PowerLossRecorder``.
public enum FailingWrites {
    /// The system's SQLite has no such writes to be replaced.
    public struct Failure: Error {}

    /// Lets writes fail while `work` runs.
    ///
    /// - Parameters:
    ///   - number: Which write comes out short, counted from 1.
    ///   - count: How many after it fail.
    ///   - error: The errno of these.
    ///   - directory: The files lie below it.
    ///   - work: What writes.
    /// - Returns: Whether the write has come.
    /// - Throws: What `work` throws.
    @discardableResult
    public static func fail(
        _ number: Int, count: Int, with error: Int32, in directory: String,
        _ work: () throws -> Void
    ) throws -> Bool {
        // SAFETY: the path is copied during the call.
        guard unsafe divan_failing_writes(directory, Int32(number), Int32(count), error) >= 0
        else { throw Failure() }
        defer { _ = unsafe divan_failing_writes(directory, 0, 0, 0) }
        try work()
        return unsafe divan_failing_writes(directory, 0, 0, 0) > 0
    }
}
