// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel

/// An index that lacks changes or purges, as a pass found it.
struct OutdatedIndex: Sendable {
    let definition: IndexDefinition
    /// Its record. Rows are written only where it still is the same.
    var record: IndexRecord
    /// Up to which sequence documents of the feed cannot have rows in it.
    var newThrough: SequenceNumber = 0

    /// Whether a document cannot have rows in it, so that it is left out if it emits none. A document
    /// that is consulted may have been brought by another row, as it stood then.
    func isNew(_ item: IndexPart.Item) -> Bool {
        item.sequence <= newThrough && !item.isConsulted
    }
}

extension OutdatedIndex {
    /// An index without rows that no database has a record of.
    init(unstored definition: IndexDefinition) {
        self.definition = definition
        record = IndexRecord(
            number: 1, signature: definition.signature, version: definition.version, seed: 1)
    }
}

extension IndexRecord {
    /// The changes and purges that are in the index.
    var mark: DatabaseMark { DatabaseMark(sequence: lastSequence, purge: lastPurge) }

    /// Whether the index lacks changes or purges.
    func isOutdated(in state: DatabaseState) -> Bool { !state.mark.isReached(by: mark) }

    /// Whether the rows are those of a definition.
    func isMade(by definition: IndexDefinition) -> Bool { isMade(by: definition.signature) }

    /// Whether the rows are those of the definition with a signature.
    func isMade(by other: String) -> Bool { signature.hasSameBytes(as: other) }
}

extension Snapshot {
    /// Whether an index has all that the snapshot has, as its definition makes it.
    func isUpToDate(_ record: IndexRecord, _ definition: IndexDefinition) throws -> Bool {
        try record.isMade(by: definition) && record.hasPartials && !record.isOutdated(in: state())
    }
}
