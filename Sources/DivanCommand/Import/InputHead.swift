// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// What the first bytes of an input say about its format.
struct InputHead {
    /// 64 kB: more than any dump has before its first row, and one read from a pipe.
    static let size = 1 << 16

    /// What CouchDB writes before the rows of a dump.
    private static let dumpPreamble: Set = [
        "total_rows", "offset", "update_seq", "new_edits", "last_seq", "pending",
    ]

    private var firstByte: UInt8?
    /// The keys of the first object as far as they were seen, each with its value's first byte.
    private var members: [(key: String, valueStart: UInt8)] = []
    /// Whether a line ends inside the first object.
    private var isMultiline = false
    /// Whether anything follows the first object.
    private var hasMore = false
    private var isClosed = false

    init(_ head: Span<UInt8>) {
        var scanner = StructureScanner()
        var index = 0
        guard scanner.skipSpace(in: head, from: &index) else { return }
        firstByte = head[index]
        guard firstByte == JSONByte.openBrace else { return }
        var keyStart: Int?
        var lastKey: String?
        while !isClosed, let token = scanner.next(in: head, from: &index) {
            switch token {
            case .lineFeed: isMultiline = true
            case .close: isClosed = scanner.depth == 0
            case .stringStart where scanner.depth == 1: keyStart = index
            case .stringEnd where scanner.depth == 1:
                lastKey = keyStart.flatMap { Self.string(head.extracting($0..<(index - 1))) }
            case .colon where scanner.depth == 1:
                var valueStart = index
                _ = scanner.skipSpace(in: head, from: &valueStart)
                if let lastKey, valueStart < head.count {
                    members.append((lastKey, head[valueStart]))
                }
            default: break
            }
        }
        hasMore = isClosed && scanner.skipSpace(in: head, from: &index)
    }

    /// Whether more of the input would not change the layout.
    var isTelling: Bool {
        guard firstByte == JSONByte.openBrace else { return firstByte != nil }
        return hasMore || isMultiline && members.contains { !Self.dumpPreamble.contains($0.key) }
    }

    func layout() throws(CommandFailure) -> ImportLayout {
        switch firstByte {
        case JSONByte.openBracket: return ImportLayout(cut: .elements(path: []))
        case JSONByte.openBrace: break
        case 0xFF, 0xFE, 0x00:
            throw CommandFailure(
                .badInput, "The input is not UTF-8 text; convert it first, with iconv perhaps.")
        default: return ImportLayout(cut: .lines)
        }
        if !hasMore, let key = dumpKey {
            return ImportLayout(cut: .elements(path: [[key]]), mayBeRows: key != "docs")
        }
        guard isMultiline else { return ImportLayout(cut: .lines) }
        if !hasMore, let first = members.first, first.valueStart == JSONByte.openBracket {
            throw CommandFailure(
                .usage,
                "The input is an object around an array: name it, with --key \(first.key), or use"
                    + " --format values if the object is itself a document.")
        }
        return ImportLayout(cut: .values)
    }

    /// The member that holds CouchDB's rows, if nothing stands before it but what CouchDB writes.
    private var dumpKey: String? {
        let first = members.first { !Self.dumpPreamble.contains($0.key) }
        guard let member = first else { return nil }
        guard member.valueStart == JSONByte.openBracket else { return nil }
        return ImportLayout.dumpKeys.contains(member.key) ? member.key : nil
    }

    private static func string(_ bytes: Span<UInt8>) -> String? {
        var text = [JSONByte.quote]
        for i in bytes.indices { text.append(bytes[i]) }
        text.append(JSONByte.quote)
        return (try? JSONParser.parse(text.span))?.string
    }
}
