// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel
internal import DivanStorage

/// The contents of a document's stored revisions, as the stubs of a new one ask for them.
///
/// A document may have thousands of revisions and its edit thousands of stubs, so the revisions are gone through once for all
/// stubs, and only where a stub asks.
struct KnownContents {
    private let id: DocumentID
    private var stubs: NameMap<JSONObject>?
    private var sequences: [SequenceNumber]?
    private var found: [AttachmentKey: Bool] = [:]
    private var awaited: [AttachmentKey: Bool] = [:]

    /// Asks nothing yet.
    init(_ id: DocumentID) { self.id = id }

    /// The stub of a stored revision whose content has an MD5; nil where none is known to have it.
    mutating func stub(withMD5 md5: String, in snapshot: Snapshot) throws -> JSONObject? {
        let all = try stubs ?? snapshot.knownStubs(of: id)
        stubs = all
        return all[md5]
    }

    /// Whether a stored revision refers to a content.
    mutating func contains(_ key: AttachmentKey, in snapshot: Snapshot) throws -> Bool {
        if let known = found[key] { return known }
        let all = try sequences ?? snapshot.storedSequences(of: id)
        sequences = all
        let isThere = try snapshot.isReferenced(key, byAnyOf: all)
        found[key] = isThere
        return isThere
    }

    /// Whether a stored revision, of any document, lacks a content that a peer may bring.
    mutating func awaits(_ key: AttachmentKey, in snapshot: Snapshot) throws -> Bool {
        if let known = awaited[key] { return known }
        let isAwaited = try snapshot.isAwaited(key)
        awaited[key] = isAwaited
        return isAwaited
    }
}

extension Snapshot {
    /// Where the stored revisions of a document stand, in order.
    fileprivate func storedSequences(of id: DocumentID) throws -> [SequenceNumber] {
        try record(id)?.tree.nodes.compactMap(\.sequence).sorted() ?? []
    }

    /// Whether any of some revisions refers to a content.
    ///
    /// The rows of the content and the revisions are both in order, so each says how many of the others can be passed over: it
    /// takes no more steps than there are of either.
    ///
    /// - Parameters:
    ///   - key: The content.
    ///   - sequences: Where the revisions stand, in order.
    /// - Returns: Whether there is a row of one of them.
    /// - Throws: `DatabaseError` with code `.io` or `.corrupted`.
    fileprivate func isReferenced(_ key: AttachmentKey, byAnyOf sequences: [SequenceNumber]) throws
        -> Bool
    {
        let cursor = try reader.cursor(in: core.stores.attachmentReferences)
        defer { cursor.close() }
        var rest = sequences[...]
        while let wanted = rest.first {
            let row = AttachmentReference.rowKey(key, wanted)
            guard try cursor.seek(toAtLeast: row.span) else { return false }
            var next: SequenceNumber?
            try cursor.withKey { row in
                let decoded = try DatabaseCore.decoding(nil) { try AttachmentReference.decode(row) }
                if decoded.key == key { next = decoded.sequence }
            }
            guard let next else { return false }
            if next == wanted { return true }
            rest = rest[rest.firstPlace { $0 >= next }...]
        }
        return false
    }
}

extension ArraySlice {
    /// The place of the first element that passes a test which all behind it pass, too; the end where none does.
    fileprivate func firstPlace(_ test: (Element) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if test(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
