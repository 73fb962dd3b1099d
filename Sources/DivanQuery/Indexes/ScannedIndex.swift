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
        var index = OutdatedIndex(unstored: definition)
        index.record.lastPurge = try core.read { try $0.state() }.lastPurge
        var failures: [IndexingFailure] = []
        var isAtEnd = false
        while !isAtEnd {
            try CancellationFlag.check()
            let mark = index.record.mark
            var part = try IndexPiece(
                core, for: [index], after: mark.sequence, purge: mark.purge
            ).mapped()
            // A map function that was broken off has not failed.
            try CancellationFlag.check()
            try Self.write(&part, to: stores, of: engine, &failures)
            definition.text?.removeTerms(memory: core.options.memoryForIndexing)
            (index.record.lastSequence, index.record.lastPurge) = (
                part.lastSequence, part.lastPurge
            )
            // See IndexPass, invariant 4.
            isAtEnd = part.lastSequence >= part.seen
        }
        mark = index.record.mark
        self.failures = Array(failures.prefix(IndexPass.Report.mostFailures))
        if definition.text == nil { try Self.reduce(definition, stores, engine) }
    }

    deinit { engine.close() }

    private static func write(
        _ part: inout IndexPart, to stores: IndexStores, of engine: any StorageEngine,
        _ failures: inout [IndexingFailure]
    ) throws {
        part.addPurged(to: 0)
        // A document that is consulted may have come twice, as it stands both times.
        let places = part.places(0)
        failures += try part.failures(0, nil)
        try engine.write(durably: false) { writer in
            let index = part.indexes[0]
            if let text = index.definition.text {
                var target = TextIndexWriter(TextIndexStores(number: 1, engine: engine), writer)
                _ = try target.replace(
                    with: part.rows[0].emissions, at: places, text.vocabulary
                ) { _ in false }
            } else {
                var target = IndexWriter(
                    stores, seed: seed, reducer: index.definition.reducer, writer)
                target.keepsPartials = false
                target.tellsRows = false
                _ = try target.replace(
                    with: &part.rows[0].emissions, at: places, .unknown)
            }
        }
    }

    private static func reduce(
        _ definition: IndexDefinition, _ stores: IndexStores, _ engine: any StorageEngine
    ) throws {
        let computed: ComputedPartials
        do {
            computed = try engine.read { reader in
                try IndexReader(stores, seed: seed, reader, hasPartials: false)
                    .computePartials(reducer: definition.reducer) { _ in }
            }
        } catch let error as InterruptedReduction { throw error.cause }
        try engine.write(durably: false) { try computed.write(to: stores, $0) }
    }

    /// Lends the postings of a full-text index.
    func readText<T>(_ body: (TextIndexReader) throws -> T) throws -> T {
        let stores = TextIndexStores(number: 1, engine: engine)
        return try engine.read { try body(TextIndexReader(stores, $0)) }
    }

    /// Lends the rows.
    func read<T>(_ body: (IndexReader) throws -> T) throws -> T {
        try engine.read { try body(IndexReader(stores, seed: Self.seed, $0)) }
    }
}
