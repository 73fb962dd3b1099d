// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex
internal import DivanJSON
internal import DivanModel

/// Turns the keys that a query asks for into ranges of row keys.
struct QueryRanges {
    let query: ViewQuery
    let coder: RowKeyCoder

    /// The ranges, in the order in which their rows come.
    var ranges: [RowRange] {
        if let keys = query.keys { return keys.map { equal(to: $0) } }
        var (first, last) = (query.startKey, query.endKey)
        if query.prefixMatchLevel > 0 {
            if query.descending {
                first = first.map { Self.lastKey($0, level: query.prefixMatchLevel) }
            } else {
                last = last.map { Self.lastKey($0, level: query.prefixMatchLevel) }
            }
        }
        let start = (key: first, id: query.startKeyDocumentID, isIn: query.inclusiveStart)
        let end = (key: last, id: query.endKeyDocumentID, isIn: query.inclusiveEnd)
        let (low, high) = query.descending ? (end, start) : (start, end)
        return [
            RowRange(
                lower: low.key.map { bound($0, low.id, behind: !low.isIn) },
                upper: high.key.map { bound($0, high.id, behind: high.isIn) })
        ]
    }

    /// The rows whose key equals a value.
    func equal(to key: JSONValue) -> RowRange {
        var bytes: [UInt8] = []
        coder.append(key, to: &bytes)
        return RowRange(emittedKey: bytes)
    }

    /// Before or behind the rows of one key, or of one key and one document.
    private func bound(_ key: JSONValue, _ id: DocumentID?, behind: Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        coder.append(key, to: &bytes)
        if let id {
            RowDocumentID.append(id, to: &bytes)
            // A row has a zero behind the ID; what follows it in a longer ID stands above this.
            if behind { bytes.append(1) }
        } else if behind {
            bytes.append(RowKey.aboveIDs)
        }
        return bytes
    }

    /// The last key that a prefix matches.
    private static func lastKey(_ key: JSONValue, level: Int) -> JSONValue {
        switch key {
        case .string(let text):
            // Collates after every continuation, in Unicode's order and in that of bytes.
            return level == 1 ? .string(text + "\u{FFFF}") : key
        case .array(var items):
            if level == 1 {
                items.append(.object([:]))
            } else if let last = items.popLast() {
                items.append(lastKey(last, level: level - 1))
            }
            return .array(items)
        default: return key
        }
    }
}
