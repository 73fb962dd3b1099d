// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
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
        case content(Attachment)
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

    /// Appends text.
    mutating func append(_ text: String) { append(Array(text.utf8)) }

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
    mutating func append(_ attachment: Attachment) {
        parts.append(.content(attachment))
    }

    /// Appends a document with its attachments as `multipart/related`, without the first boundary's
    /// line break.
    mutating func append(
        _ document: Document, _ tree: RevisionTree?, _ format: DocumentFormat, boundary: String
    ) throws {
        var format = format
        format.attachments = .following
        var text = JSONText()
        try format.append(document, tree, to: &text)
        append("--\(boundary)\r\nContent-Type: application/json\r\n\r\n")
        append(text.bytes)
        for attachment in format.contents(of: document, tree) {
            let length = attachment.encodedLength ?? attachment.length
            append("\r\n--\(boundary)\r\n")
            append(
                "Content-Disposition: attachment; filename=\"\(Self.quoted(attachment.name))\"\r\n")
            append("Content-Type: \(attachment.contentType ?? "application/octet-stream")\r\n")
            append("Content-Length: \(length)\r\n")
            if let encoding = attachment.encoding { append("Content-Encoding: \(encoding)\r\n") }
            append("\r\n")
            append(attachment)
        }
        append("\r\n--\(boundary)--")
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

    /// A file name inside quotes: line breaks would end the header.
    private static func quoted(_ name: String) -> String {
        var quoted = ""
        for character in name.unicodeScalars {
            switch character {
            case "\"", "\\": quoted += "\\\(character)"
            case _ where character.value < 0x20 || character.value == 0x7F: quoted += "_"
            default: quoted.unicodeScalars.append(character)
            }
        }
        return quoted
    }

    /// The answer that sends the whole, as `type` with a boundary.
    func response(_ type: String, boundary: String) -> ListenerResponse {
        let body = ListenerResponse.Body.stream(SteppedProducer(self), length: length)
        return ListenerResponse(status: 200, body: body)
            .with("Content-Type", "\(type); boundary=\"\(boundary)\"")
    }

    /// A boundary that stands in no content: 128 random bits.
    static func boundary() -> String {
        var random = SystemRandomNumberGenerator()
        return HexText.text(random.next()) + HexText.text(random.next())
    }
}

/// Numbers as 16 hexadecimal digits.
enum HexText {
    static func text(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}
