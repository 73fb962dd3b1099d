// SPDX-License-Identifier: Apache-2.0

package import DivanModel
internal import DivanStorage

/// Documents touched after a mark, as far as one reading goes.
package struct TouchedDocuments: Sendable {
    /// The purges with their numbers, which come before the changes.
    package var purges: [(number: UInt64, id: DocumentID)] = []
    /// The changed documents with their sequences.
    package var changes: [(sequence: SequenceNumber, id: DocumentID)] = []
    /// Where the next reading begins.
    package var end: DatabaseMark
    /// Whether this is all there was.
    package var isAtEnd = false
    /// Whether documents were purged that are forgotten.
    package var hasForgottenPurges = false
    /// Where the database stood.
    var now: DatabaseMark

    /// What to tell followers: one change for each stretch by one source.
    func changes(by sources: CommitSources) -> [HubChange] {
        var told: [HubChange] = []
        if hasForgottenPurges {
            told.append(
                HubChange(
                    lastSequence: now.sequence, lastPurge: now.purge, documentIDs: [],
                    source: .otherProcess, isOfAnyDocument: true))
        }
        func add(_ id: DocumentID, _ source: ChangeSource) {
            if let last = told.last, last.source == source, !last.isOfAnyDocument {
                told[told.count - 1].documentIDs.append(id)
            } else {
                told.append(
                    HubChange(
                        lastSequence: now.sequence, lastPurge: now.purge, documentIDs: [id],
                        source: source))
            }
        }
        for purge in purges { add(purge.id, sources.source(ofPurge: purge.number)) }
        for change in changes { add(change.id, sources.source(ofSequence: change.sequence)) }
        return told
    }
}

// Reading the two feeds: what changed, by sequence, and what was purged, by purge number.
extension Snapshot {
    /// Calls `body` for each place of the changes feed after a sequence, up to `limit` of them, until
    /// it returns false.
    ///
    /// Each document has one place, the row at its last change; `superseded` tells which rows are
    /// none.
    ///
    /// - Returns: Where the next reading begins, and whether this one came to the end.
    func forEachPlace(
        after start: SequenceNumber, limit: Int,
        _ body: (any StorageCursor, SequenceNumber) throws -> Bool
    ) throws -> (last: SequenceNumber, isAtEnd: Bool) {
        guard start < UInt64(Int64.max) else { return (start, true) }
        let rows = try reader.cursor(in: core.stores.revisions)
        let marks = try reader.cursor(in: core.stores.superseded)
        defer {
            rows.close()
            marks.close()
        }
        var (last, count) = (start, 0)
        var nextMark = try marks.seek(toAtLeast: Int64(start) + 1) ? marks.integerKey : .max
        var found = try rows.seek(toAtLeast: Int64(start) + 1)
        var goesOn = true
        let flag = CancellationFlag.current
        while found, count < limit, goesOn {
            try flag?.check()
            let key = rows.integerKey
            while nextMark < key { nextMark = try marks.next() ? marks.integerKey : .max }
            if key != nextMark {
                last = SequenceNumber(key)
                goesOn = try body(rows, last)
                count += 1
            }
            found = try rows.next()
        }
        // At the end of the feed the marks of superseded rows behind it are passed, too.
        return found ? (last, false) : (max(start, try state().lastSequence), true)
    }

    /// Calls `body` for each purge after a number, up to `limit` of them.
    ///
    /// - Returns: As `forEachPlace`.
    func forEachPurge(
        after start: UInt64, limit: Int, _ body: (any StorageCursor, UInt64) throws -> Void
    ) throws -> (last: UInt64, isAtEnd: Bool) {
        guard start < UInt64(Int64.max) else { return (start, true) }
        let rows = try reader.cursor(in: core.stores.purges)
        defer { rows.close() }
        var (last, count) = (start, 0)
        var found = try rows.seek(toAtLeast: Int64(start) + 1)
        while found, count < limit {
            last = UInt64(rows.integerKey)
            try body(rows, last)
            count += 1
            found = try rows.next()
        }
        return found ? (last, false) : (max(start, try state().lastPurge), true)
    }

    /// Which documents were purged and changed after a mark, up to `limit` of each.
    ///
    /// Purges come first: a document that was purged and made anew must end as what it is. So no
    /// change is told before all purges are. Rows that cannot be read are passed over: they name no
    /// document, and what they spoil, reading the document tells. Purges that compaction has forgotten
    /// are told as such: they may have been of any document.
    package func touchedDocuments(after start: DatabaseMark, limit: Int) throws -> TouchedDocuments
    {
        try DatabaseCore.blaming(nil) {
            let now = try state().mark
            var touched = TouchedDocuments(end: start, now: now)
            guard !now.isReached(by: start) else {
                touched.isAtEnd = true
                return touched
            }
            touched.hasForgottenPurges = try start.purge < state().forgottenPurge
            let purges = try forEachPurge(after: start.purge, limit: limit) { rows, number in
                let id = try readable(rows) { try PurgeRecord($0).documentID }
                if let id { touched.purges.append((number, id)) }
            }
            touched.end.purge = purges.last
            guard purges.isAtEnd else { return touched }
            let changes = try forEachPlace(after: start.sequence, limit: limit) { rows, sequence in
                let id = try readable(rows) { try RevisionRow($0).documentID }
                if let id { touched.changes.append((sequence, id)) }
                return true
            }
            touched.end.sequence = changes.last
            touched.isAtEnd = changes.isAtEnd
            return touched
        }
    }

    /// Decodes the row that a cursor stands on; nil when it is damaged.
    func readable<T>(_ rows: any StorageCursor, _ decode: (Span<UInt8>) throws -> T) throws -> T? {
        var value: T?
        _ = try DatabaseCore.damage(nil) {
            try rows.withValue { row in value = try DatabaseCore.decoding(nil) { try decode(row) } }
        }
        return value
    }
}
