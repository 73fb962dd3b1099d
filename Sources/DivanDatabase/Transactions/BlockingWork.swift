// SPDX-License-Identifier: Apache-2.0

internal import Dispatch

/// Runs blocking work for a task on a thread outside the cooperative pool.
///
/// Disk reads and waits for the writer must not occupy the few threads that all Swift tasks share.
enum BlockingWork {
    private static let queue = DispatchQueue(label: "divan.blocking", attributes: .concurrent)

    /// Begins work that nobody waits for.
    static func start(_ body: @escaping @Sendable () -> Void) { queue.async(execute: body) }

    /// Runs work that is short, or cannot stop midway.
    ///
    /// - Throws: `CancellationError` when the task was cancelled before, else what `body` throws.
    static func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        try Task.checkCancellation()
        return try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try body() }) }
        }
    }

    /// Runs long work, which asks the flag now and then whether its task has been cancelled.
    ///
    /// - Throws: as `run(_:)`, and `CancellationError` when the task is cancelled meanwhile.
    static func runCancellably<T: Sendable>(
        _ body: @escaping @Sendable (CancellationFlag) throws -> T
    ) async throws -> T {
        let flag = CancellationFlag()
        return try await withTaskCancellationHandler {
            try await run { try body(flag) }
        } onCancel: {
            flag.cancel()
        }
    }
}
