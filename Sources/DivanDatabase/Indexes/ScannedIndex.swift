// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex
internal import DivanLogging
internal import DivanModel
internal import DivanSQLite
internal import DivanStorage

/// An index in memory, made by a scan of all documents: what a database that is open for reading only
/// answers from when the stored index is old, of another version, or not there, and what answers a
/// query that is asked once.
///
/// It is built by the same steps as a stored index and asked by the same reader.
final class ScannedIndex: Sendable {
    let signature: String
    /// How far it has seen the database.
    let mark: DatabaseMark
    let failures: [IndexingFailure]
    private let engine: SQLiteEngine
    private let stores: IndexStores

    /// Any will do: nobody else sees the ranks.
    private static let seed: UInt64 = 1

    init(_ core: DatabaseCore, _ definition: IndexDefinition, isOneShot: Bool = false) throws {
        if !isOneShot {
            Log.database.info(
                "The index '\(definition.name.name)' of the database '\(core.name)' is not up to date, "
                    + "and the database is open for reading only: its documents are scanned.")
        }
        signature = definition.signature
        engine = try SQLiteEngine.inMemory(options: StorageOptions())
        stores = IndexStores(number: 1, engine: engine)
        var failures: [IndexingFailure] = []
        var mark = DatabaseMark(sequence: 0, purge: try core.read { try $0.state() }.lastPurge)
        var isAtEnd = false
        while !isAtEnd {
            let start = mark
            let feed = try core.read { try $0.indexFeed(after: start.sequence, purge: start.purge) }
            var mapped = [IndexMapping.Outcome()]
            IndexMapping(items: feed.items, indexes: [(definition, start.sequence)])
                .run(adding: &mapped, offset: 0)
            try Self.write(feed, mapped[0], definition, to: stores, of: engine, &failures)
            mark = DatabaseMark(sequence: feed.lastSequence, purge: feed.lastPurge)
            isAtEnd = feed.isAtEnd
        }
        self.mark = mark
        self.failures = Array(failures.prefix(IndexPass.Report.mostFailures))
        try Self.reduce(definition, stores, engine)
    }

    deinit { engine.close() }

    private static func write(
        _ feed: IndexFeed, _ mapped: IndexMapping.Outcome, _ definition: IndexDefinition,
        to stores: IndexStores, of engine: SQLiteEngine, _ failures: inout [IndexingFailure]
    ) throws {
        try engine.write(durably: false) { writer in
            var target = IndexWriter(
                stores, seed: seed, reducer: definition.reducer, writer)
            target.maintainsPartials = false
            target.tellsRows = false
            var emissions = mapped.emissions
            let present = Set(feed.items.map(\.id))
            for id in Set(feed.purged.map(\.id)).subtracting(present) {
                emissions.begin(id)
                emissions.end()
            }
            for failure in mapped.failures {
                let id = feed.items[mapped.positions[failure.place]].id
                failures.append(IndexingFailure(documentID: id.text, reason: failure.reason))
            }
            _ = try target.replace(
                with: &emissions, at: lastPlaces(feed, mapped, emissions.count)
            ) { _ in false }
        }
    }

    /// Each document once: one that is consulted may have come twice, as it stands both times.
    private static func lastPlaces(
        _ feed: IndexFeed, _ mapped: IndexMapping.Outcome, _ count: Int
    ) -> [Int]? {
        guard feed.items.contains(where: \.isConsulted) else { return nil }
        var last: [DocumentID: Int] = [:]
        for (place, position) in mapped.positions.enumerated() {
            last[feed.items[position].id] = place
        }
        return last.values + Array(mapped.positions.count..<count)
    }

    private static func reduce(
        _ definition: IndexDefinition, _ stores: IndexStores, _ engine: SQLiteEngine
    ) throws {
        let computed = try engine.read { reader in
            try IndexReader(stores, seed: seed, reader, hasPartials: false)
                .computePartials(reducer: definition.reducer) { _ in }
        }
        try engine.write(durably: false) { try computed.write(to: stores, $0) }
    }

    /// Lends the rows.
    func read<T>(_ body: (IndexReader) throws -> T) throws -> T {
        try engine.read { try body(IndexReader(stores, seed: Self.seed, $0)) }
    }
}
