// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanModel

/// A body made of text and of attachments that are read while it is sent.
///
///     --b                                    text
///     Content-Type: application/json
///
///     {"_id":…,"_attachments":{"x":{"follows":true,…}}}
///     --b
///     Content-Disposition: attachment; filename="x"
///     Content-Type: image/png
///     Content-Length: 90000
///
///     …                                      the content of x
///     --b--                                  text
///
/// Its length is known before the first byte is sent, since each attachment's is.
struct DocumentParts: ResponseSteps {
    private enum Part: Sendable {
        case text([UInt8])
        case content(DocumentAttachment)
    }

    private static let pieceSize = 256 * 1_024
    private var parts: [Part] = []
    private var position = 0
    private var reading: (reader: any AttachmentReader, left: Int)?

    /// The bytes of the whole.
    var length: Int {
        parts.reduce(0) { total, part in
            switch part {
            case .text(let bytes): total + bytes.count
            case .content(let attachment): total + (attachment.encodedLength ?? attachment.length)
            }
        }
    }

    /// Appends bytes.
    mutating func append(_ bytes: [UInt8]) {
        if let last = parts.indices.last, case .text(var text) = parts[last] {
            // The old copy goes first, so that it grows in place.
            parts[last] = .text([])
            text += bytes
            parts[last] = .text(text)
        } else {
            parts.append(.text(bytes))
        }
    }

    /// Appends the content of an attachment, coded as it is stored.
    mutating func append(_ attachment: DocumentAttachment) {
        parts.append(.content(attachment))
    }

    /// Appends a document with its attachments, as a whole body of a writer's.
    mutating func append(
        _ document: Document, _ tree: RevisionTree?, _ format: DocumentFormat,
        by writer: MultipartWriter
    ) throws {
        var (format, writer) = (format, writer)
        format.attachments = .following
        var text = JSONText()
        try format.append(document, tree, to: &text)
        append(writer.beginPart(["Content-Type": "application/json"]))
        append(text.bytes)
        for attachment in format.contents(of: document, tree) {
            var headers: HTTPHeaders = [
                "Content-Disposition":
                    HeaderParameters.disposition(ofAttachment: attachment.name),
                "Content-Type": attachment.contentType ?? "application/octet-stream",
                "Content-Length": String(attachment.encodedLength ?? attachment.length),
            ]
            headers["Content-Encoding"] = attachment.encoding
            append(writer.beginPart(headers))
            append(attachment)
        }
        append(writer.end())
    }

    mutating func next() throws -> Production {
        while true {
            if case (let reader, var left)? = reading {
                let piece = try reader.read(upTo: min(left, Self.pieceSize))
                guard !piece.isEmpty || left == 0 else {
                    throw HTTPFailure(500, "internal_server_error", "An attachment is too short.")
                }
                left -= piece.count
                reading = left == 0 ? nil : (reader, left)
                if !piece.isEmpty { return .bytes(piece) }
            }
            guard position < parts.count else { return .end }
            let part = parts[position]
            position += 1
            switch part {
            case .text(let bytes) where !bytes.isEmpty: return .bytes(bytes)
            case .text: continue
            case .content(let attachment):
                let length = attachment.encodedLength ?? attachment.length
                if length > 0 { reading = (try attachment.makeStoredReader(), length) }
            }
        }
    }

    /// The answer that sends the whole, which a writer has written.
    func response(_ writer: MultipartWriter) -> ListenerResponse {
        let body = ListenerResponse.Body.stream(SteppedProducer(self), length: length)
        return ListenerResponse(status: 200, body: body)
            .with("Content-Type", writer.contentType)
    }
}

/// Numbers as 16 hexadecimal digits.
enum HexText {
    /// 128 random bits.
    static func random() -> String {
        var random = SystemRandomNumberGenerator()
        return text(random.next()) + text(random.next())
    }

    static func text(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}
