// SPDX-License-Identifier: Apache-2.0

internal import Divan

/// What `divan import` does with each record, as its options say.
struct ImportRules: Sendable {
    /// The property that holds the ID; `nil` for `_id`, or a generated one.
    var idField: String?
    var idPrefix = ""
    /// Properties that every document gets.
    var additions: [(key: String, value: JSONValue)] = []
    /// Whether a document that exists is replaced.
    var replaces = false
    /// Whether `_rev` is ignored, so that every document becomes a new edit of this database.
    var makesNewRevisions = false
    var dropsAttachments = false
    /// Whether attachments may come without their content.
    var keepsStubs = false

    init() {}

    init(_ arguments: ParsedArguments) throws {
        idField = arguments.string("id-field")
        idPrefix = arguments.string("id-prefix") ?? ""
        additions = try arguments.strings("set").map { try JSONInput.assignment($0) }
        replaces = arguments.flag("update")
        makesNewRevisions = arguments.flag("new-revisions")
        dropsAttachments = arguments.flag("drop-attachments")
        keepsStubs = arguments.flag("stubs")
        if dropsAttachments, keepsStubs {
            throw UsageError("--stubs and --drop-attachments do not go together.")
        }
    }
}

/// A document ready to be stored.
enum ImportedDocument: Sendable {
    /// A new document, or a new revision of one.
    case edit(MutableDocument, body: PackedValue)
    /// The same with attachments or blobs whose content stands in the record.
    case attached(id: DocumentID, properties: JSONObject, blobs: [Blob])
    /// A revision with the ID it has elsewhere, perhaps with attachments and blobs.
    case revision(
        id: DocumentID, history: [RevisionID], isDeleted: Bool, body: PackedValue, blobs: [Blob])
    /// A tombstone without a revision: the document is to be deleted here.
    case deletion(id: DocumentID)
    /// A row about a document that was deleted, which has nothing to store.
    case nothing
}

/// Why a record cannot be imported, in words that follow "record 7: ".
struct RecordProblem: Error, Equatable {
    var message: String

    init(_ message: String) {
        self.message = message
    }
}
