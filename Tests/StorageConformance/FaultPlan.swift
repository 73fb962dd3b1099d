// SPDX-License-Identifier: Apache-2.0

public import DivanStorage
internal import Synchronization

/// Which operation of a `FaultyEngine` fails, and with what.
///
/// A test runs its work with the first operation failing, then with the second, and so on, until a run
/// comes to its end without a fault: then every operation has failed once.
///
/// ```swift
/// for number in 1... {
///     let plan = FaultPlan(failing: number, with: .full)
///     … run the work on FaultyEngine(engine, plan) …
///     if !plan.hasFailed { break }
/// }
/// ```
public final class FaultPlan: Sendable {
    private struct State {
        var count = 0
        var hasFailed = false
    }

    private let number: Int
    private let code: StorageError.Code
    private let state = Mutex(State())

    /// Makes a plan.
    ///
    /// - Parameters:
    ///   - number: The operation that fails, counted from 1: a set, insert, remove, drop or commit.
    ///   - code: The code of its error.
    public init(failing number: Int, with code: StorageError.Code) {
        self.number = number
        self.code = code
    }

    /// Whether the operation has come and failed.
    public var hasFailed: Bool {
        state.withLock { $0.hasFailed }
    }

    /// Counts an operation and throws when it is the one.
    func reach(_ point: String) throws {
        let fails = state.withLock { state in
            state.count += 1
            let isTheOne = state.count == number
            state.hasFailed = state.hasFailed || isTheOne
            return isTheOne
        }
        if fails {
            throw StorageError.injected(code, at: point)
        }
    }
}
