// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel

/// The answer to a `_bulk_docs`: what became of each document.
///
///     [{"ok":true,"id":"a","rev":"2-…"},                             a new revision
///      {"id":"b","error":"conflict","reason":"Document update conflict."}]
///
/// Of revisions that were made elsewhere, only those that were refused are told of.
struct BulkAnswer {
    private var text = JSONText()
    private let namesSaved: Bool

    /// - Parameter namesSaved: Whether documents that were saved are told of.
    init(namesSaved: Bool) {
        self.namesSaved = namesSaved
        text.raw("[")
    }

    /// How long the text is so far.
    var count: Int { text.bytes.count }

    /// Ends the text, and takes it out.
    mutating func whole() -> [UInt8] {
        text.raw("]")
        return text.take()
    }

    /// Tells of a document that was saved.
    mutating func saved(_ id: DocumentID, _ revision: RevisionID) {
        guard namesSaved else { return }
        separate()
        text.raw("{\"ok\":true,\"id\":")
        text.string(id.text)
        text.raw(",\"rev\":")
        text.string(revision.description)
        text.bytes.append(JSONByte.closeBrace)
    }

    /// Tells of a document that was refused, by the text of its ID in JSON.
    mutating func refuse(_ id: [UInt8]?, _ revision: RevisionID?, _ failure: HTTPFailure) {
        let failure = namesSaved ? failure : failure.ofArrival
        separate()
        text.bytes.append(JSONByte.openBrace)
        if let id {
            text.raw("\"id\":")
            text.bytes += id
            text.bytes.append(JSONByte.comma)
        }
        if let revision, failure.status != 409 {
            text.raw("\"rev\":")
            text.string(revision.description)
            text.bytes.append(JSONByte.comma)
        }
        text.raw("\"error\":")
        text.string(failure.error)
        text.raw(",\"reason\":")
        text.string(failure.reason)
        text.bytes.append(JSONByte.closeBrace)
    }

    private mutating func separate() {
        if text.bytes.count > 1 { text.bytes.append(JSONByte.comma) }
    }
}
