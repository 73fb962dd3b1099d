// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex
internal import DivanLogging
package import DivanModel
internal import DivanStorage

// Deleting the bodies of a document, with what indexes keep under their sequences.
extension WriteContext {
    /// Deletes stored revisions of a document.
    ///
    /// - Parameters:
    ///   - gone: Their sequences.
    ///   - id: The document.
    ///   - tree: The document's tree, which has forgotten them.
    /// - Throws: `StorageError`, `.corrupted`.
    package func removeRevisions(
        _ gone: some Collection<SequenceNumber>, of id: DocumentID, leaving tree: RevisionTree
    ) throws {
        guard !gone.isEmpty else { return }
        let (writer, snapshot) = try transaction()
        for sequence in gone { try removeRevision(sequence, writer, snapshot) }
        guard try !indexesWithLists(snapshot).isEmpty else { return }
        var loss = losses[id] ?? EmissionLists.Loss(gone: [], kept: [])
        loss.gone += gone
        loss.kept = tree.sequences
        losses[id] = loss
        // A document may have ten thousand leaves, so it is the sequences that count.
        sequencesOfLosses += gone.count + loss.kept.count
        if sequencesOfLosses >= Self.mostSequences { try settleLosses() }
    }

    /// Has the indexes follow what documents have lost, of many documents at once: before they are read or written, before
    /// a savepoint, and at the end.
    ///
    /// - Throws: `StorageError`.
    package func settleLosses() throws {
        guard !losses.isEmpty else { return }
        let (writer, snapshot) = try transaction()
        for index in try indexesWithLists(snapshot) {
            do { try EmissionLists.apply(losses, to: index.stores, writer) } catch
                where error.isIndexDamage
            {
                // No document may depend on an index: the next query builds it from the documents.
                Log.database.warning(
                    "Emptied the index '\(index.name.text)' of the database '\(snapshot.core.name)', since it is damaged."
                )
                _ = try makeIndex(
                    index.name, signature: index.record.signature, version: index.record.version)
            }
        }
        forgetLosses()
    }

    /// Forgets the losses, which are settled or undone.
    func forgetLosses() {
        losses = [:]
        sequencesOfLosses = 0
    }

    private static let mostSequences = 100_000

    /// The indexes that have rows of documents.
    private func indexesWithLists(_ snapshot: Snapshot) throws -> [ListedIndex] {
        if let listedIndexes { return listedIndexes }
        let found = try snapshot.indexNames().compactMap { try listedIndex($0, snapshot) }
        listedIndexes = found
        return found
    }

    /// An index with its lists; nil for one that has none, and for one whose record is damaged, which no query can use.
    private func listedIndex(_ name: IndexName, _ snapshot: Snapshot) throws -> ListedIndex? {
        let record: IndexRecord?
        do { record = try snapshot.indexRecord(name) } catch let error as DatabaseError
            where error.code == .corrupted
        { return nil }
        guard let record, record.hasRows else { return nil }
        return ListedIndex(
            name: name, record: record,
            stores: IndexStores(number: record.number, engine: snapshot.core.engine))
    }
}

/// An index that has lists of what documents emitted.
struct ListedIndex {
    var name: IndexName
    var record: IndexRecord
    var stores: IndexStores
}

extension Error {
    fileprivate var isIndexDamage: Bool {
        self is IndexCorruption || (self as? StorageError)?.code == .corrupted
    }
}

extension RevisionTree {
    /// The sequences of the revisions whose bodies are stored, the highest first.
    package var sequences: [SequenceNumber] { nodes.compactMap(\.sequence).sorted(by: >) }
}
