// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanLogging
internal import DivanModel
internal import DivanStorage

/// An index in memory, made by a scan of all documents: a database that is open for reading only, and
/// a query inside a read, answer from it when the stored index is old, of another version, or missing.
/// A one-shot query is answered from it, too.
///
/// It is built by the same steps as a stored index and read by the same reader.
final class ScannedIndex: Sendable {
    let signature: String
    /// How far it has seen the database.
    let mark: DatabaseMark
    let failures: [IndexingFailure]
    private let engine: any StorageEngine
    private let stores: IndexStores

    /// Any seed will do: only this scan sees the ranks.
    private static let seed: UInt64 = 1

    init(_ core: DatabaseCore, _ definition: IndexDefinition, isOneShot: Bool = false) throws {
        if !isOneShot {
            Log.database.info(
                "The index '\(definition.name.name)' of the database '\(core.name)' is not up to date, "
                    + "and cannot be brought up to date here: its documents are scanned.")
        }
        signature = definition.signature
        engine = try KnownEngines.scratch()
        stores = IndexStores(number: 1, engine: engine)
        var failures: [IndexingFailure] = []
        var mark = DatabaseMark(sequence: 0, purge: try core.read { try $0.state() }.lastPurge)
        var isAtEnd = false
        while !isAtEnd {
            try CancellationFlag.check()
            let piece = try IndexPiece(
                core, for: [IndexPart.Index(definition: definition, lastSequence: mark.sequence)],
                after: mark.sequence, purge: mark.purge)
            var mapped = MappedFeed(indexes: 1)
            try IndexMapping(piece: piece).run(adding: &mapped)
            try Self.write(
                mapped, piece.first.feed.purged, definition, to: stores, of: engine, &failures)
            mark = DatabaseMark(sequence: mapped.lastSequence, purge: piece.first.feed.lastPurge)
            // See IndexPass, invariant 4.
            isAtEnd = mapped.lastSequence >= mapped.seen
        }
        self.mark = mark
        self.failures = Array(failures.prefix(IndexPass.Report.mostFailures))
        try Self.reduce(definition, stores, engine)
    }

    deinit { engine.close() }

    private static func write(
        _ mapped: MappedFeed, _ purged: [(purge: UInt64, id: DocumentID)],
        _ definition: IndexDefinition, to stores: IndexStores, of engine: any StorageEngine,
        _ failures: inout [IndexingFailure]
    ) throws {
        try engine.write(durably: false) { writer in
            var target = IndexWriter(
                stores, seed: seed, reducer: definition.reducer, writer)
            target.keepsPartials = false
            target.tellsRows = false
            let outcome = mapped.outcomes[0]
            var emissions = outcome.emissions
            emissions.addMissing(purged.map(\.id))
            for failure in outcome.failures {
                let id = try emissions.documentID(failure.place)
                failures.append(IndexingFailure(documentID: id.text, reason: failure.reason))
            }
            // A document that is consulted may have come twice, as it stands both times.
            let places =
                mapped.items.contains(where: \.isConsulted)
                ? emissions.lastPlaces(amongFirst: outcome.positions.count) : nil
            _ = try target.replace(with: &emissions, at: places) { _ in false }
        }
    }

    private static func reduce(
        _ definition: IndexDefinition, _ stores: IndexStores, _ engine: any StorageEngine
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
