// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

/// What has been read of a database and holds in each snapshot of one reader until a transaction commits.
///
/// A small query costs what every query asks: the counters, the declared indexes, their records. While nothing is written,
/// they are read once for each reader of the pool. One thread at a time has a reader, and so its notes.
///
/// Only what follows from the stored bytes may be kept here, since all handles on a database's files share their readers.
package final class SnapshotNotes {
    var state: DatabaseState?
    /// What the module of queries keeps: an object of a type that is declared there.
    package var ofQueries: AnyObject?
}

extension Snapshot {
    /// The notes of the reader; inside a write transaction, whose content changes, empty ones that are not kept.
    package var notes: SnapshotNotes {
        if let kept = reader.notes as? SnapshotNotes { return kept }
        let notes = SnapshotNotes()
        reader.notes = notes
        return notes
    }

    /// Has everything read again, for a caller that looks for damage.
    package func forgetNotes() { reader.notes = nil }
}
