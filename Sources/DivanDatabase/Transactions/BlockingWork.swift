// SPDX-License-Identifier: Apache-2.0

internal import Dispatch

/// Runs blocking work for a task on a thread outside the cooperative pool.
///
/// Disk reads and waits for the writer must not occupy the few threads that all Swift tasks share.
enum BlockingWork {
    private static let queue = DispatchQueue(label: "divan.blocking", attributes: .concurrent)

    static func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try body() }) }
        }
    }
}
