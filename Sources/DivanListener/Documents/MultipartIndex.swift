// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON

/// Where the parts of a multipart body lie, found in one pass that keeps nothing.
///
///     --b␍␊ headers ␍␊␍␊ content ␍␊--b␍␊ headers ␍␊␍␊ content ␍␊--b--
///           ╰─ read ─╯    ╰ range ╯
///
/// The contents stay where they are, in memory or in a file, and are read from there once more when
/// they are stored. So a part of any size costs no memory and is not copied in between.
struct MultipartIndex: Sendable {
    /// A part: its header fields by lower-case name, and where its content lies.
    struct Part: Sendable {
        var headers: [String: String]
        var range: Range<Int>
    }

    /// Header lines beyond this are no head of a part.
    private static let largestHead = 16 * 1_024

    private(set) var parts: [Part] = []

    /// The boundary that a content type names, if it is multipart/related or /form-data; nil for others.
    static func boundary(in contentType: String?) -> String? {
        guard let contentType, contentType.lowercased().hasPrefix("multipart/") else { return nil }
        return parameter("boundary", of: contentType)
    }

    /// Finds the parts.
    ///
    /// - Throws: `HTTPFailure` 400 when the body does not end as it should.
    init(_ body: RequestBody, boundary: String) throws {
        let mark = Array("--\(boundary)".utf8)
        let reader = body.reader()
        var window: [UInt8] = []
        var base = 0
        var contentStart: Int?
        var headers: [String: String] = [:]
        var position = 0
        var isAtEnd = false
        while true {
            guard let found = Self.find(mark, in: window, from: position - base) else {
                guard !isAtEnd else { throw Self.malformed }
                // All but what may be the beginning of a boundary is passed.
                let keep = max(position - base, window.count - mark.count - 4)
                position = base + max(0, keep)
                window.removeFirst(max(0, keep))
                base += max(0, keep)
                let piece = try reader.read(upTo: 256 * 1_024)
                isAtEnd = piece.isEmpty
                window += piece
                continue
            }
            // The line break before a boundary belongs to it.
            var end = base + found
            if found >= 2, window[found - 2] == 0x0D, window[found - 1] == 0x0A { end -= 2 }
            if let start = contentStart {
                guard end >= start else { throw Self.malformed }
                parts.append(Part(headers: headers, range: start..<end))
            }
            var next = found + mark.count
            while !isAtEnd, window.count - next < Self.largestHead {
                let piece = try reader.read(upTo: 64 * 1_024)
                isAtEnd = piece.isEmpty
                window += piece
            }
            if window.count >= next + 2, window[next] == 0x2D, window[next + 1] == 0x2D { return }
            guard let lineEnd = Self.find([0x0A], in: window, from: next) else {
                throw Self.malformed
            }
            next = lineEnd + 1
            (headers, next) = try Self.head(window, from: next)
            contentStart = base + next
            position = base + next
        }
    }

    /// Reads header lines up to the empty one.
    private static func head(_ window: [UInt8], from start: Int) throws -> (
        [String: String], Int
    ) {
        var headers: [String: String] = [:]
        var position = start
        while let end = find([0x0A], in: window, from: position) {
            var line = window[position..<end]
            if line.last == 0x0D { line.removeLast() }
            position = end + 1
            if line.isEmpty { return (headers, position) }
            let text = String(decoding: line, as: UTF8.self)
            guard let colon = text.firstIndex(of: ":") else { throw malformed }
            let value = text[text.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            headers[text[..<colon].lowercased()] = String(value)
        }
        throw malformed
    }

    private static func find(_ pattern: [UInt8], in bytes: [UInt8], from start: Int) -> Int? {
        guard bytes.count - start >= pattern.count, start >= 0 else { return nil }
        var index = start
        let first = pattern[0]
        let last = bytes.count - pattern.count
        while index <= last {
            if bytes[index] == first, bytes[index..<(index + pattern.count)].elementsEqual(pattern)
            {
                return index
            }
            index += 1
        }
        return nil
    }

    /// The value of a parameter such as `boundary=…` or `filename="…"`.
    static func parameter(_ name: String, of header: String) -> String? {
        var rest = Substring(header)
        while let semicolon = rest.firstIndex(of: ";") {
            rest = rest[rest.index(after: semicolon)...].drop { $0 == " " || $0 == "\t" }
            guard let equals = rest.firstIndex(of: "=") else { return nil }
            let found = rest[..<equals].lowercased() == name
            rest = rest[rest.index(after: equals)...]
            guard rest.first == "\"" else {
                if found { return String(rest.prefix { $0 != ";" && $0 != " " }) }
                continue
            }
            var value = ""
            rest = rest.dropFirst()
            while let character = rest.first, character != "\"" {
                rest = rest.dropFirst()
                if character == "\\", let escaped = rest.first {
                    value.append(escaped)
                    rest = rest.dropFirst()
                } else {
                    value.append(character)
                }
            }
            if found { return value }
        }
        return nil
    }

    private static var malformed: HTTPFailure {
        .badRequest("The multipart body is malformed or cut off.")
    }
}
