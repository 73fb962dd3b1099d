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
    private let longest: Int
    /// Whether anything is saved for good, so that the answer must be given.
    var hasCommitted = false

    /// Makes the beginning of an answer.
    ///
    /// - Parameters:
    ///   - namesSaved: Whether documents that were saved are told of.
    ///   - longest: How long the text may be; reasons are cut where it would be longer.
    init(namesSaved: Bool, longest: Int) {
        self.namesSaved = namesSaved
        self.longest = longest
        text.raw("[")
    }

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

    /// Tells of a document that was not saved for another reason than its own, if it has none.
    mutating func refuse(_ item: BulkItem, _ failure: HTTPFailure) {
        switch item {
        case .document(let given):
            guard let id = given.id else { return refuse(nil, given.revision, failure) }
            let refused = RefusedDocument(id, given.revision, failure)
            refuse(refused.id, refused.revision, failure)
        case .refused(let refused): refuse(refused.id, refused.revision, refused.failure)
        }
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
        text.string(Self.beginning(of: failure.error, Self.longestError))
        text.raw(",\"reason\":")
        text.string(Self.beginning(of: failure.reason, longestReason))
        text.bytes.append(JSONByte.closeBrace)
    }

    private static let longestError = 100

    /// How long a reason may be, which a script may have chosen: as much as is left allows for many more such ones.
    private var longestReason: Int {
        min(4_096, max(Self.longestError, (longest - text.bytes.count) / 16))
    }

    /// A text, or as many whole code points of it as have no more than so many bytes.
    private static func beginning(of text: String, _ most: Int) -> String {
        guard text.utf8.count > most else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: most)
        while end > text.startIndex, UTF8.isContinuation(text.utf8[end]) {
            end = text.utf8.index(before: end)
        }
        return String(decoding: text.utf8[..<end], as: UTF8.self)
    }

    private mutating func separate() {
        if text.bytes.count > 1 { text.bytes.append(JSONByte.comma) }
    }
}
