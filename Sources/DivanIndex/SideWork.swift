// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Synchronization

/// Work whose result is needed later, which another core may do until then.
///
/// ```swift
/// let rows = SideWork { try pack(batch.rows) }
/// try write(lists)
/// try write(rows.result())
/// ```
///
///     this thread     ├── lists ──┤├─ waits ─┤├── rows …
///     one that is free  ├─────── work ───────┤
///     …or none is       ├── lists ──┤├─────── work ───────┤├── rows …
///
/// The thread that asks for the result does the work, unless another has begun it. So no thread waits for one
/// that is busy with other work, and a thread that holds the writer does not depend on the threads that wait
/// for the writer.
final class SideWork<Value: Sendable>: Sendable {
    private enum State {
        case waiting(@Sendable () throws -> Value)
        case begun
        case done(Result<Value, any Error>)
    }

    private let state: Mutex<State>
    private let isDone = DispatchSemaphore(value: 0)

    init(_ work: @escaping @Sendable () throws -> Value) {
        state = Mutex(.waiting(work))
        DispatchQueue.global().async { self.doUnlessBegun() }
    }

    /// What the work gave. Several threads may ask.
    ///
    /// - Throws: What the work threw.
    func result() throws -> Value {
        doUnlessBegun()
        isDone.wait()
        // For the next thread that asks.
        isDone.signal()
        guard case .done(let result) = state.withLock({ $0 }) else {
            preconditionFailure("Work that is done has a result.")
        }
        return try result.get()
    }

    private func doUnlessBegun() {
        let work: (@Sendable () throws -> Value)? = state.withLock { state in
            guard case .waiting(let work) = state else { return nil }
            state = .begun
            return work
        }
        guard let work else { return }
        let result = Result { try work() }
        state.withLock { $0 = .done(result) }
        isDone.signal()
    }
}
