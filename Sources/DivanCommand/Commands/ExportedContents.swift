// SPDX-License-Identifier: Apache-2.0

internal import Divan
internal import DivanJSON

/// Writes one document after the other with the content of its attachments and blobs in place, as base64.
///
/// The content of an attachment goes from its file to the sink piece by piece. A record stays below what `divan import`
/// takes as one; content beyond that, and content that is not in the database, is left out and reported.
struct ExportedContents {
    /// A multiple of three bytes: so many that only the last piece is padded.
    private static let pieceSize = 192 << 10
    /// What a record may have besides contents, in bytes.
    private static let reserve = 32 << 20
    /// The content that one record holds at most, in bytes before it is base64.
    static let limit = (PartialRecord.maximumSize - reserve) / 4 * 3

    private let sink: ByteSink
    private let interruption: Interruption
    /// Is told of each piece.
    private let progress: () -> Void
    /// Is told of each content that is left out.
    private let report: (String) -> Void
    /// How much content the record may still take.
    private var room = 0
    private(set) var leftOut = 0

    init(
        _ sink: ByteSink, _ interruption: Interruption, progress: @escaping () -> Void,
        report: @escaping (String) -> Void
    ) {
        self.sink = sink
        self.interruption = interruption
        self.progress = progress
        self.report = report
    }

    /// Writes the members of a document's body behind `head`, and the closing brace.
    mutating func write(_ document: Document, after head: [UInt8]) throws {
        room = Self.limit
        var text = head
        var rest = try document.bodyWithBlobData { blob in
            take("A blob", blob.length, isHere: blob.isContentAvailable, document.id)
        }
        let hasAttachments = rest["_attachments"] != nil
        if hasAttachments { rest = rest.replacing(["_attachments": JSONValue?.none]) }
        DocumentText.appendMembers(of: rest, to: &text)
        if hasAttachments {
            if text.last != JSONByte.openBrace { text.append(JSONByte.comma) }
            text += #""_attachments":{"#.utf8
            try write(document.attachments, of: document.id, &text)
            text.append(JSONByte.closeBrace)
        }
        text.append(JSONByte.closeBrace)
        try sink.write(text)
    }

    private mutating func write(
        _ attachments: [DocumentAttachment], of id: DocumentID, _ text: inout [UInt8]
    ) throws {
        for attachment in attachments {
            var entry = attachment.metadata
            entry["encoding"] = nil
            entry["encoded_length"] = nil
            let label = "The attachment \"\(PrintableText.escaping(attachment.name))\""
            let isHere = attachment.isContentAvailable
            guard take(label, attachment.length, isHere: isHere, id) else {
                DocumentText.append(attachment.name, .object(entry), to: &text)
                continue
            }
            entry["stub"] = nil
            // The digest is of the stored bytes, which these are not when they are coded.
            if attachment.encoding != nil { entry["digest"] = nil }
            DocumentText.append(attachment.name, .object(entry), to: &text)
            text.removeLast()
            text += (entry.isEmpty ? #""data":""# : #","data":""#).utf8
            try write(attachment.makeReader(), &text)
            text += #""}"#.utf8
        }
    }

    private func write(_ reader: any AttachmentReader, _ text: inout [UInt8]) throws {
        var piece: [UInt8] = []
        while true {
            try interruption.check()
            let read = try reader.read(upTo: Self.pieceSize - piece.count)
            piece += read
            guard piece.count == Self.pieceSize || read.isEmpty else { continue }
            Base64.append(piece, to: &text)
            if read.isEmpty { return }
            piece.removeAll(keepingCapacity: true)
            try sink.write(text)
            text.removeAll(keepingCapacity: true)
            progress()
        }
    }

    /// Whether a content goes along; where it does not, that is reported.
    private mutating func take(_ label: String, _ length: Int, isHere: Bool, _ id: DocumentID)
        -> Bool
    {
        if isHere, length <= room {
            room -= length
            return true
        }
        let reason =
            isHere
            ? "it is too long for a record; \"divan backup\" copies it"
            : "its content is not in this database"
        leftOut += 1
        report("\(label) of \"\(PrintableText.escaping(id.text))\" is left out: \(reason).")
        return false
    }
}
