// SPDX-License-Identifier: Apache-2.0

/// Cuts the elements out of one array: the input itself, or an array inside an object.
///
/// ```
/// { "total_rows": 2, "rows": [ {"id": …}, {"id": …} ], "update_seq": 7 }
///   └──── seeking ─────────┘   └─ record ─┘ └─ record ─┘ └─ afterwards ─┘
/// ```
///
/// An element is all that stands between two commas at the array's depth. A broken one is therefore
/// handed on like any other, and the elements after it are found again wherever its own brackets
/// balance.
struct ElementSplitter: RecordSplitter {
    private enum Phase { case start, seeking, inArray, afterwards }

    private var scanner = StructureScanner()
    private var record: PartialRecord
    private var path: ArrayPathFinder
    private var phase = Phase.start
    /// The scanner's depth just inside the array.
    private var arrayDepth = 0
    private var isInRecord = false
    /// Whether a comma has promised another element.
    private var isElementDue = false

    /// Makes a splitter from the keys that lead to the array, each with its alternatives; none if
    /// the input is the array itself.
    init(path: [[String]] = [], limit: Int = PartialRecord.maximumSize) {
        self.path = ArrayPathFinder(path)
        record = PartialRecord(limit: limit)
    }

    mutating func consume(_ chunk: Span<UInt8>, _ take: RecordTaker) throws {
        var index = 0
        if phase == .start { try start(chunk, &index) }
        if phase == .seeking { try seek(chunk, &index) }
        if phase == .inArray { try takeElements(chunk, &index, take) }
        if phase == .afterwards { try skipRest(chunk, &index) }
    }

    mutating func finish(_ take: RecordTaker) throws {
        switch phase {
        case .start: throw failure("the input is empty: an array is expected.")
        case .seeking: throw failure("the input ends before \(path.name) begins.")
        case .inArray:
            throw failure("the input ends inside the array, after record \(record.number).")
        case .afterwards:
            if scanner.depth > 0 { throw failure("the input ends before its last bracket.") }
        }
    }

    /// Looks at the first byte, which says whether the path can lead anywhere.
    private mutating func start(_ chunk: Span<UInt8>, _ index: inout Int) throws {
        guard scanner.skipSpace(in: chunk, from: &index) else { return }
        let expected = path.isEmpty ? JSONByte.openBracket : JSONByte.openBrace
        guard chunk[index] == expected else {
            throw failure(
                path.isEmpty
                    ? "the input does not begin with \"[\", as an array does."
                    : "the input does not begin with \"{\", as an object with \(path.name) does.")
        }
        phase = .seeking
    }

    private mutating func seek(_ chunk: Span<UInt8>, _ index: inout Int) throws {
        while index < chunk.count {
            switch path.advance(chunk, &index, &scanner) {
            case .needsMore:
                continue
            case .found:
                phase = .inArray
                arrayDepth = scanner.depth
                return
            case .absent(let reason):
                throw failure(reason)
            }
        }
    }

    private mutating func takeElements(
        _ chunk: Span<UInt8>, _ index: inout Int, _ take: RecordTaker
    ) throws {
        // Where the record's bytes begin in this chunk.
        var start = index
        while true {
            if !isInRecord {
                guard scanner.skipSpace(in: chunk, from: &index) else { return }
                start = index
                if chunk[index] != JSONByte.comma, chunk[index] != JSONByte.closeBracket {
                    beginRecord()
                }
            }
            guard let token = scanner.next(in: chunk, from: &index) else {
                if isInRecord { record.keep(chunk.extracting(start..<chunk.count)) }
                return
            }
            if token == .comma, scanner.depth == arrayDepth {
                if !isInRecord { beginRecord() }
                try endRecord(chunk.extracting(start..<(index - 1)), take)
                isElementDue = true
            } else if token == .close(JSONByte.closeBracket), scanner.depth < arrayDepth {
                if isElementDue, !isInRecord { beginRecord() }
                if isInRecord { try endRecord(chunk.extracting(start..<(index - 1)), take) }
                phase = .afterwards
                return
            } else if scanner.depth < arrayDepth {
                // A brace too many cannot end the array: it belongs to a broken record.
                scanner.reopen()
            }
        }
    }

    private mutating func beginRecord() {
        isInRecord = true
        record.begin(line: scanner.line)
    }

    private mutating func endRecord(_ bytes: Span<UInt8>, _ take: RecordTaker) throws {
        isInRecord = false
        isElementDue = false
        try record.end(bytes, take)
    }

    private mutating func skipRest(_ chunk: Span<UInt8>, _ index: inout Int) throws {
        while index < chunk.count {
            if scanner.depth > 0 {
                _ = scanner.next(in: chunk, from: &index)
            } else if scanner.skipSpace(in: chunk, from: &index) {
                throw failure("there is more input after the end of the array.")
            }
        }
    }

    private func failure(_ message: String) -> SplitFailure {
        SplitFailure(line: scanner.line, message: message)
    }
}
