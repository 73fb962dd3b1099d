// SPDX-License-Identifier: Apache-2.0

/// Runs blocking work for a task on a thread outside the cooperative pool.
///
/// Disk reads and waits for the writer must not occupy the few threads that all Swift tasks share.
package enum BlockingWork {
    /// Begins work that the caller does not wait for.
    package static func start(_ body: @escaping @Sendable () -> Void) {
        BlockingThreads.shared.start(body)
    }

    /// Runs work that is short, or cannot stop midway.
    ///
    /// - Throws: `CancellationError` when the task was cancelled before, else what `body` throws.
    static func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        try Task.checkCancellation()
        return try await run(carrying: CancellationFlag(), body)
    }

    /// Runs work that may take long: the parts of it that can stop midway stop when the task is cancelled.
    ///
    /// - Throws: as `run(_:)`, and `CancellationError` when the task is cancelled meanwhile.
    static func runCancellably<T: Sendable>(_ body: @escaping @Sendable () throws -> T)
        async throws -> T
    {
        let flag = CancellationFlag()
        return try await withTaskCancellationHandler {
            try await run(carrying: flag, body)
        } onCancel: {
            flag.cancel()
        }
    }

    private static func run<T: Sendable>(
        carrying flag: CancellationFlag, _ body: @escaping @Sendable () throws -> T
    ) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            start { continuation.resume(with: Result { try flag.carried(through: body) }) }
        }
    }
}
