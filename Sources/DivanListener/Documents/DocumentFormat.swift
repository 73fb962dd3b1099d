// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel
internal import FoundationEssentials

/// How a document is written on the wire: which of its special members it shows.
struct DocumentFormat: Sendable {
    /// What becomes of the attachments.
    enum Attachments: Sendable, Equatable {
        /// Their stubs only.
        case stubs
        /// Content inside the JSON, in base64.
        case inline
        /// Content in parts that follow the JSON.
        case following
    }

    /// The most content that is put into JSON: it lies in memory several times over.
    static let largestInline = 64 << 20

    var revisions = false
    /// How many revisions of a branch are told of: what the database keeps, which may be fewer than a document has that was
    /// saved before. Nil for all.
    var mostRevisions: Int?
    var revisionsInfo = false
    var conflicts = false
    var deletedConflicts = false
    var localSequence = false
    var showsEncoding = false
    /// Whether it is to say when the document expires.
    var showsExpiration = false
    /// When it does; nil when it does not, or the client does not ask.
    var expiration: Date?
    var attachments = Attachments.stubs
    /// Whether stubs have the digests that are stored, which Divan and Couchbase Lite know, in place of the MD5 that all others do.
    var showsStoredDigests = false
    /// Where memory is reserved for long documents; nil for no bound.
    var budget: MemoryBudget?
    /// Revisions that the client has: what these have of attachments is not sent again.
    var knownRevisions: [RevisionID] = []

    /// A plain document.
    init() {}

    /// Reads the options of a request for a document.
    init(_ call: Call) throws {
        let query = call.query
        budget = call.site.longDocuments
        showsStoredDigests = call.wantsStoredDigests
        let meta = try query.flag("meta")
        revisions = try query.flag("revs")
        revisionsInfo = try query.flag("revs_info") || meta
        conflicts = try query.flag("conflicts") || meta
        deletedConflicts = try query.flag("deleted_conflicts") || meta
        localSequence = try query.flag("local_seq")
        showsEncoding = try query.flag("att_encoding_info")
        showsExpiration = try query.flag("show_exp")
        if try query.flag("attachments") { attachments = .inline }
        if let known = try query.json("atts_since") {
            knownRevisions = try Self.revisions(known, "atts_since")
            attachments = .inline
        }
    }

    /// Whether a document's whole tree is needed to write it.
    var needsTree: Bool {
        revisions || revisionsInfo || conflicts || deletedConflicts || !knownRevisions.isEmpty
    }

    /// Whether a document as it is written follows from its revision, which is then its ETag, as in CouchDB: a history
    /// does, and the conflicts of a document that has none.
    func isTagged(_ document: Document, _ tree: RevisionTree?) -> Bool {
        guard !revisionsInfo, !localSequence, !showsExpiration else { return false }
        guard conflicts || deletedConflicts else { return true }
        return tree?.leaves.allSatisfy { leaf in
            leaf.id == document.revisionID || !(leaf.isTombstone ? deletedConflicts : conflicts)
        } ?? false
    }

    /// The revisions that a list names. What is none stays as it was sent, for answers that repeat it.
    static func revisions(_ value: JSONValue, _ name: String) throws -> [RevisionID] {
        try texts(value, name, of: "revisions").map { text in
            let revision = Call.revision(text)
            return revision.isValid ? revision : RevisionID(text)
        }
    }

    /// The texts in a list.
    static func texts(_ value: JSONValue, _ name: String, of things: String) throws -> [String] {
        let texts = value.array?.map(\.string) ?? [nil]
        return try texts.map { text in
            guard let text else {
                throw HTTPFailure.badRequest("`\(name)` must be an array of \(things).")
            }
            return text
        }
    }

    // MARK: - Writing

    /// Appends a document as JSON.
    ///
    /// - Parameters:
    ///   - document: The revision.
    ///   - tree: Its document's tree, when `needsTree`.
    ///   - text: Where it is appended.
    /// - Throws: `HTTPFailure` 413 when its attachments are too much for JSON, or as reading them.
    func append(_ document: Document, _ tree: RevisionTree?, to text: inout JSONText) throws {
        try reserve(document, tree, for: &text)
        if text.bytes.isEmpty { text.bytes.reserveCapacity(2 * document.body.byteCount) }
        text.raw("{\"_id\":")
        text.string(document.id.text)
        text.raw(",\"_rev\":")
        text.string(document.revisionID.description)
        if document.isDeleted { text.raw(",\"_deleted\":true") }
        var body = document.body
        if let stubs = try stubs(of: document, tree) {
            body = body.replacing(["_attachments": .object(stubs)])
        }
        let start = text.bytes.count
        body.appendJSON(to: &text.bytes)
        // `{"a":1}` becomes `,"a":1`, and `{}` nothing.
        text.bytes.removeLast()
        if text.bytes.count == start + 1 {
            text.bytes.removeLast()
        } else {
            text.bytes[start] = JSONByte.comma
        }
        if localSequence {
            text.raw(",\"_local_seq\":")
            text.number(document.sequence)
        }
        if let expiration {
            text.raw(",\"_exp\":")
            text.string(ReceivedExpiration.text(expiration))
        }
        if let tree { try appendHistory(document, tree, &text) }
        text.bytes.append(JSONByte.closeBrace)
    }

    /// Reserves what the text of a long document takes, unless it stands beside another one that has.
    ///
    /// A text that grows has the old bytes beside the new ones. Content in base64 is there as bytes, as a string and as a part of the
    /// text.
    func reserve(
        _ document: Document, _ tree: RevisionTree?, for text: inout JSONText
    ) throws {
        guard let budget, text.memory == nil else { return }
        var bytes = document.body.byteCount.multipliedSaturated(by: 4)
        if attachments == .inline {
            for attachment in contents(of: document, tree) {
                let length = min(attachment.length, Self.largestInline)
                bytes = bytes.addingSaturated(length.multipliedSaturated(by: 8))
            }
        }
        text.memory = try budget.reserve(forText: bytes)
    }

    private func appendHistory(
        _ document: Document, _ tree: RevisionTree, _ text: inout JSONText
    ) throws {
        let revision = document.revisionID
        if revisions {
            text.raw(",\"_revisions\":{\"start\":")
            text.number(revision.generation)
            text.raw(",\"ids\":[")
            let history = tree.history(of: revision).prefix(mostRevisions ?? .max)
            Self.list(history.map(\.digest), &text)
            text.raw("]}")
        }
        if revisionsInfo {
            text.raw(",\"_revs_info\":")
            text.value(
                .array(
                    tree.branch(of: revision).map { node in
                        let status =
                            node.sequence == nil
                            ? "missing" : node.isTombstone ? "deleted" : "available"
                        return ["rev": .string("\(node.id)"), "status": .string(status)]
                    }))
        }
        let others = tree.leaves.filter { $0.id != revision }
        let live = others.filter { !$0.isTombstone }
        if conflicts, !live.isEmpty {
            text.raw(",\"_conflicts\":[")
            Self.list(live.map(\.id.description), &text)
            text.raw("]")
        }
        let dead = others.filter(\.isTombstone)
        if deletedConflicts, !dead.isEmpty {
            text.raw(",\"_deleted_conflicts\":[")
            Self.list(dead.map(\.id.description), &text)
            text.raw("]")
        }
    }

    private static func list(_ texts: [String], _ text: inout JSONText) {
        for (index, item) in texts.enumerated() {
            if index > 0 { text.bytes.append(JSONByte.comma) }
            text.string(item)
        }
    }
}
