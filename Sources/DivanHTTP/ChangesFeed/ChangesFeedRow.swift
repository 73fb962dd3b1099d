// SPDX-License-Identifier: Apache-2.0

package import DivanJSON

/// One row of a changes feed: a document that changed, and its leaves.
package struct ChangesFeedRow: Sendable, Equatable {
    /// Where in the feed it stands, as the server names it; `nil` when it names none for this row. CouchDB 1 and
    /// Couchbase Lite write integers, CouchDB 2 and later texts such as `"7-g1AAAA…"`, BigCouch arrays.
    package var sequence: JSONValue?
    /// The document.
    package var documentID: String
    /// The revision IDs: all leaves with `style=all_docs`, the winner alone otherwise.
    package var revisions: [String]
    /// Whether the winning revision is a tombstone.
    package var isDeleted: Bool
    /// Sync Gateway's names of channels that the document left, in the revision given; empty otherwise.
    package var removedFrom: [String]
    /// The document itself, with `include_docs=true`.
    package var document: JSONValue?

    /// Reads a row from JSON; `nil` when it has no document ID.
    ///
    /// Sync Gateway also sends rows about users and roles (`_user/ann`), which are no documents; they are
    /// read like others.
    package init?(_ json: JSONValue) {
        guard let object = json.object, let id = object["id"]?.string else { return nil }
        documentID = id
        sequence = object["seq"].flatMap { $0.isNull ? nil : $0 }
        revisions = object["changes"]?.array?.compactMap { $0["rev"]?.string } ?? []
        isDeleted = object["deleted"]?.bool ?? false
        removedFrom = object["removed"]?.array?.compactMap(\.string) ?? []
        document = object["doc"].flatMap { $0.isNull ? nil : $0 }
    }
}
