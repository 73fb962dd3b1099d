// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel
internal import DivanStorage

/// One walk over all conflicts of a database, resolving each.
///
///     read    a page of conflicts           one short snapshot
///     decide  each                          no transaction, however long the resolver takes
///     write   all of the page               one transaction; what changed meanwhile is left out
///     again   those, one by one
///
/// A damaged document does not hold up the others: it is reported among the failures. Where damage undoes the
/// transaction of a page, each of its resolutions gets a transaction of its own.
struct ConflictSweep {
    let database: Database
    let progress: ProgressHandler?

    /// Decides a conflict.
    typealias Decision = (Conflict) throws -> ConflictResolution

    private typealias Decided = (conflict: Conflict, resolution: ConflictResolution)

    /// Some conflicts, and how far the walk has come.
    private struct Page {
        var conflicts: [Conflict] = []
        /// Those that cannot be read.
        var failures: [ConflictReport.Failure] = []
        /// The last document that was looked at; nil at the end.
        var last: DocumentID?
    }

    /// How many conflicts one transaction resolves.
    private static let pageSize = 100
    private static let pageBytes = 4 * 1_024 * 1_024

    func run(_ decide: Decision) throws -> ConflictReport {
        var report = ConflictReport()
        let total = try database.conflictCount
        var last: DocumentID?
        while true {
            try progress.report(
                WorkProgress(
                    phase: "resolving conflicts",
                    completed: report.resolved + report.failures.count, total: total))
            let page = try page(after: last)
            guard let end = page.last else { return report }
            report.failures += page.failures
            try resolve(page.conflicts, decide, &report)
            report.failures.sort { $0.id < $1.id }
            last = end
        }
    }

    private func page(after last: DocumentID?) throws -> Page {
        try database.checkOpen()
        return try database.core.read { snapshot in
            var page = Page()
            var size = 0
            try snapshot.forEachConflictedID(after: last) { id in
                page.last = id
                let damage = try DatabaseCore.damage(id) {
                    guard let conflict = try snapshot.conflict(id) else { return }
                    page.conflicts.append(conflict)
                    size += conflict.leaves.reduce(0) { $0 + $1.body.bytes.count }
                }
                if let damage {
                    page.failures.append(ConflictReport.Failure(id: id, error: damage))
                }
                let count = page.conflicts.count + page.failures.count
                return count < Self.pageSize && size < Self.pageBytes
            }
            return page
        }
    }

    private func resolve(
        _ conflicts: [Conflict], _ decide: Decision, _ report: inout ConflictReport
    ) throws {
        var decided: [Decided] = []
        for conflict in conflicts {
            do {
                decided.append((conflict, try decide(conflict)))
            } catch {
                report.failures.append(ConflictReport.Failure(id: conflict.id, error: error))
            }
        }
        for id in try write(decided, &report) {
            do {
                try database.resolveConflicts(of: id, decide)
                report.resolved += 1
            } catch {
                report.failures.append(ConflictReport.Failure(id: id, error: error))
            }
        }
    }

    /// Writes resolutions in one transaction, or each in one of its own where damage undoes that.
    ///
    /// - Returns: The documents that have changed meanwhile.
    private func write(_ decided: [Decided], _ report: inout ConflictReport) throws -> [DocumentID]
    {
        guard !decided.isEmpty else { return [] }
        var changed: [DocumentID] = []
        var outcome = ConflictReport()
        do {
            try database.write { transaction in
                for (conflict, resolution) in decided {
                    do {
                        try transaction.resolve(conflict, by: resolution)
                        outcome.resolved += 1
                    } catch let error as DatabaseError {
                        if error.code == .conflict {
                            changed.append(conflict.id)
                        } else {
                            // A failure that must not be ignored stops the commit, too.
                            outcome.failures.append(
                                ConflictReport.Failure(id: conflict.id, error: error))
                        }
                    }
                }
            }
        } catch let error as DatabaseError where error.code == .corrupted {
            guard decided.count == 1 else {
                return try decided.flatMap { try write([$0], &report) }
            }
            let failure = ConflictReport.Failure(id: decided[0].conflict.id, error: error)
            outcome = ConflictReport(failures: [failure])
        }
        report.resolved += outcome.resolved
        report.failures += outcome.failures
        return changed
    }
}
