// SPDX-License-Identifier: Apache-2.0

/// Cuts a stream of objects that follow each other, each over any number of lines.
///
/// What stands between objects, up to the end of its line, is handed on as a broken record.
struct ValueSplitter: RecordSplitter {
    private var scanner = StructureScanner()
    private var record: PartialRecord
    private var isInRecord = false

    init(limit: Int = PartialRecord.maximumSize) {
        record = PartialRecord(limit: limit)
    }

    mutating func consume(_ chunk: Span<UInt8>, _ take: RecordTaker) throws {
        var index = 0
        var start = 0
        while true {
            if !isInRecord {
                guard scanner.skipSpace(in: chunk, from: &index) else { return }
                start = index
                isInRecord = true
                record.begin(line: scanner.line)
            }
            guard let token = scanner.next(in: chunk, from: &index) else {
                return record.keep(chunk.extracting(start..<chunk.count))
            }
            if scanner.depth < 0 { scanner.reopen() }
            guard scanner.depth == 0 else { continue }
            switch token {
            case .close, .lineFeed:
                isInRecord = false
                try record.end(chunk.extracting(start..<index), take)
            default:
                continue
            }
        }
    }

    mutating func finish(_ take: RecordTaker) throws {
        guard isInRecord else { return }
        if scanner.depth > 0 {
            throw SplitFailure(
                line: scanner.line, message: "the input ends inside record \(record.number + 1).")
        }
        try record.end([UInt8]().span, take)
    }
}
