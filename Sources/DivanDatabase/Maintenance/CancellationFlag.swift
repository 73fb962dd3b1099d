// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Carries a task's cancellation to blocking work on another thread.
final class CancellationFlag: Sendable {
    private let isCancelled = Atomic<Bool>(false)

    func cancel() { isCancelled.store(true, ordering: .relaxed) }

    func check() throws {
        if isCancelled.load(ordering: .relaxed) { throw CancellationError() }
    }
}
