// SPDX-License-Identifier: Apache-2.0

internal import Dispatch
internal import Synchronization

/// A gate that opens once. Threads and tasks that wait at it go on then. Later ones do not wait.
public final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    /// Makes one that is closed.
    public init() {}

    /// Lets all go on.
    public func open() { semaphore.signal() }

    /// Waits until the gate is open, by default at most ten minutes, and returns whether it is.
    ///
    /// A task that waited here would hold one of the few threads that the task which opens the gate may need.
    @available(*, noasync, message: "A task waits by `await gate.passed()`.")
    @discardableResult
    public func wait(milliseconds: Int = 600_000) -> Bool {
        guard semaphore.wait(timeout: .now() + .milliseconds(milliseconds)) == .success else {
            return false
        }
        semaphore.signal()
        return true
    }

    /// Whether the gate is open now.
    public var isOpen: Bool { wait(milliseconds: 0) }

    /// Suspends the task until the gate is open.
    public func passed() async {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "divan.test.gate").async { [self] in
                wait()
                continuation.resume()
            }
        }
    }
}

/// Work on a thread of its own.
public final class Running<Value: Sendable>: Sendable {
    private let done = Gate()
    private let result = Mutex<Result<Value, any Error>?>(nil)

    /// Begins the work.
    public init(_ body: @escaping @Sendable () throws -> Value) {
        DispatchQueue(label: "divan.test.thread").async { [self] in
            let outcome = Result { try body() }
            result.withLock { $0 = outcome }
            done.open()
        }
    }

    /// Whether the work ends within a time.
    public func isDone(within milliseconds: Int) -> Bool { done.wait(milliseconds: milliseconds) }

    /// Waits for the end of the work and returns what it returned; nil when it does not end.
    ///
    /// - Throws: What the work throws.
    public func value() throws -> Value? {
        guard done.wait() else { return nil }
        return try result.withLock { try $0?.get() }
    }
}
