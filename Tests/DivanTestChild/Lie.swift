// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport

/// What is wrong with an answer.
enum Lie: CaseIterable {
    /// Nothing, so that a conversation gets as far as its later answers.
    case nothing
    /// One value of the JSON is another number, text or kind.
    case value
    /// A member is gone, doubled, or has another name.
    case member
    /// Some bytes are others, more or fewer.
    case bytes
    /// The body ends early, and the connection with it.
    case cut
    /// A length, a coding, a type or a date in the head says something else.
    case field
    /// The status is another one.
    case status
    /// The chunks are none.
    case chunks

    /// Chooses one; half of all answers are true.
    init(_ random: inout SeededRandom) {
        self = random.oneIn(2) ? .nothing : random.element(of: Self.allCases)
    }

    private static let numbers = [
        "-1", "0", "9223372036854775807", "9223372036854775808", "18446744073709551615",
        "18446744073709551616", "-9223372036854775808", "1e300", "-1e300", "1e400", "-0.0",
        "1e-400", "0.5", "9007199254740993", "4294967296",
    ]
    private static let texts: [String] = [
        "", "_design/\u{301}a", "_design/x", "_local/x", "cafe\u{301}", "\u{0}", "\u{202E}", "-",
        "1-",
        "99999999999999999999-a", "1-" + String(repeating: "f", count: 300), "0-0", "-1-a",
        String(repeating: "n", count: 70_000), "../../etc", "a/b?c#d%", "{}", "null", "md5-",
        "sha1-", "\u{FFFF}",
    ]
    private static let kinds: [JSONValue] = [
        .null, true, false, [], [:], "text", 7, [[]], [["rev": 1]], ["ok": true], [.null],
        ["error": "x"],
    ]
    private static let words = [
        "-1", "0", "1", "99999999999999999999", "18446744073709551616", "gzip", "identity", "x",
        "multipart/mixed", "multipart/related; boundary=", "text/html", "bytes 0-1/2",
        "bytes 5-1/0", "chunked", "Thu, 01 Jan 99999 00:00:00 GMT", "31536000", "\u{E9}", "",
    ]
    private static let fields = [
        "Content-Length", "Content-Encoding", "Content-Type", "Content-Range", "Retry-After",
        "ETag", "Content-MD5", "Set-Cookie", "Location", "Transfer-Encoding", "WWW-Authenticate",
        "Date", "Server",
    ]
    private static let statuses = [
        100, 199, 200, 201, 202, 204, 206, 301, 302, 304, 400, 401, 403, 404, 405, 406, 407, 409,
        412, 413,
        415, 416, 417, 429, 500, 501, 502, 503, 504, 599, 999,
    ]

    /// Sends a changed answer.
    func tell(
        _ answer: TrueAnswer, over connection: LoopbackConnection, _ random: inout SeededRandom
    ) {
        var answer = answer
        switch self {
        case .nothing: break
        case .value, .member:
            if let json = answer.json {
                answer.body = Array(changed(json, &random).utf8)
            } else {
                Self.damage(&answer.body, &random)
            }
        case .bytes: Self.damage(&answer.body, &random)
        case .cut:
            connection.write(lines: Self.head(answer, length: answer.body.count))
            connection.write(answer.body.prefix(random.below(answer.body.count + 1)))
            random.oneIn(2) ? connection.reset() : connection.interrupt()
            return
        case .field:
            let field = (random.element(of: Self.fields), random.element(of: Self.words))
            answer.fields.removeAll { $0.0 == field.0 && random.oneIn(2) }
            answer.fields.append(field)
            // A length of its own is sent beside the right one, or in its place.
            let isLength = field.0 == "Content-Length" && random.oneIn(2)
            connection.write(lines: Self.head(answer, length: isLength ? nil : answer.body.count))
            connection.write(answer.body)
            connection.interrupt()
            return
        case .status: answer.status = random.element(of: Self.statuses)
        case .chunks:
            answer.fields.append(("Transfer-Encoding", "chunked"))
            connection.write(lines: Self.head(answer, length: nil))
            let size = random.element(of: [
                "5", "0", "-1", "ffffffffffffffff", "10000000000000000", "zz", "",
            ])
            connection.write(lines: size + "\n")
            connection.write(answer.body)
            connection.interrupt()
            return
        }
        connection.respond(status: answer.status, headers: answer.fields, body: answer.body)
    }

    private static func head(_ answer: TrueAnswer, length: Int?) -> String {
        var head = "HTTP/1.1 \(answer.status) Status\n"
        for (name, value) in answer.fields { head += "\(name): \(value)\n" }
        if let length { head += "Content-Length: \(length)\n" }
        return head + "\n"
    }

    private static func damage(_ bytes: inout [UInt8], _ random: inout SeededRandom) {
        for _ in 0...random.below(4) where !bytes.isEmpty {
            let place = random.below(bytes.count)
            switch random.below(5) {
            case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
            case 1: bytes.remove(at: place)
            case 2: bytes.insert(random.element(of: Array("\"[]{},:-\\\u{0}9e".utf8)), at: place)
            case 3: bytes.removeSubrange(place...)
            default: bytes.insert(contentsOf: bytes[place...].prefix(64), at: place)
            }
        }
    }

    /// The JSON as text with one place changed. Places are counted, and one is drawn.
    private func changed(_ json: JSONValue, _ random: inout SeededRandom) -> String {
        var place = random.below(max(1, Self.places(in: json)))
        // A deep answer, now and then.
        if random.oneIn(40) {
            let depth = random.element(of: [500, 513, 100_000])
            return String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        return text(json, &place, &random)
    }

    private static func places(in json: JSONValue) -> Int {
        switch json {
        case .array(let values): values.reduce(1) { $0 + places(in: $1) }
        case .object(let members): members.reduce(1) { $0 + places(in: $1.value) }
        default: 1
        }
    }

    private func text(_ json: JSONValue, _ place: inout Int, _ random: inout SeededRandom)
        -> String
    {
        place -= 1
        if place == -1, self == .value { return Self.replacement(&random) }
        switch json {
        case .array(let values):
            let isHere = place == -1
            var items = values.map { text($0, &place, &random) }
            if isHere, !items.isEmpty {
                if random.oneIn(2) { items.append(items[0]) } else { items.removeLast() }
            }
            return "[" + items.joined(separator: ",") + "]"
        case .object(let members):
            let isHere = place == -1
            var items: [(String, String)] = []
            for (key, value) in members {
                items.append((JSONWriter.string(.string(key)), text(value, &place, &random)))
            }
            if isHere, !items.isEmpty {
                let index = random.below(items.count)
                switch random.below(3) {
                case 0: items.remove(at: index)
                case 1: items.append((items[index].0, Self.replacement(&random)))
                default:
                    items[index].0 = JSONWriter.string(.string(random.element(of: Self.texts)))
                }
            }
            return "{" + items.map { "\($0):\($1)" }.joined(separator: ",") + "}"
        default: return JSONWriter.string(json)
        }
    }

    private static func replacement(_ random: inout SeededRandom) -> String {
        switch random.below(3) {
        case 0: random.element(of: numbers)
        case 1: JSONWriter.string(.string(random.element(of: texts)))
        default: JSONWriter.string(random.element(of: kinds))
        }
    }
}
