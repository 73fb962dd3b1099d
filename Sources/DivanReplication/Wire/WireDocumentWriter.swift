// SPDX-License-Identifier: Apache-2.0

package import DivanDatabase
internal import DivanJSON
package import DivanModel

/// What of a document's revision is written besides its body.
package struct WireDocumentOptions: Sendable {
    /// How the content of attachments goes along.
    package enum Contents: Sendable {
        /// Not at all.
        case stubs
        /// In place, as base64, decoded.
        case inline
        /// In later parts, as it is stored; see ``WireDocumentWriter``.
        case follows
    }

    /// How the content of attachments goes along.
    package var contents = Contents.stubs
    /// Revisions whose attachments the receiver has: only what changed since goes along.
    package var attachmentsSince: [RevisionID]?
    /// Content up to so many stored bytes goes in place where the rest follows.
    package var inlineLimit = 0
    /// Whether stubs tell how content is coded.
    package var includesEncoding = false
    /// `_revisions`.
    package var includesHistory = false
    /// How many revisions of the history are written.
    package var historyLimit = Int.max
    /// Revisions that the receiver has: the history need not go beyond the first of them.
    package var knownRevisions: [RevisionID] = []
    /// `_revs_info`.
    package var includesRevisionInfo = false
    /// `_conflicts`.
    package var includesConflicts = false
    /// `_deleted_conflicts`.
    package var includesDeletedConflicts = false
    /// `_local_seq`.
    package var includesLocalSequence = false

    /// Makes options that ask for the body with stubs, and nothing else.
    package init() {}
}

