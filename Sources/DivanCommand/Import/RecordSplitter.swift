// SPDX-License-Identifier: Apache-2.0

/// Where a record stands in its input, for messages: both count from 1.
struct RecordLocation: Sendable, Equatable {
    var number: Int
    var line: Int
    /// Whether the record had more bytes than a record may have: it comes without any.
    var isTooLong = false
}

/// What takes a record: its bytes, borrowed for the time of the call.
typealias RecordTaker = (Span<UInt8>, RecordLocation) throws -> Void

/// Cuts a stream of bytes into the JSON texts of single records.
///
/// Input comes in chunks of any size, and each record is handed on as soon as it is whole; nothing
/// is kept but the beginning of the record that a chunk's end has cut through. So a file of any
/// length is read in bounded memory. A splitter looks at structure only, at quotes and brackets and
/// line feeds: whether a record is valid JSON is for the parser to say, of that record alone.
protocol RecordSplitter {
    /// Takes the next bytes of the input.
    mutating func consume(_ chunk: Span<UInt8>, _ take: RecordTaker) throws

    /// Takes the end of the input.
    ///
    /// - Throws: `SplitFailure` if the input ends where it cannot.
    mutating func finish(_ take: RecordTaker) throws
}

/// Input whose outer structure is broken or is not the expected one, so that nothing after it can
/// be read as records.
struct SplitFailure: Error, Equatable, CustomStringConvertible {
    var line: Int
    var message: String

    var description: String { "Line \(line): \(message)" }
}

/// The record being collected: where it began, and those of its bytes that an earlier chunk held.
struct PartialRecord {
    /// 256 MB of text: four times what a database accepts by default, so that a limit is hit in
    /// the database, where the message is better, unless the input is hopeless.
    static let maximumSize = 256 << 20

    private(set) var number = 0
    private var line = 0
    private var earlier: [UInt8] = []
    private var isTooLong = false
    private let limit: Int

    init(limit: Int = maximumSize) {
        self.limit = limit
    }

    mutating func begin(line: Int) {
        self.line = line
        earlier.removeAll(keepingCapacity: earlier.count <= 1 << 20)
        isTooLong = false
    }

    /// Keeps what the current chunk holds of the record.
    mutating func keep(_ bytes: Span<UInt8>) {
        if isTooLong || earlier.count + bytes.count > limit {
            isTooLong = true
            earlier = []
        } else {
            append(bytes)
        }
    }

    /// Hands the whole record on; `bytes` are the last of it.
    mutating func end(_ bytes: Span<UInt8>, _ take: RecordTaker) throws {
        number += 1
        var location = RecordLocation(number: number, line: line)
        if earlier.isEmpty, !isTooLong, bytes.count <= limit {
            return try take(bytes.extracting(JSONByte.trimmedRange(of: bytes)), location)
        }
        keep(bytes)
        location.isTooLong = isTooLong
        let whole = earlier
        try take(whole.span.extracting(JSONByte.trimmedRange(of: whole.span)), location)
    }

    private mutating func append(_ bytes: Span<UInt8>) {
        // SAFETY: the buffer is read while the span is borrowed.
        unsafe bytes.withUnsafeBufferPointer { unsafe earlier.append(contentsOf: $0) }
    }
}

/// The bytes that give JSON text its structure.
enum JSONByte {
    static let quote = UInt8(ascii: "\"")
    static let backslash = UInt8(ascii: "\\")
    static let comma = UInt8(ascii: ",")
    static let colon = UInt8(ascii: ":")
    static let openBrace = UInt8(ascii: "{")
    static let closeBrace = UInt8(ascii: "}")
    static let openBracket = UInt8(ascii: "[")
    static let closeBracket = UInt8(ascii: "]")
    static let lineFeed = UInt8(ascii: "\n")

    static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    /// The range without the space at both ends.
    static func trimmedRange(of bytes: Span<UInt8>) -> Range<Int> {
        var end = bytes.count
        while end > 0, isSpace(bytes[end - 1]) { end -= 1 }
        var start = 0
        while start < end, isSpace(bytes[start]) { start += 1 }
        return start..<end
    }
}
