// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import Synchronization

/// How many compactions of a database run in this process.
///
/// State: `count`, an atomic number.
final class RunningCompactions: ModuleState {
    private let count = Atomic<Int>(0)

    /// Whether one runs.
    var isAny: Bool { count.load(ordering: .relaxed) > 0 }

    /// Does one.
    func counting<Result>(_ body: () throws -> Result) rethrows -> Result {
        count.add(1, ordering: .relaxed)
        defer { count.subtract(1, ordering: .relaxed) }
        return try body()
    }

    func close() {}
}

extension DatabaseCore {
    var runningCompactions: RunningCompactions { states.state(of: RunningCompactions.self) }
}
