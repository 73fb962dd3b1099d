// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP

/// Where the parts of a multipart body lie, found in one pass that keeps no more of them.
///
///     --b␍␊ headers ␍␊␍␊ content ␍␊--b␍␊ headers ␍␊␍␊ content ␍␊--b--
///           ╰─ read ─╯    ╰ range ╯
///
/// The contents stay where they are, in memory or in a file, and are read from there once more when
/// they are stored. So a part of any size costs no memory and is not copied in between.
struct MultipartIndex: Sendable {
    /// A part: what it is called, its type, and where its content lies.
    struct Part: Sendable {
        var disposition: String?
        var contentType: String?
        var range: Range<Int>
    }

    private(set) var parts: [Part] = []
    /// The bytes of names that are kept at most: those of 16,000 attachments with the longest names.
    private static let mostKept = 64 << 20

    /// Finds the parts; one that is multipart itself is a part like others.
    ///
    /// - Throws: `HTTPFailure` 400 when the body does not end as it should.
    init(_ body: RequestBody, boundary: String) throws {
        var limits = MultipartReader.Limits()
        limits.depth = 1
        var reader = MultipartReader(boundary: boundary, limits: limits)
        let source = body.reader()
        var kept = 0
        do {
            while true {
                let piece = try source.read(upTo: 256 * 1_024)
                if piece.isEmpty { break }
                reader.push(piece)
                while let event = try reader.next() {
                    switch event {
                    case .partBegan(let headers):
                        let start = reader.position
                        let disposition = headers["Content-Disposition"]
                        let type = headers["Content-Type"]
                        kept += (disposition?.utf8.count ?? 0) + (type?.utf8.count ?? 0)
                        guard kept <= Self.mostKept else {
                            throw HTTPFailure.badRequest("The parts have too many long names.")
                        }
                        parts.append(
                            Part(
                                disposition: disposition, contentType: type, range: start..<start))
                    case .bytes(let bytes): grow(by: bytes.count)
                    case .partEnded, .nestedBegan, .nestedEnded, .ended: break
                    }
                }
            }
            try reader.finish()
        } catch is MultipartReader.Failure {
            throw HTTPFailure.badRequest("The multipart body is malformed or cut off.")
        }
    }

    private mutating func grow(by count: Int) {
        guard let last = parts.indices.last else { return }
        let range = parts[last].range
        parts[last].range = range.lowerBound..<(range.upperBound + count)
    }
}
