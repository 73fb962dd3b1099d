// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP

/// Several ranges of an attachment in one body, `multipart/byteranges`:
///
///     --b
///     Content-Type: text/plain
///     Content-Range: bytes 0-4/90000
///
///     …
///     --b--
///
/// Its length is known before the first byte is sent.
struct AttachmentRanges: ResponseSteps {
    private enum Part: Sendable {
        case text([UInt8])
        case content(Range<Int>)
    }

    private let attachment: DocumentAttachment
    private var parts: [Part] = []
    private var position = 0
    private var reading: ReaderSteps?
    private let contentType: String

    /// Makes the body of two ranges or more, which lie in the attachment.
    init(_ attachment: DocumentAttachment, _ ranges: [Range<Int>]) {
        self.attachment = attachment
        var writer = MultipartWriter(subtype: "byteranges")
        contentType = writer.contentType
        for range in ranges {
            let place = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(attachment.length)"
            let type = attachment.contentType ?? "application/octet-stream"
            parts.append(
                .text(writer.beginPart(["Content-Type": type, "Content-Range": place])))
            parts.append(.content(range))
        }
        parts.append(.text(writer.end()))
    }

    /// Makes an answer with the whole attachment one with these ranges.
    func fill(_ response: inout ListenerResponse) {
        response.status = 206
        // It is of the whole.
        response.headers["Content-MD5"] = nil
        response.headers["Content-Type"] = contentType
        response.body = .stream(SteppedProducer(self), length: length)
    }

    private var length: Int {
        parts.reduce(0) { total, part in
            switch part {
            case .text(let bytes): total + bytes.count
            case .content(let range): total + range.count
            }
        }
    }

    mutating func next() throws -> Production {
        while true {
            if case .bytes(let bytes)? = try reading?.next() { return .bytes(bytes) }
            reading = nil
            guard position < parts.count else { return .end }
            defer { position += 1 }
            switch parts[position] {
            case .text(let bytes): return .bytes(bytes)
            case .content(let range):
                reading = ReaderSteps { [attachment] in try attachment.makeReader(in: range) }
            }
        }
    }
}
