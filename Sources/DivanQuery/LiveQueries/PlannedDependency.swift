// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanModel

/// What the answer of a selector or of a query of the builder depends on: the rows of property indexes
/// that were read, and the documents that were looked at.
///
///     read        rows "post" … "post" of the index on type          documents a, b, c
///     touched by  a row that comes into or leaves that range, or      a change of a, b or c
///     not by      a document of another type
///
/// An answer that was not found by indexes alone depends on everything.
struct PlannedDependency: LiveDependency {
    /// The ranges of an index, and where the index stood.
    private struct Reading {
        var map: PropertyIndexMap
        var place: IndexTouches.Place
        var ranges: [RowRange]
    }

    private let core: DatabaseCore
    private var readings: [Reading]
    private let documentIDs: Set<DocumentID>
    /// Keeps the steps of the indexes being kept.
    private let tokens: [ListenerToken]

    /// Makes the dependency of a run; nil when it depends on everything.
    ///
    /// - Parameters:
    ///   - core: The database.
    ///   - path: The way that was taken.
    ///   - examined: What was looked at.
    ///   - tokens: They have kept the indexes followed since before the run.
    init?(
        _ core: DatabaseCore, _ path: AccessPath, _ examined: ExaminedDocuments,
        _ tokens: [ListenerToken]
    ) {
        guard let documentIDs = examined.all, let accesses = path.indexAccesses else { return nil }
        self.core = core
        self.documentIDs = documentIDs
        self.tokens = tokens
        readings = accesses.map {
            Reading(map: $0.map, place: $0.record.place, ranges: $0.ranges)
        }
    }

    mutating func isTouched(by changed: Set<DocumentID>?) throws -> Bool {
        guard let changed, changed.isDisjoint(with: documentIDs) else { return true }
        try core.updatePropertyIndexes(readings.map(\.map))
        var places: [IndexTouches.Place] = []
        for reading in readings {
            let name = reading.map.indexName
            guard let now = try core.read({ try $0.indexRecord(name) })?.place,
                let keys = core.indexTouches.keys(name, from: reading.place, to: now)
            else { return true }
            for key in keys where reading.ranges.contains(where: { $0.contains(key) }) {
                return true
            }
            places.append(now)
        }
        for (index, place) in places.enumerated() { readings[index].place = place }
        return false
    }
}

extension AccessPath {
    /// The indexes that are read; nil when documents or times are, too.
    fileprivate var indexAccesses: [IndexAccess]? {
        switch self {
        case .nothing: return []
        case .documents, .expirations: return nil
        case .index(let access): return [access]
        case .union(let paths):
            var accesses: [IndexAccess] = []
            for path in paths {
                guard let more = path.indexAccesses else { return nil }
                accesses += more
            }
            return accesses
        }
    }
}

extension PlannedQuery {
    /// Has the indexes that the query may read followed.
    func followIndexes() throws -> [ListenerToken] {
        guard !core.options.readOnly else { return [] }
        return try indexesToFollow().map { core.indexTouches.follow($0.indexName) }
    }
}
