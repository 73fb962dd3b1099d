// SPDX-License-Identifier: Apache-2.0

package import DivanModel

/// How far a database, or a follower of it, has come: two counters that only grow.
///
/// Every change of a document raises one of them or both: an edit the first, a purge the second, and
/// a purge of single revisions both.
package struct DatabaseMark: Sendable, Equatable {
    /// The last sequence.
    package var sequence: SequenceNumber
    /// The last purge.
    package var purge: UInt64

    /// Makes the mark of a sequence and a purge.
    package init(sequence: SequenceNumber, purge: UInt64) {
        self.sequence = sequence
        self.purge = purge
    }

    /// Whether nothing is left to see for a follower that has come as far as `other`.
    package func isReached(by other: DatabaseMark) -> Bool {
        sequence <= other.sequence && purge <= other.purge
    }
}

extension DatabaseState {
    /// Where the database stands.
    package var mark: DatabaseMark { DatabaseMark(sequence: lastSequence, purge: lastPurge) }
}

/// What a transaction of this process changed.
struct Commit: Sendable {
    /// Where the database stood before and after; all between is this transaction's.
    var begin: DatabaseMark
    var end: DatabaseMark
    /// The documents it changed; nil when they are too many, or when there was no follower.
    var documentIDs: [DocumentID]?
    var source: ChangeSource
}
