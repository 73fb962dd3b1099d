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
struct ConflictSweep {
    let database: Database
    let progress: ProgressHandler?

    /// Decides a conflict.
    typealias Decision = (Conflict) throws -> ConflictResolution

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
            guard let end = page.last?.id else { return report }
            try resolve(page, decide, &report)
            last = end
        }
    }

    private func page(after last: DocumentID?) throws -> [Conflict] {
        try database.checkOpen()
        return try database.core.read { snapshot in
            var page: [Conflict] = []
            var size = 0
            try snapshot.forEachConflictedID(after: last) { id in
                if let conflict = try snapshot.conflict(id) {
                    page.append(conflict)
                    size += conflict.leaves.reduce(0) { $0 + $1.body.bytes.count }
                }
                return page.count < Self.pageSize && size < Self.pageBytes
            }
            return page
        }
    }

    private func resolve(_ page: [Conflict], _ decide: Decision, _ report: inout ConflictReport)
        throws
    {
        var decided: [(conflict: Conflict, resolution: ConflictResolution)] = []
        for conflict in page {
            do {
                decided.append((conflict, try decide(conflict)))
            } catch {
                report.failures.append(ConflictReport.Failure(id: conflict.id, error: error))
            }
        }
        var changed: [DocumentID] = []
        var outcome = ConflictReport()
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
        for id in changed {
            do {
                try database.resolveConflicts(of: id, decide)
                outcome.resolved += 1
            } catch {
                outcome.failures.append(ConflictReport.Failure(id: id, error: error))
            }
        }
        report.resolved += outcome.resolved
        report.failures = (report.failures + outcome.failures).sorted { $0.id < $1.id }
    }
}
