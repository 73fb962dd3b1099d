// SPDX-License-Identifier: Apache-2.0

package import DivanModel

/// The row of a document in `documents`: its revision tree, and where it stands in the changes feed.
///
///     offset  size     meaning
///          0     1     flags: 1 deleted, 2 conflicted, 4 update sequence follows, 8 expires
///          1  0..10    varint: update sequence, only with flag 4
///          …   0..7    varint: when it expires, milliseconds since 1970, only with flag 8
///          …     …     the revision tree, winner first (RevisionTree+Encoding)
///
/// Without flag 4 the update sequence is that of the winner, which is the usual case and saves three
/// bytes a document. The flags repeat what the tree says, so that a scan need not decode the tree.
package struct DocumentRecord {
    struct Flags: OptionSet {
        let rawValue: UInt8
        static let deleted = Flags(rawValue: 1)
        static let conflicted = Flags(rawValue: 2)
        static let hasUpdateSequence = Flags(rawValue: 4)
        static let expires = Flags(rawValue: 8)
        static let known: Flags = [.deleted, .conflicted, .hasUpdateSequence, .expires]
    }

    /// What a reader of the winner needs: decoded without the rest of the tree.
    package struct Head {
        var flags: Flags
        /// The winning revision.
        package var winner: RevisionTree.Node
        var updateSequence: SequenceNumber
        /// Whether the winner is a tombstone.
        package var isDeleted: Bool { flags.contains(.deleted) }
        /// Whether the document has more than one live leaf.
        package var isConflicted: Bool { flags.contains(.conflicted) }
    }

    /// The revisions, the winner first.
    package var tree: RevisionTree
    /// The document's place in the changes feed: the highest sequence that any change gave it.
    package var updateSequence: SequenceNumber
    /// When the document expires, if it does.
    package var expiration: ExpirationTime?

    init(
        tree: RevisionTree, updateSequence: SequenceNumber, expiration: ExpirationTime? = nil
    ) {
        self.tree = tree
        self.updateSequence = updateSequence
        self.expiration = expiration
    }

    /// Reads a row.
    package init(_ row: Span<UInt8>) throws {
        var reader = RowReader()
        let explicit = try Self.decodePrefix(row, &reader)
        tree = try RevisionTree(decoding: row, at: &reader.offset)
        guard let winner = tree.winner, let sequence = explicit.sequence ?? winner.sequence else {
            throw MalformedRow()
        }
        try Self.check(sequence)
        for node in tree.nodes { try Self.check(node.sequence ?? 0) }
        updateSequence = sequence
        expiration = explicit.expiration
    }

    /// Reads the beginning of a row, up to the winner.
    package static func head(_ row: Span<UInt8>) throws -> Head {
        var reader = RowReader()
        let (flags, explicit, _) = try decodePrefix(row, &reader)
        let winner = try RevisionTree.decodeWinner(row, at: &reader.offset)
        guard let sequence = explicit ?? winner.sequence else { throw MalformedRow() }
        try check(sequence)
        try check(winner.sequence ?? 0)
        return Head(flags: flags, winner: winner, updateSequence: sequence)
    }

    /// Reads the first byte of a row.
    static func flags(_ row: Span<UInt8>) throws -> Flags {
        var reader = RowReader()
        return try flags(row, &reader)
    }

    private static func flags(_ row: Span<UInt8>, _ reader: inout RowReader) throws -> Flags {
        let flags = Flags(rawValue: try reader.byte(row))
        guard flags.isSubset(of: .known) else { throw MalformedRow() }
        return flags
    }

    /// Writes the record of a new document, for which no tree need be built.
    static func encode(
        only revision: RevisionID, isTombstone: Bool, sequence: SequenceNumber,
        into row: inout [UInt8]
    ) {
        row.append(isTombstone ? Flags.deleted.rawValue : 0)
        RevisionTree.encode(
            only: revision, isTombstone: isTombstone, sequence: sequence, to: &row)
    }

    func encode(into row: inout [UInt8]) {
        var flags: Flags = []
        if tree.isDeleted { flags.insert(.deleted) }
        if tree.isConflicted { flags.insert(.conflicted) }
        let isExplicit = tree.winner?.sequence != updateSequence
        if isExplicit { flags.insert(.hasUpdateSequence) }
        if expiration != nil { flags.insert(.expires) }
        row.append(flags.rawValue)
        if isExplicit { Varint.append(updateSequence, to: &row) }
        if let expiration { Varint.append(expiration.milliseconds, to: &row) }
        tree.encode(to: &row)
    }

    /// Refuses what no key of `revisions` can be, so that no look-up of a sequence need check.
    private static func check(_ sequence: SequenceNumber) throws {
        guard sequence <= SequenceNumber(Int64.max) else { throw MalformedRow() }
    }

    private static func decodePrefix(_ row: Span<UInt8>, _ reader: inout RowReader) throws
        -> (flags: Flags, sequence: SequenceNumber?, expiration: ExpirationTime?)
    {
        let flags = try flags(row, &reader)
        let sequence = flags.contains(.hasUpdateSequence) ? try reader.varint(row) : nil
        guard flags.contains(.expires) else { return (flags, sequence, nil) }
        return (flags, sequence, try ExpirationTime(stored: try reader.varint(row)))
    }
}
