// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
internal import DivanQuery

/// What ``Database/performMaintenance(_:progress:)`` does.
public enum MaintenanceKind: String, Sendable, CaseIterable {
    /// Deletes the bodies of old revisions and unused attachments: ``Database/compact(progress:)``.
    case compact
    /// Builds all indexes anew from the documents.
    case reindex
    /// Checks everything, as ``Database/verify(progress:)`` does, and fails if something is wrong.
    case integrityCheck
}

extension Database {
    /// Does a piece of housekeeping, under the names that Couchbase Lite 2 has.
    ///
    /// ```swift
    /// try database.performMaintenance(.reindex)
    /// ```
    ///
    /// There is nothing else to optimise: queries are planned by counts of rows that are always
    /// exact, so there are no statistics to gather.
    ///
    /// A reindex empties every index in one transaction and builds those whose functions are known in this
    /// process: on properties, full text, and views that have a map function. The other views are built by
    /// their next query. When it is stopped, queries go on from there.
    ///
    /// - Parameters:
    ///   - kind: What to do.
    ///   - progress: Gets reports; throwing stops the work.
    /// - Throws: `DatabaseError` with code `.corrupted` when a check finds a problem, as
    ///   ``compact(progress:)`` and ``verify(progress:)``, and what `progress` throws.
    public func performMaintenance(_ kind: MaintenanceKind, progress: ProgressHandler? = nil) throws
    {
        switch kind {
        case .compact: try compact(progress: progress)
        case .reindex: try rebuildIndexes(progress: progress)
        case .integrityCheck:
            let problems = try verify(progress: progress)
            guard let first = problems.first else { return }
            throw DatabaseError.unsound(name, problems.count, first)
        }
    }
}

extension DatabaseError {
    fileprivate static func unsound(_ name: String, _ count: Int, _ first: VerificationProblem)
        -> DatabaseError
    {
        DatabaseError(
            .corrupted,
            "The database '\(name)' has \(count == 1 ? "a problem" : "\(count) problems"): "
                + "\(first.message) Salvage copies what is sound.",
            documentID: first.documentID)
    }
}
