// SPDX-License-Identifier: Apache-2.0

package import DivanModel

/// The counters of a database, one row in `info`, written in every commit that changes them.
///
/// Nine little-endian 64-bit words in the order of the properties. Sequences are taken from here and
/// never derived from the highest row, so none is ever used twice, also after a purge.
package struct DatabaseState: Equatable, Sendable {
    static let key = Array("state".utf8)

    /// The sequence that was given last.
    package var lastSequence: SequenceNumber = 0
    /// The purge sequence that was given last.
    package var lastPurge: UInt64 = 0
    /// Documents whose winner is live.
    package var liveDocuments: UInt64 = 0
    /// Documents whose winner is a tombstone.
    package var deletedDocuments: UInt64 = 0
    /// Documents with more than one live leaf.
    var conflictedDocuments: UInt64 = 0
    /// Revisions in `superseded` that compaction would free.
    package var deadBodies: UInt64 = 0

    /// How many revisions of each branch are kept with more than their ID, if compaction leaves it.
    ///
    /// It stands here and not in a row of its own because every transaction reads this one: so a
    /// change by another process counts from its commit on.
    package var revisionBodyLimit: UInt64 = 20
    /// The last purge whose row in `purges` has been forgotten; 0 for none.
    package var forgottenPurge: UInt64 = 0
    /// How many revision IDs of each branch are kept.
    package var revisionLimit = DatabaseState.standardRevisionLimit

    /// As many as CouchDB and PouchDB keep, so that a history from there stays whole here.
    package static let standardRevisionLimit: UInt64 = 1_000
    /// The limits of revisions that are stored: higher ones, which mean that all are kept, are stored as the last of these.
    ///
    /// No branch is as long. What is beyond them in a row is taken for the nearest of them: such a row means what it says,
    /// and earlier releases could write one.
    package static let limits: ClosedRange<UInt64> = 1...UInt64(Int32.max)

    init() {}

    init(_ row: Span<UInt8>) throws {
        var reader = RowReader()
        lastSequence = try reader.fixed64(row)
        lastPurge = try reader.fixed64(row)
        liveDocuments = try reader.fixed64(row)
        deletedDocuments = try reader.fixed64(row)
        conflictedDocuments = try reader.fixed64(row)
        deadBodies = try reader.fixed64(row)
        revisionBodyLimit = Self.nearest(try reader.fixed64(row))
        forgottenPurge = try reader.fixed64(row)
        // Rows of formats 1 and 2 end here.
        if reader.offset < row.count { revisionLimit = Self.nearest(try reader.fixed64(row)) }
        try check()
    }

    /// The nearest limit that is stored.
    package static func nearest(_ limit: UInt64) -> UInt64 {
        min(max(limit, limits.lowerBound), limits.upperBound)
    }

    /// Refuses counters that no database can have reached: counting on from them would overflow, or
    /// use a key again.
    private func check() throws {
        let counters = [
            lastSequence, lastPurge, liveDocuments, deletedDocuments, conflictedDocuments,
            deadBodies,
        ]
        guard counters.allSatisfy({ $0 < UInt64(Int64.max) }), forgottenPurge <= lastPurge
        else { throw MalformedRow() }
    }

    /// Appends the row.
    ///
    /// - Throws: `MalformedRow` for what would be refused when it is read.
    func encode(into row: inout [UInt8]) throws {
        try check()
        row.append(fixed64: lastSequence)
        row.append(fixed64: lastPurge)
        row.append(fixed64: liveDocuments)
        row.append(fixed64: deletedDocuments)
        row.append(fixed64: conflictedDocuments)
        row.append(fixed64: deadBodies)
        row.append(fixed64: Self.nearest(revisionBodyLimit))
        row.append(fixed64: forgottenPurge)
        row.append(fixed64: Self.nearest(revisionLimit))
    }
}

/// The settings kept in `info`, one row each: a varint.
package enum Setting: String {
    /// The number given to an index last.
    case lastIndex
    /// How many purges a compaction leaves in the list of them, where the app has set it.
    case keptPurges

    var key: [UInt8] { Array(rawValue.utf8) }
}
