// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanSystem
internal import Synchronization

/// An index that is being brought up to date, and how far that is.
package struct RunningIndexing: Sendable {
    /// A number that no other one has, as long as the database is open.
    package let number: Int
    /// The names of the views, indexes on properties and full-text indexes, each once.
    package let names: [String]
    /// When it began and when it told of progress, in seconds since 1970.
    package let started: Int64
    /// When it told of progress last.
    package var updated: Int64
    /// The documents that were mapped.
    package var completed = 0
    /// Those in all, as far as is known.
    package var total = 0
}

/// The passes over the documents of a database that bring indexes up to date now: what `_active_tasks` of a listener shows.
///
/// A pass that finds nothing to do is not among them.
///
/// State: `state`, guarded by its mutex.
final class RunningPasses: ModuleState {
    private struct State {
        var count = 0
        var passes: [Int: RunningIndexing] = [:]
    }

    private let state = Mutex(State())

    /// Those that run, in the order in which they began.
    var all: [RunningIndexing] {
        state.withLock { Array($0.passes.values) }.sorted { $0.number < $1.number }
    }

    /// Notes that a pass begins; its number is for the other calls.
    func begin(_ names: [String]) -> Int {
        let now = WallClock.secondsSince1970
        return state.withLock { state in
            state.count += 1
            state.passes[state.count] = RunningIndexing(
                number: state.count, names: names, started: now, updated: now)
            return state.count
        }
    }

    /// Notes how far it is.
    func note(_ number: Int, completed: Int, total: Int) {
        let now = WallClock.secondsSince1970
        state.withLock { state in
            state.passes[number]?.completed = completed
            state.passes[number]?.total = total
            state.passes[number]?.updated = now
        }
    }

    /// Notes that a pass is over.
    func end(_ number: Int) { state.withLock { _ = $0.passes.removeValue(forKey: number) } }

    func close() {}
}

extension DatabaseCore {
    var runningPasses: RunningPasses { states.state(of: RunningPasses.self) }
}

extension Database {
    /// What brings indexes up to date now, in this process.
    package var runningIndexing: [RunningIndexing] { core.runningPasses.all }
}
