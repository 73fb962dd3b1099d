// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

// What stands under `_attachments`.
extension DocumentFormat {
    /// The entries as they are to be written; nil when they are just what is stored.
    func stubs(of document: Document, _ tree: RevisionTree?) throws -> JSONObject? {
        let all = document.attachments
        guard !all.isEmpty else { return nil }
        if attachments == .stubs, showsStoredDigests,
            showsEncoding || all.allSatisfy({ $0.encoding == nil })
        {
            return nil
        }
        let sent = NameSet(contents(of: document, tree).map(\.name))
        if attachments == .inline {
            // What a stub declares may be any number; one that is too large is enough.
            let total = all.filter { sent.contains($0.name) }.reduce(0) {
                $0 + min($1.length, Self.largestInline + 1)
            }
            guard total <= Self.largestInline else {
                throw HTTPFailure(
                    413, "too_large",
                    "The attachments are too large for JSON; accept multipart/related.")
            }
        }
        var entries: JSONObject = [:]
        for attachment in all {
            entries[attachment.name] = .object(
                try entry(attachment, isSent: sent.contains(attachment.name)))
        }
        return entries
    }

    /// The attachments whose content is sent: those that none of the known revisions has.
    func contents(of document: Document, _ tree: RevisionTree?) -> [DocumentAttachment] {
        guard attachments != .stubs else { return [] }
        let common = commonGeneration(of: document, tree)
        return document.attachments.filter { $0.revisionPosition > common || common == 0 }
    }

    /// Why a document cannot be sent as it is asked for: content that is to go along is not here. Nil when all is.
    ///
    /// Who replicates would take it without for damage, or for the whole of it.
    func missingContent(of document: Document, _ tree: RevisionTree?) -> HTTPFailure? {
        guard let lacking = contents(of: document, tree).first(where: { !$0.isContentAvailable })
        else { return nil }
        return HTTPFailure(
            412, "missing_content",
            "The content of the attachment '\(lacking.name.prefix(200))' is not here.")
    }

    /// The generation of the newest ancestor that the client has; 0 for none.
    private func commonGeneration(of document: Document, _ tree: RevisionTree?) -> UInt64 {
        guard let tree, !knownRevisions.isEmpty else { return 0 }
        let known = Set(knownRevisions)
        return tree.history(of: document.revisionID).first(where: known.contains)?.generation ?? 0
    }

    private func entry(_ attachment: DocumentAttachment, isSent: Bool) throws -> JSONObject {
        var entry = attachment.metadata
        // Content that is not here, or cannot be read, is called what its stub calls it.
        if !showsStoredDigests, let md5 = try? attachment.knownMD5() {
            entry["digest"] = .string(md5)
        }
        // As CouchDB stores them. The revision is that of what is stored here, which another Divan gets.
        if !showsStoredDigests, entry["content_type"] == nil {
            entry["content_type"] = "application/octet-stream"
        }
        let keepsCoding = showsEncoding || (isSent && attachments == .following)
        if attachment.encoding != nil, !keepsCoding {
            entry["encoding"] = nil
            entry["encoded_length"] = nil
        }
        // In a list, what is not here is what it is: a stub.
        guard isSent, attachment.isContentAvailable else { return entry }
        entry["stub"] = nil
        if attachments == .following {
            entry["follows"] = true
            return entry
        }
        // CouchDB leaves it out beside the content; a Divan compares the two.
        if !showsStoredDigests { entry["length"] = nil }
        if attachment.encoding != nil, keepsCoding {
            entry["data"] = .string(
                Base64.encode(try attachment.makeStoredReader().readAll()))
        } else {
            entry["data"] = .string(Base64.encode(try attachment.content()))
            // The digest is of the coded bytes, and would not fit these.
            if attachment.encoding != nil { entry["digest"] = nil }
        }
        return entry
    }
}

extension Call {
    /// Whether the client is a Divan, which asks for digests as they are stored.
    var wantsStoredDigests: Bool {
        StoredDigests.value.hasSameBytes(as: headers[StoredDigests.field])
    }
}

extension AttachmentReader {
    /// Reads to the end.
    func readAll() throws -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let piece = try read(upTo: 256 * 1_024)
            if piece.isEmpty { return bytes }
            bytes += piece
        }
    }
}
