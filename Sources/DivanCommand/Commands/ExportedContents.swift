// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanJSON

/// Writes documents with the contents of their attachments and blobs, as base64:
///
///     {"_id": …, "_attachments": {"a": {"content_type": …, "data": "aGVsbG8=", …}}, "_blobs": {"sha1-…": "aGVsbG8="}}
///
/// Each content is compared with its digest before the first byte of its document is written, so damage is found now and
/// not by the import that the user hoped for. Content goes from its file to the sink piece by piece. A record stays below
/// what `divan import` takes as one.
struct ExportedContents {
    /// A document and those of its contents that go along.
    struct Checked {
        let document: Document
        /// The attachments, and whether the content of each goes along.
        fileprivate(set) var attachments: [(attachment: DocumentAttachment, isTaken: Bool)] = []
        fileprivate(set) var blobs: [Blob] = []
        /// A sentence for each content that is left out.
        fileprivate(set) var lacking: [String] = []
        /// Whether one of them is not in the database.
        fileprivate(set) var isGone = false
        /// How much content the record may still take.
        fileprivate var room: Int

        fileprivate init(_ document: Document) {
            self.document = document
            // Text may be longer than what is stored.
            let body = 2 * document.body.withBytes { $0.count }
            room = max(0, ExportedContents.largestRecord - body) / 4 * 3
        }
    }

    /// A multiple of three bytes: so many that only the last piece is padded.
    private static let pieceSize = 192 << 10
    /// The most that the body and the contents of a record may have, in bytes of text; the rest is for what else it has.
    private static let largestRecord = PartialRecord.maximumSize - (16 << 20)

    let sink: ByteSink
    let interruption: Interruption
    /// Whether contents are wanted at all.
    let isWanted: Bool
    /// Is told of each piece.
    let progress: () -> Void

    // MARK: - Checking

    /// Compares the contents of a document with their digests.
    ///
    /// - Throws: `DatabaseError` where a content cannot be read for another reason than that it is damaged or not there.
    func check(_ document: Document) throws -> Checked {
        var checked = Checked(document)
        guard isWanted else {
            checked.attachments = document.attachments.map { ($0, false) }
            return checked
        }
        for attachment in document.attachments {
            let label = "The attachment \"\(PrintableText.escaping(attachment.name))\""
            let isTaken = try take(label, attachment.length, &checked) { try attachment.verify() }
            checked.attachments.append((attachment, isTaken))
        }
        for blob in document.storedBlobs {
            let isTaken = try take("A blob", blob.length, &checked) { try blob.verify() }
            if isTaken { checked.blobs.append(blob) }
        }
        return checked
    }

    private func take(
        _ label: String, _ length: Int, _ checked: inout Checked, verify: () throws -> Void
    ) throws -> Bool {
        try interruption.check()
        var reason = "it is too long for a record; \"divan backup\" copies it"
        if length <= checked.room {
            do {
                try verify()
                checked.room -= length
                progress()
                return true
            } catch let error as DatabaseError where error.code == .attachmentNotFound {
                checked.isGone = true
                reason = "its content is not in this database"
            } catch let error as DatabaseError where error.code == .corrupted {
                reason = "its content is damaged"
            }
        }
        let id = PrintableText.escaping(checked.document.id.text)
        checked.lacking.append("\(label) of \"\(id)\" is left out: \(reason).")
        return false
    }

    // MARK: - Writing

    /// Writes the body of a document and its contents behind `head`, and the closing brace.
    func write(_ checked: Checked, after head: [UInt8]) throws {
        var text = head
        var body = checked.document.body
        let hasAttachments = body["_attachments"] != nil
        if hasAttachments { body = body.replacing(["_attachments": JSONValue?.none]) }
        DocumentText.appendMembers(of: body, to: &text)
        if hasAttachments {
            DocumentText.append("_attachments", .object([:]), to: &text)
            text.removeLast()
            for (attachment, isTaken) in checked.attachments {
                try write(attachment, isTaken, &text)
            }
            text.append(JSONByte.closeBrace)
        }
        if !checked.blobs.isEmpty {
            DocumentText.append("_blobs", .object([:]), to: &text)
            text.removeLast()
            for blob in checked.blobs {
                DocumentText.append(blob.digest, "", to: &text)
                try write(blob.makeReader(), &text)
            }
            text.append(JSONByte.closeBrace)
        }
        text.append(JSONByte.closeBrace)
        try sink.write(text)
    }

    private func write(
        _ attachment: DocumentAttachment, _ isTaken: Bool, _ text: inout [UInt8]
    ) throws {
        var entry = attachment.metadata
        guard isTaken else {
            return DocumentText.append(attachment.name, .object(entry), to: &text)
        }
        for key in ["stub", "encoding", "encoded_length"] { entry[key] = nil }
        // The digest is of the stored bytes, which these are not when they are coded.
        if attachment.encoding != nil { entry["digest"] = nil }
        DocumentText.append(attachment.name, .object(entry), to: &text)
        text.removeLast()
        DocumentText.append("data", "", to: &text)
        try write(attachment.makeReader(), &text)
        text.append(JSONByte.closeBrace)
    }

    /// Writes content into the empty string that ends the text.
    private func write(_ reader: any AttachmentReader, _ text: inout [UInt8]) throws {
        text.removeLast()
        var piece: [UInt8] = []
        while true {
            try interruption.check()
            let read = try reader.read(upTo: Self.pieceSize - piece.count)
            piece += read
            guard piece.count == Self.pieceSize || read.isEmpty else { continue }
            Base64.append(piece, to: &text)
            if read.isEmpty { break }
            piece.removeAll(keepingCapacity: true)
            try sink.write(text)
            text.removeAll(keepingCapacity: true)
            progress()
        }
        text.append(JSONByte.quote)
    }
}
