// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage
internal import DivanSystem
internal import Synchronization

/// Carries a task's cancellation to blocking work on another thread.
///
/// Blocking calls know no task. Those that may take long ask the flag that their thread carries, if
/// it carries one:
///
/// ```swift
/// try CancellationFlag.check()        // at each report of progress
///
/// let flag = CancellationFlag.current // or in a loop over many rows
/// for row in rows { try flag?.check() … }
/// ```
package final class CancellationFlag: Sendable {
    @TaskLocal private static var carried: CancellationFlag?

    private let isCancelled = Atomic<Bool>(false)
    /// The thread that does the work. A task that the work starts inherits the flag, but is no part of it.
    private let thread = Atomic<UInt>(0)

    /// The flag of the work that the calling thread does; nil when that is not a task's.
    package static var current: CancellationFlag? {
        guard let carried, carried.thread.load(ordering: .relaxed) == ThreadIdentity.current else {
            return nil
        }
        return carried
    }

    /// Throws `CancellationError` when the calling thread works for a task that has been cancelled.
    package static func check() throws { try current?.check() }

    /// Makes a flag.
    package init() {}

    /// Cancels the work that asks this flag.
    package func cancel() { isCancelled.store(true, ordering: .relaxed) }

    /// Throws `CancellationError` when the task has been cancelled.
    package func check() throws {
        if isCancelled.load(ordering: .relaxed) { throw CancellationError() }
    }

    /// Runs work on the calling thread, which asks this flag meanwhile.
    ///
    /// - Throws: `CancellationError`, with nothing done, when the task is cancelled already; what the work
    ///   throws.
    package func carried<T>(through work: () throws -> T) throws -> T {
        try check()
        thread.store(ThreadIdentity.current, ordering: .relaxed)
        defer { thread.store(0, ordering: .relaxed) }
        return try Self.$carried.withValue(self) { try work() }
    }

    /// Runs work that is not that of the calling thread's task.
    static func withoutCurrent<T>(_ work: () throws -> T) rethrows -> T {
        try $carried.withValue(nil) { try work() }
    }
}

extension Optional where Wrapped == ProgressHandler {
    /// Reports, if there is a handler, and stops work whose task has been cancelled.
    package func report(_ progress: WorkProgress) throws {
        try CancellationFlag.check()
        if let handler = self { try handler(progress) }
    }
}
