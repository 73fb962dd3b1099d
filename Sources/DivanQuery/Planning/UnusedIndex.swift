// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON
internal import DivanLogging
internal import Synchronization

/// An index that has something to do with a query, and that the query does not read.
struct UnusedIndex {
    enum Reason: Hashable {
        /// It sorts texts in another way than the query compares them.
        case collation
        /// It has only some of the documents, and the query does not name it.
        case filter
        /// The query asks nothing about its first property.
        case firstProperty
        /// The query wants deleted documents, which no index has.
        case deletedDocuments
        /// It lacks changes, and cannot be brought up to date here.
        case outdated
        /// Another index on the same properties was read, or could have been.
        case twin
        /// It promised no less work than what was done instead.
        case noGain
    }

    var map: PropertyIndexMap
    var reason: Reason
    /// The collation of the query.
    var collation: Collation

    /// Why it is not used, as the rest of a sentence.
    var explanation: String {
        switch reason {
        case .collation:
            return "it sorts texts by .\(map.order.rawValue), and the query compares them by "
                + ".\(collation.rawValue)"
        case .filter: return "it has a filter, and the query does not name it"
        case .firstProperty:
            return "the query has no condition on its first property, '\(map.index.paths[0])'"
        case .deletedDocuments: return "the query wants deleted documents, too"
        case .outdated: return "it lacks changes, and cannot be brought up to date here"
        case .twin: return "another index on the same properties sorts as the query does"
        case .noGain: return "it promises no less work"
        }
    }
}

extension PlannedQuery {
    /// The indexes on properties that the query asks for which a run did not read, and why: but for those whose
    /// price is told beside that of the way that was taken.
    ///
    /// - Parameters:
    ///   - report: What was done.
    ///   - planner: What may have been read instead.
    /// - Returns: The indexes, by name.
    /// - Throws: `DatabaseError`.
    func unusedIndexes(_ report: QueryReport, _ planner: Planner) throws -> [UnusedIndex] {
        let told = NameSet(
            report.path.indexNames + report.plan.considered.flatMap(\.path.indexNames))
        let current = NameSet(planner.indexes.map(\.map.index.name))
        let asked = Set(order.map { IndexComponent($0.path) }).union(constraint.components)
        return try planner.snapshot.propertyIndexes().compactMap { map in
            let isCurrent = current.contains(map.index.name)
            guard !told.contains(map.index.name), indexName == nil || isCurrent,
                map.components.contains(where: { asked.contains($0) })
            else { return nil }
            if let reason = reasonAgainst(map) {
                return UnusedIndex(map: map, reason: reason, collation: collation)
            }
            let hasTwin = planner.indexes.contains { $0.map.components == map.components }
            return UnusedIndex(
                map: map, reason: isCurrent ? .noGain : hasTwin ? .twin : .outdated,
                collation: collation)
        }
    }

    /// Tells the log, once for each index and reason, that a query reads all documents although there is an index.
    func noteUnusedIndexes(_ report: QueryReport, _ planner: Planner) throws {
        guard case .documents(.all) = report.path, planner.documentCount > 1_000, !isUnconditional
        else { return }
        for unused in try unusedIndexes(report, planner)
        where unused.reason == .collation || unused.reason == .outdated {
            guard core.unusedIndexNotes.isNew(unused) else { continue }
            Log.database.warning(
                "A query of the database '\(core.name)' reads all documents and does not use the index "
                    + "'\(unused.map.index.name)': \(unused.explanation).")
        }
    }

    private var isUnconditional: Bool { order.isEmpty && constraint.simplified.isAnything }
}

/// Which unused indexes the log was told of.
///
/// State: `told`, guarded by its mutex.
final class UnusedIndexNotes: ModuleState {
    private struct Note: Hashable {
        @ByBytes var name: String
        var reason: UnusedIndex.Reason
    }

    private let told = Mutex<Set<Note>>([])

    func isNew(_ unused: UnusedIndex) -> Bool {
        told.withLock {
            $0.insert(Note(name: unused.map.index.name, reason: unused.reason)).inserted
        }
    }

    /// Does nothing: what the log was told stays told.
    func close() {}
}

extension DatabaseCore {
    fileprivate var unusedIndexNotes: UnusedIndexNotes { states.state(of: UnusedIndexNotes.self) }
}