/// Writes revisions of documents as JSON for the wire.
///
/// ```swift
/// var options = WireDocumentOptions()
/// options.includesHistory = true
/// var text: [UInt8] = []
/// let following = try WireDocumentWriter(options).append(document, tree: tree, to: &text)
/// for attachment in following { … }         // one part each, in this order
/// ```
///
/// The body goes from its packed bytes to text at once. Properties come in this order: `_id`, `_rev`,
/// `_deleted`, the body, `_attachments`, then what was asked for.
package struct WireDocumentWriter: Sendable {
    private let options: WireDocumentOptions

    /// Makes a writer.
    package init(_ options: WireDocumentOptions = WireDocumentOptions()) {
        self.options = options
    }

    /// Appends the text of a revision.
    ///
    /// - Parameters:
    ///   - document: The revision.
    ///   - tree: The document's tree, which everything but body and attachments is read from; nil when
    ///     nothing of that is asked for.
    ///   - bytes: Grows by the text.
    /// - Returns: The attachments whose content is to follow, in the order in which the text names them.
    /// - Throws: `DatabaseError` when content that goes in place cannot be read; `bytes` then end
    ///   somewhere in the text.
    @discardableResult
    package func append(_ document: Document, tree: RevisionTree?, to bytes: inout [UInt8]) throws
        -> [DocumentAttachment]
    {
        bytes.append(ascii: #"{"_id":"#)
        bytes.append(jsonString: document.id.text)
        bytes.append(ascii: #","_rev":""#)
        bytes.append(contentsOf: document.revisionID.description.utf8)
        bytes.append(ascii: document.isDeleted ? #"","_deleted":true"# : "\"")
        let history = tree?.history(of: document.revisionID) ?? [document.revisionID]
        let stubs = document.body["_attachments"]
        append(
            body: stubs == nil
                ? document.body : document.body.replacing(["_attachments": JSONValue?.none]),
            to: &bytes)
        var following: [DocumentAttachment] = []
        if stubs != nil {
            following = try append(attachmentsOf: document, history, to: &bytes)
        }
        if options.includesHistory { append(history: history, to: &bytes) }
        if let tree { append(answersFrom: tree, about: document, to: &bytes) }
        if options.includesLocalSequence {
            bytes.append(ascii: #","_local_seq":"#)
            bytes.append(contentsOf: String(document.sequence).utf8)
        }
        bytes.append(ascii: "}")
        return following
    }

    private func append(body: PackedValue, to bytes: inout [UInt8]) {
        let start = bytes.count
        body.appendJSON(to: &bytes)
        // The body's own brackets go: the first becomes the comma, the last is written at the end.
        if bytes.count - start > 2 {
            bytes[start] = UInt8(ascii: ",")
            bytes.removeLast()
        } else {
            bytes.removeLast(bytes.count - start)
        }
    }

    // MARK: - Attachments

    private func append(
        attachmentsOf document: Document, _ history: [RevisionID], to bytes: inout [UInt8]
    ) throws -> [DocumentAttachment] {
        var following: [DocumentAttachment] = []
        let known = lastKnownGeneration(history)
        var isFirst = true
        bytes.append(ascii: #","_attachments":{"#)
        for attachment in document.attachments {
            if !isFirst { bytes.append(ascii: ",") }
            isFirst = false
            bytes.append(jsonString: attachment.name)
            bytes.append(ascii: ":")
            var entry = attachment.metadata
            let isNew = known.map { attachment.revisionPosition > $0 } ?? true
            let isWanted = options.contents != .stubs && isNew
            let form = isWanted ? form(of: attachment) : .stubs
            switch form {
            case .stubs: if !options.includesEncoding { entry.removeCoding() }
            case .inline:
                entry["stub"] = nil
                entry.removeCoding()
                // The digest is that of the stored bytes, which these are not when they are coded.
                if attachment.encoding != nil { entry["digest"] = nil }
                entry["data"] = .string(Base64.encode(try attachment.content()))
            case .follows:
                entry["stub"] = nil
                entry["follows"] = true
                following.append(attachment)
            }
            JSONWriter.append(.object(entry), to: &bytes)
        }
        bytes.append(ascii: "}")
        return following
    }

    private func form(of attachment: DocumentAttachment) -> WireDocumentOptions.Contents {
        guard options.contents == .follows else { return options.contents }
        return attachment.storedLength <= options.inlineLimit && attachment.encoding == nil
            ? .inline : .follows
    }

    /// The generation of the newest revision in a history that the receiver has; nil for none.
    private func lastKnownGeneration(_ history: [RevisionID]) -> UInt64? {
        guard let since = options.attachmentsSince, !since.isEmpty else { return nil }
        return history.first { since.contains($0) }?.generation
    }

    // MARK: - Revisions

    private func append(history: [RevisionID], to bytes: inout [UInt8]) {
        guard let newest = history.first else { return }
        var end = min(history.count, max(1, options.historyLimit))
        if let known = history.firstIndex(where: options.knownRevisions.contains) {
            end = min(end, known + 1)
        }
        bytes.append(ascii: #","_revisions":{"start":"#)
        bytes.append(contentsOf: String(newest.generation).utf8)
        bytes.append(ascii: #","ids":["#)
        for (index, id) in history[..<end].enumerated() {
            if index > 0 { bytes.append(ascii: ",") }
            bytes.append(jsonString: id.digest)
        }
        bytes.append(ascii: "]}")
    }

    private func append(
        answersFrom tree: RevisionTree, about document: Document, to bytes: inout [UInt8]
    ) {
        if options.includesRevisionInfo {
            let info = tree.branch(of: document.revisionID).map { node -> JSONValue in
                let isHere = node.sequence != nil
                let status = isHere ? (node.isTombstone ? "deleted" : "available") : "missing"
                return ["rev": .string(node.id.description), "status": .string(status)]
            }
            append("_revs_info", info, to: &bytes)
        }
        let others = tree.leaves.filter { $0.id != document.revisionID }
        if options.includesConflicts {
            append("_conflicts", others.filter { !$0.isTombstone }, to: &bytes)
        }
        if options.includesDeletedConflicts {
            append("_deleted_conflicts", others.filter(\.isTombstone), to: &bytes)
        }
    }

    private func append(_ key: String, _ nodes: [RevisionTree.Node], to bytes: inout [UInt8]) {
        guard !nodes.isEmpty else { return }
        append(key, nodes.map { .string($0.id.description) }, to: &bytes)
    }

    private func append(_ key: String, _ values: [JSONValue], to bytes: inout [UInt8]) {
        bytes.append(ascii: ",\"\(key)\":")
        JSONWriter.append(.array(values), to: &bytes)
    }
}

extension JSONObject {
    /// Leaves out how the content is coded.
    fileprivate mutating func removeCoding() {
        self["encoding"] = nil
        self["encoded_length"] = nil
    }
}

extension [UInt8] {
    /// Appends text that needs no escapes.
    mutating func append(ascii text: String) { append(contentsOf: text.utf8) }

    /// Appends a string with its quotes, and escapes where it needs them.
    mutating func append(jsonString text: String) {
        let needsEscape = text.utf8.contains { $0 < 0x20 || $0 == 0x22 || $0 == 0x5C }
        guard !needsEscape else { return JSONWriter.append(.string(text), to: &self) }
        append(0x22)
        append(contentsOf: text.utf8)
        append(0x22)
    }
}
