// SPDX-License-Identifier: Apache-2.0

package import DivanJSON

/// One row of a changes feed: a document that changed, and its leaves.
package struct ChangesFeedRow: Sendable, Equatable {
    /// Where in the feed it stands, as the server names it; `nil` when it names none for this row. CouchDB 1 and
    /// Couchbase Lite write integers, CouchDB 2 and later texts such as `"7-g1AAAA…"`, BigCouch arrays.
    package var sequence: JSONValue?
    /// The document; empty when the row does not tell.
    @ByBytes package var documentID: String
    /// The revision IDs: all leaves with `style=all_docs`, the winner alone otherwise.
    @ByBytes package var revisions: [String]
    /// Whether the winning revision is a tombstone.
    package var isDeleted: Bool
    /// Sync Gateway's names of channels that the document left, in the revision given; empty otherwise.
    package var removedFrom: [String]
    /// The document itself, with `include_docs=true`.
    package var document: PackedValue?
    /// What of the row cannot be understood, as a sentence; `nil` for nothing. The rest of the row is what can be.
    package var problem: String?

    /// Reads a row from JSON; `nil` when it has no document ID.
    ///
    /// Sync Gateway also sends rows about users and roles (`_user/ann`), which are no documents; they are
    /// read like others.
    init?(_ row: PackedValue) {
        guard row.isObject, let id = row["id"]?.string else { return nil }
        documentID = id
        sequence = row["seq"].flatMap(Self.sequence)
        var (count, named, channels) = (0, [String](), [String]())
        row["changes"]?.forEachElement { change in
            count += 1
            if let revision = change["rev"]?.string { named.append(revision) }
        }
        row["removed"]?.forEachElement { name in
            if let name = name.string { channels.append(name) }
        }
        (revisions, removedFrom) = (named, channels)
        isDeleted = row["deleted"]?.bool ?? false
        document = row["doc"].flatMap { $0.isNull ? nil : PackedValue(bytes: $0.bytes) }
        if count == 0 || revisions.count < count {
            problem = "Its row of the changes feed names no revision, or something that is none."
        }
    }

    /// The longest sequence in packed form: servers that list their shards in it take some kilobytes.
    private static let longestSequence = 64 << 10

    /// A sequence; nil for null, and for what is too long to be one.
    static func sequence(_ value: PackedValue) -> JSONValue? {
        value.isNull || value.bytes.count > longestSequence ? nil : value.jsonValue()
    }

    /// What can be told of a row that cannot be read.
    ///
    /// - Parameters:
    ///   - text: The row.
    ///   - problem: What is wrong, as a sentence.
    init(unreadable text: some Sequence<UInt8>, _ problem: String) {
        let outline = JSONOutline(text, of: ["id", "seq"])
        documentID = outline["id"]?.string ?? ""
        sequence = outline["seq"].flatMap { $0.isNull ? nil : $0 }
        (revisions, isDeleted, removedFrom) = ([], false, [])
        self.problem = problem
    }
}

extension ChangesFeedRow {
    /// Reads the text of a row. One that makes no sense is a row with a problem: the others go on without it.
    ///
    /// - Throws: ``ChangesFeedParser/Failure/refused(error:reason:)`` when it says what went wrong.
    package init(parsing text: [UInt8]) throws(ChangesFeedParser.Failure) {
        let packed: PackedValue
        do throws(JSONParser.Failure) { packed = try PackedValue(parsing: text) } catch {
            self.init(unreadable: text, "Its row of the changes feed is no JSON. \(error)")
            return
        }
        if let row = ChangesFeedRow(packed) {
            self = row
            return
        }
        try ChangesFeedParser.throwRefusal(
            error: packed["error"]?.string, packed["reason"]?.string,
            isRow: packed["id"] != nil)
        self.init(unreadable: text, "A row of the changes feed names no document.")
    }
}
