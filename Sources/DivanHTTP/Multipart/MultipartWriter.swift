// SPDX-License-Identifier: Apache-2.0

/// Writes what stands around the parts of a multipart body.
///
/// ```swift
/// var writer = MultipartWriter(subtype: "related")
/// request.headers["Content-Type"] = writer.contentType
/// send(writer.beginPart(["Content-Type": "application/json"]) + document)
/// send(writer.beginPart(["Content-Disposition": "attachment; filename=\"a\""]) + attachment)
/// send(writer.end())
/// ```
///
/// The parts' bytes themselves never pass through it, so they may be streamed, and
/// ``length(of:)`` tells the length of the whole beforehand. For a nested body, write a second writer's
/// output as the bytes of a part whose `Content-Type` is that writer's.
package struct MultipartWriter: Sendable {
    /// The boundary, without the hyphens before it.
    package let boundary: String
    /// The `Content-Type` of the message.
    package let contentType: String
    private var isFirst = true

    /// Makes a writer with a random boundary, which no content can have foreseen.
    ///
    /// - Parameter subtype: What follows `multipart/`: `related` or `mixed`.
    package init(subtype: String) {
        var random = SystemRandomNumberGenerator()
        let halves = [random.next() as UInt64, random.next()].map { half in
            let digits = String(half, radix: 16)
            return String(repeating: "0", count: 16 - digits.utf8.count) + digits
        }
        self.init(subtype: subtype, boundary: halves.joined())
    }

    /// Makes a writer with a boundary of the caller's, which must not occur in the content.
    ///
    /// - Parameters:
    ///   - subtype: What follows `multipart/`.
    ///   - boundary: 1 to 70 letters and digits.
    package init(subtype: String, boundary: String) {
        self.boundary = boundary
        contentType = "multipart/\(subtype); boundary=\"\(boundary)\""
    }

    /// Returns what stands before the bytes of the next part.
    package mutating func beginPart(_ headers: HTTPHeaders) -> [UInt8] {
        var text = isFirst ? "--\(boundary)\r\n" : "\r\n--\(boundary)\r\n"
        isFirst = false
        for field in headers { text += "\(field.name): \(field.value)\r\n" }
        return Array((text + "\r\n").utf8)
    }

    /// Returns what stands after the last part: no line break after it, for which CouchDB 3.4's replicator, which
    /// reads no further, would wait for ever.
    package func end() -> [UInt8] {
        Array((isFirst ? "--\(boundary)--" : "\r\n--\(boundary)--").utf8)
    }

    /// Returns the length of a whole body, from the headers and the length of each part.
    package func length(of parts: some Sequence<(headers: HTTPHeaders, length: Int)>) -> Int {
        var writer = MultipartWriter(subtype: "mixed", boundary: boundary)
        var total = 0
        for (headers, length) in parts { total += writer.beginPart(headers).count + length }
        return total + writer.end().count
    }
}
