// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel

/// How places in the feed of one database are written for clients, and read from them.
///
///     "42-Yh3kJc0qPzE"     the number, and which life of the database counted it
///
/// A number alone means nothing in a database that was deleted and made again, restored or copied, which its clients cannot
/// see. So a place names the life (`Database.incarnation`), and one that another life or another server counted is the
/// beginning: the client hears again of what it knows, and misses nothing. A number without a life is taken as it is; clients
/// of Couchbase Lite 1.x and of earlier releases have such.
struct WireSequence: Sendable, Equatable {
    /// Hyphen and life.
    private let life: String
    /// Whether clients are given numbers alone.
    private let areNumbers: Bool

    init(_ database: Database, areNumbers: Bool) {
        life = "-" + Self.text(Fingerprint.of(database.incarnation))
        self.areNumbers = areNumbers
    }

    /// What a client gives as a place.
    enum Given: Equatable {
        case number(SequenceNumber)
        /// Counted elsewhere.
        case foreign
        case malformed
    }

    /// Reads a place: a number, a text of this form or of CouchDB's, an array of BigCouch's; any of them also as JSON.
    func read(_ text: String) -> Given {
        var rest = text.utf8[...]
        if rest.first == UInt8(ascii: "\"") {
            rest.removeFirst()
            if rest.last == UInt8(ascii: "\"") { rest.removeLast() }
        }
        let isArray = rest.first == UInt8(ascii: "[")
        if isArray { rest.removeFirst() }
        let digits = rest.prefix { (0x30...0x39).contains($0) }
        guard !digits.isEmpty else { return .malformed }
        rest = rest[digits.endIndex...]
        if isArray { return .foreign }
        guard rest.isEmpty || rest.first == UInt8(ascii: "-") else { return .malformed }
        guard rest.isEmpty || rest.elementsEqual(life.utf8) else { return .foreign }
        return SequenceNumber(Substring(digits), radix: 10).map { .number($0) } ?? .malformed
    }

    /// The place as JSON.
    func value(_ number: SequenceNumber) -> JSONValue {
        areNumbers ? JSONValue(number) : .string("\(number)\(life)")
    }

    /// Appends the place as JSON.
    func append(_ number: SequenceNumber, to text: inout JSONText) {
        if !areNumbers { text.raw("\"") }
        appendPlain(number, to: &text)
        if !areNumbers { text.raw("\"") }
    }

    /// Appends the place without quotes, as the ID of a server-sent event.
    func appendPlain(_ number: SequenceNumber, to text: inout JSONText) {
        text.number(number)
        if !areNumbers { text.bytes.append(contentsOf: life.utf8) }
    }

    private static let digits = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_~".utf8)

    /// 64 bits as eleven characters that mean nothing in a URL.
    private static func text(_ number: UInt64) -> String {
        String(
            decoding: (0..<11).map { digits[Int(truncatingIfNeeded: number >> ($0 * 6) & 63)] },
            as: UTF8.self)
    }
}

extension Call {
    /// How places in the feed of the call's database are written.
    var sequences: WireSequence { get throws { site.sequences(of: try database) } }
}

extension Site {
    /// How places in the feed of a database are written.
    func sequences(of database: Database) -> WireSequence {
        WireSequence(database, areNumbers: options.numberSequences)
    }
}
