// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel
internal import Synchronization

/// The verifications that clients have started, one for each database: the one that runs, or the last one's result.
///
///     none ──► running ──► done, failed
///                 └── cancel ──► cancelled
///
/// State: `entries`, guarded by its mutex.
final class Verifications: Sendable {
    private final class RunMark: Sendable {}
    private enum State: String { case running, done, failed, cancelled }

    private struct Entry {
        /// Tells the run from one of a database that had the name before.
        let run = RunMark()
        var state = State.running
        var isCancelled = false
        var completed = 0
        var total: Int?
        var problems: [VerificationProblem] = []
        var failure: String?
    }

    private let entries = Mutex<NameMap<Entry>>([:])

    /// Begins one, unless one of the same database runs.
    func start(_ database: Database, tasks: TaskList) {
        let name = database.name
        let run = entries.withLock { entries -> RunMark? in
            guard entries[name]?.state != .running else { return nil }
            let entry = Entry()
            entries[name] = entry
            return entry.run
        }
        guard let run else { return }
        let isStarted = tasks.start("database_verification", name) { report in
            do {
                let problems = try database.verify { progress in
                    report(progress.completed, progress.total)
                    try self.note(progress.completed, progress.total, of: run, name)
                }
                self.change(name, run) { ($0.state, $0.problems) = (.done, problems) }
            } catch is CancellationError {
                self.change(name, run) { $0.state = .cancelled }
            } catch {
                self.change(name, run) {
                    ($0.state, $0.failure) = (.failed, ErrorResponse.failure(for: error).reason)
                }
            }
        }
        // That of a database that had the name before has not noticed yet that it is gone.
        if !isStarted {
            change(name, run) {
                ($0.state, $0.failure) = (.failed, "Another verification ends first; try again.")
            }
        }
    }

    /// Has the one of a database end at its next step.
    func cancel(_ name: String) { change(name, nil) { $0.isCancelled = true } }

    /// What is known of the one of a database.
    func report(_ name: String) -> JSONObject {
        guard let entry = entries.withLock({ $0[name] }) else {
            return ["state": "none", "progress": 0, "problems": []]
        }
        let share = entry.total.map { Double(entry.completed) / Double(max(1, $0)) } ?? 0
        var report: JSONObject = [
            "state": .string(entry.state.rawValue),
            "progress": JSONValue(entry.state == .done ? 1 : min(1, share)),
            "problems": .array(
                entry.problems.map { problem in
                    var item: JSONObject = ["message": .string(problem.message)]
                    if let id = problem.documentID { item["id"] = .string(id.text) }
                    return .object(item)
                }),
        ]
        if let failure = entry.failure { report["reason"] = .string(failure) }
        return report
    }

    /// Forgets the one of a database that is deleted.
    func forget(_ name: String) { entries.withLock { $0[name] = nil } }

    private func note(
        _ completed: Int, _ total: Int?, of run: RunMark, _ name: String
    ) throws {
        let isCancelled = entries.withLock { entries in
            guard entries[name]?.run === run else { return true }
            entries[name]?.completed = completed
            entries[name]?.total = total
            return entries[name]?.isCancelled ?? true
        }
        if isCancelled { throw CancellationError() }
    }

    /// Changes the entry of a database if it is still that of a run; nil for any.
    private func change(_ name: String, _ run: RunMark?, _ body: (inout Entry) -> Void) {
        entries.withLock { entries in
            guard var entry = entries[name], run == nil || entry.run === run else { return }
            body(&entry)
            entries[name] = entry
        }
    }
}
