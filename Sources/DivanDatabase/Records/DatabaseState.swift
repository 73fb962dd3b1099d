// SPDX-License-Identifier: Apache-2.0

internal import DivanModel

/// The counters of a database, one row in `info`, written in every commit that changes them.
///
/// Six little-endian 64-bit words in the order of the properties. Sequences are taken from here and
/// never derived from the highest row, so none is ever used twice, also after a purge.
struct DatabaseState: Equatable, Sendable {
    static let key = Array("state".utf8)

    var lastSequence: SequenceNumber = 0
    var lastPurge: UInt64 = 0
    /// Documents whose winner is live.
    var liveDocuments: UInt64 = 0
    /// Documents whose winner is a tombstone.
    var deletedDocuments: UInt64 = 0
    /// Documents with more than one live leaf.
    var conflictedDocuments: UInt64 = 0
    /// Revisions in `superseded` that compaction would free.
    var deadBodies: UInt64 = 0

    init() {}

    init(_ row: Span<UInt8>) throws {
        var reader = RowReader()
        lastSequence = try reader.fixed64(row)
        lastPurge = try reader.fixed64(row)
        liveDocuments = try reader.fixed64(row)
        deletedDocuments = try reader.fixed64(row)
        conflictedDocuments = try reader.fixed64(row)
        deadBodies = try reader.fixed64(row)
    }

    func encode(into row: inout [UInt8]) {
        let words = (
            lastSequence, lastPurge, liveDocuments, deletedDocuments, conflictedDocuments,
            deadBodies
        )
        row.append(fixed64: words.0)
        row.append(fixed64: words.1)
        row.append(fixed64: words.2)
        row.append(fixed64: words.3)
        row.append(fixed64: words.4)
        row.append(fixed64: words.5)
    }
}

/// The settings kept in `info`, one row each: a varint.
enum Setting: String {
    case maxRevTreeDepth
    /// The number given to an index last.
    case lastIndex

    var key: [UInt8] { Array(rawValue.utf8) }
}
