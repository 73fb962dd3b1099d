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
    private enum State: String { case running, done, failed, cancelled }

    private struct Entry {
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
        let isNew = entries.withLock { entries in
            guard entries[name]?.state != .running else { return false }
            entries[name] = Entry()
            return true
        }
        guard isNew else { return }
        tasks.start("database_verification", name) { report in
            do {
                let problems = try database.verify { progress in
                    report(progress.completed, progress.total)
                    try self.note(progress.completed, progress.total, of: name)
                }
                self.change(name) { ($0.state, $0.problems) = (.done, problems) }
            } catch is CancellationError {
                self.change(name) { $0.state = .cancelled }
            } catch {
                self.change(name) {
                    ($0.state, $0.failure) = (.failed, ErrorResponse.failure(for: error).reason)
                }
            }
        }
    }

    /// Has the one of a database end at its next step.
    func cancel(_ name: String) { change(name) { $0.isCancelled = true } }

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

    private func note(_ completed: Int, _ total: Int?, of name: String) throws {
        let isCancelled = entries.withLock { entries in
            entries[name]?.completed = completed
            entries[name]?.total = total
            return entries[name]?.isCancelled ?? true
        }
        if isCancelled { throw CancellationError() }
    }

    private func change(_ name: String, _ body: (inout Entry) -> Void) {
        entries.withLock { entries in
            guard var entry = entries[name] else { return }
            body(&entry)
            entries[name] = entry
        }
    }
}
