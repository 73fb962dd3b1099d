// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanTestSupport

/// A message taken from recorded traffic: its headers and its body.
struct RecordedMessage {
    var startLine: String
    var headers: HTTPHeaders
    var body: [UInt8]
    /// False when the recorder cut the body.
    var isWhole = true
}

/// Traffic between real peers, from `../shared/wire`.
///
/// Each block of a recording begins with `@@ N> time bytes`, where `>` goes to the server; blocks are
/// cut at 6,000 bytes, so a body may lack its end.
enum RecordedTraffic {
    static let names = [
        "cbl14-to-cbl14", "cbl14-to-couchdb", "cbl14-to-syncgateway-like", "couchdb-to-couchdb",
        "pouchdb-to-couchdb",
    ]

    /// The messages of a recording; `nil` when it is absent.
    static func messages(of name: String) -> [RecordedMessage]? {
        guard let bytes = SharedFolder.bytes(of: "wire/\(name).log") else { return nil }
        var streams: [String: [UInt8]] = [:]
        var messages: [RecordedMessage] = []
        for block in blocks(of: bytes) {
            // A request or response that begins anew ends what came before in its direction.
            let isStart =
                block.bytes.starts(with: "HTTP/1.1 ".utf8)
                || block.bytes.prefix(200).split(separator: UInt8(ascii: "\n")).first.map {
                    String(decoding: $0, as: UTF8.self).contains(" HTTP/1.1")
                } ?? false
            if isStart, let earlier = streams.updateValue([], forKey: block.stream) {
                if let message = message(in: earlier) { messages.append(message) }
            }
            streams[block.stream, default: []] += block.bytes
        }
        for rest in streams.values {
            if let message = message(in: rest) { messages.append(message) }
        }
        return messages
    }

    private static func blocks(of bytes: [UInt8]) -> [(stream: String, bytes: ArraySlice<UInt8>)] {
        let marks = bytes.indices.dropLast(3).filter { index in
            bytes[index] == 0x40 && bytes[index + 1] == 0x40 && bytes[index + 2] == 0x20
                && (index == 0 || bytes[index - 1] == 0x0A)
        }
        return zip(marks, marks.dropFirst() + [bytes.count + 1]).compactMap { start, next in
            guard let feed = bytes[start...].firstIndex(of: 0x0A) else { return nil }
            let words = String(decoding: bytes[start..<feed], as: UTF8.self).split(separator: " ")
            guard words.count >= 4, let count = Int(words[3]) else { return nil }
            let end = min(feed + 1 + count, max(feed + 1, next - 1), bytes.count)
            return (String(words[1]), bytes[(feed + 1)..<end])
        }
    }

    private static func message(in bytes: [UInt8]) -> RecordedMessage? {
        var rest = bytes[...]
        guard let startLine = line(&rest) else { return nil }
        var headers = HTTPHeaders()
        while let line = line(&rest), !line.isEmpty {
            guard headers.add(line: Array(line.utf8)) else { return nil }
        }
        if headers["Transfer-Encoding"]?.lowercased() == "chunked" {
            let (body, isWhole) = unchunked(&rest)
            return RecordedMessage(
                startLine: startLine, headers: headers, body: body, isWhole: isWhole)
        }
        guard let length = headers["Content-Length"].flatMap({ Int($0) }) else { return nil }
        return RecordedMessage(
            startLine: startLine, headers: headers, body: Array(rest.prefix(length)),
            isWhole: rest.count >= length)
    }

    private static func unchunked(_ rest: inout ArraySlice<UInt8>) -> ([UInt8], isWhole: Bool) {
        var body: [UInt8] = []
        while let size = line(&rest), let count = Int(size, radix: 16) {
            if count == 0 { return (body, true) }
            body += rest.prefix(count)
            rest = rest.dropFirst(count)
            _ = line(&rest)
        }
        return (body, false)
    }

    private static func line(_ rest: inout ArraySlice<UInt8>) -> String? {
        guard let feed = rest.firstIndex(of: 0x0A) else { return nil }
        var line = rest[..<feed]
        rest = rest[(feed + 1)...]
        if line.last == 0x0D { line.removeLast() }
        return String(decoding: line, as: UTF8.self)
    }
}
