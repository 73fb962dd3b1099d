// SPDX-License-Identifier: Apache-2.0

/// Cuts JSON lines: one record a line, blank lines skipped.
///
/// Whatever is wrong in one line cannot touch the next.
struct LineSplitter: RecordSplitter {
    private var line = 1
    private var isInRecord = false
    private var record: PartialRecord

    init(limit: Int = PartialRecord.maximumSize) {
        record = PartialRecord(limit: limit)
    }

    mutating func consume(_ chunk: Span<UInt8>, _ take: RecordTaker) throws {
        var start = 0
        while start < chunk.count {
            var end = start
            while end < chunk.count, chunk[end] != JSONByte.lineFeed { end += 1 }
            try takePiece(chunk.extracting(start..<end), isLast: end < chunk.count, take)
            start = end + 1
        }
    }

    mutating func finish(_ take: RecordTaker) throws {
        let nothing: [UInt8] = []
        try takePiece(nothing.span, isLast: true, take)
    }

    /// Takes a line or a piece of one; `isLast` when the line ends with it.
    private mutating func takePiece(
        _ piece: Span<UInt8>, isLast: Bool, _ take: RecordTaker
    ) throws {
        if !isInRecord, !Self.isBlank(piece) {
            isInRecord = true
            record.begin(line: line)
        }
        if isInRecord, isLast {
            isInRecord = false
            try record.end(piece, take)
        } else if isInRecord {
            record.keep(piece)
        }
        if isLast { line += 1 }
    }

    private static func isBlank(_ bytes: Span<UInt8>) -> Bool {
        var i = 0
        while i < bytes.count, JSONByte.isSpace(bytes[i]) { i += 1 }
        return i == bytes.count
    }
}
