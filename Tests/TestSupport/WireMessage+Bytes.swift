// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

// From a script, to the wire and back.
extension WireMessage {
    init(_ lines: inout ArraySlice<String>, mark: String) throws {
        var fields: [(name: String, value: String)] = []
        while let line = lines.first, line.hasPrefix(mark) {
            if mark == "> " || mark == "< ", let field = Self.field(line.dropFirst(2)) {
                fields.append(field)
            }
            lines.removeFirst()
        }
        self.init(fields: fields, body: try Self.body(&lines, depth: 1))
    }

    private static func field(_ text: some StringProtocol) -> (name: String, value: String)? {
        guard let colon = text.firstIndex(of: ":") else { return nil }
        return (
            String(text[..<colon]), String(text[text.index(after: colon)...].drop { $0 == " " })
        )
    }

    private static func body(_ lines: inout ArraySlice<String>, depth: Int) throws -> Body {
        let mark = String(repeating: "--", count: depth) + " "
        guard let first = lines.first, !first.hasPrefix("< ") else { return .none }
        if first.hasPrefix(mark) {
            var parts: [WireMessage] = []
            while let line = lines.first, line.hasPrefix(mark) {
                lines.removeFirst()
                let fields = line.dropFirst(mark.count).split(separator: " | ").compactMap {
                    field($0)
                }
                parts.append(WireMessage(fields: fields, body: try body(&lines, depth: depth + 1)))
            }
            return .parts(parts)
        }
        if first.hasPrefix("= ") {
            var text: [String] = []
            while let line = lines.first, line.hasPrefix("= ") {
                text.append(String(line.dropFirst(2)))
                lines.removeFirst()
            }
            return .text(text.joined(separator: "\n"))
        }
        lines.removeFirst()
        if first.hasPrefix("@") { return .bytes(made(Int(first.dropFirst()) ?? 0)) }
        if first.hasPrefix("~") {
            return .bytes(Base64.decode(String(first.dropFirst())) ?? [])
        }
        return .json(filled(try JSONParser.parse(first)))
    }

    /// A document with the contents that its `data` stands for.
    private static func filled(_ value: JSONValue) -> JSONValue {
        switch value {
        case .array(let elements): return .array(elements.map(filled))
        case .object(let object):
            var filledObject: JSONObject = [:]
            for (key, value) in object {
                let text = value.string ?? ""
                filledObject[key] =
                    key == "data" && text.hasPrefix("@")
                    ? .string(Base64.encode(made(Int(text.dropFirst()) ?? 0))) : filled(value)
            }
            return .object(filledObject)
        default: return value
        }
    }

    /// The fields and bytes as they go over the wire.
    public func encoded() -> (fields: [(name: String, value: String)], bytes: [UInt8]) {
        var fields = fields
        var bytes: [UInt8] = []
        switch body {
        case .none: break
        case .json(let value): bytes = Array(JSONWriter.string(value).utf8)
        case .text(let text): bytes = Array(text.utf8)
        case .bytes(let content): return (fields, content)
        case .parts(let parts):
            let boundary = "wire-\(parts.count)-" + String(parts.reduce(0) { $0 + $1.depth })
            for index in fields.indices where fields[index].name == "Content-Type" {
                fields[index].value += "; boundary=\"\(boundary)\""
            }
            for part in parts {
                let (partFields, content) = part.encoded()
                let head = partFields.map { "\($0.name): \($0.value)\r\n" }.joined()
                bytes += Array("--\(boundary)\r\n\(head)\r\n".utf8) + content + [0x0D, 0x0A]
            }
            return (fields, bytes + Array("--\(boundary)--".utf8))
        }
        return self["Content-Encoding"] == "gzip"
            ? (fields, Gzip.stored(bytes)) : (fields, bytes)
    }

    private var depth: Int {
        if case .parts(let parts) = body { 10 + parts.reduce(0) { $0 + $1.depth } } else { 1 }
    }

    /// Takes a message from the wire apart.
    public init(reading fields: [(name: String, value: String)], _ bytes: [UInt8]) {
        self.init(fields: fields, body: .none)
        let type = self["Content-Type"] ?? ""
        if type.hasPrefix("multipart/"), let name = type.split(separator: "boundary=").last {
            let boundary = Array("--".utf8) + Array(name.filter { $0 != "\"" }.utf8)
            body = .parts(Self.parts(bytes, boundary))
        } else if bytes.isEmpty {
            body = .none
        } else if let value = try? JSONParser.parse(String(decoding: bytes, as: UTF8.self)) {
            body = .json(value)
        } else {
            body = .bytes(bytes)
        }
    }

    private static func parts(_ bytes: [UInt8], _ boundary: [UInt8]) -> [WireMessage] {
        let pieces = bytes.split(separator: boundary, omittingEmptySubsequences: false)
        return pieces.dropFirst().compactMap { piece in
            // The last one is followed by two hyphens.
            guard piece.first == 0x0D, let end = piece.firstRange(of: Array("\r\n\r\n".utf8)) else {
                return nil
            }
            let head = String(decoding: piece[..<end.lowerBound], as: UTF8.self)
            let fields = head.split(separator: "\r\n").compactMap { field($0) }
            return WireMessage(reading: fields, Array(piece[end.upperBound...].dropLast(2)))
        }
    }
}

/// The simplest form of gzip: nothing is compressed.
enum Gzip {
    static func stored(_ bytes: [UInt8]) -> [UInt8] {
        var text: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF]
        var start = 0
        repeat {
            let count = min(0xFFFF, bytes.count - start)
            let isLast = start + count == bytes.count
            text += [isLast ? 1 : 0, UInt8(count & 0xFF), UInt8(count >> 8)]
            text +=
                [UInt8(~count & 0xFF), UInt8(~count >> 8 & 0xFF)] + bytes[start..<start + count]
            start += count
        } while start < bytes.count
        for number in [checksum(bytes), UInt32(bytes.count)] {
            text += (0..<4).map { UInt8(number >> ($0 * 8) & 0xFF) }
        }
        return text
    }

    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        ~bytes.reduce(0xFFFF_FFFF) { sum, byte in
            (0..<8).reduce(sum ^ UInt32(byte)) { sum, _ in
                sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1
            }
        }
    }
}
