// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex
internal import DivanJSON

/// Turns the keys that a query asks for into ranges of row keys.
struct QueryRanges {
    let query: Query
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
                lower: low.key.map { lower($0, low.id, isIn: low.isIn) },
                upper: high.key.map { upper($0, high.id, isIn: high.isIn) })
        ]
    }

    /// The rows whose key equals a value.
    func equal(to key: JSONValue) -> RowRange {
        RowRange(lower: lower(key, nil, isIn: true), upper: upper(key, nil, isIn: true))
    }

    private func lower(_ key: JSONValue, _ id: String?, isIn: Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        guard let id else {
            if isIn {
                coder.appendLowerBound(of: key, to: &bytes)
            } else {
                coder.appendUpperBound(of: key, to: &bytes)
            }
            return bytes
        }
        return bound(key, id, behind: !isIn)
    }

    private func upper(_ key: JSONValue, _ id: String?, isIn: Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        guard let id else {
            if isIn {
                coder.appendUpperBound(of: key, to: &bytes)
            } else {
                coder.appendLowerBound(of: key, to: &bytes)
            }
            return bytes
        }
        return bound(key, id, behind: isIn)
    }

    /// Before or behind the rows of one key and one document.
    private func bound(_ key: JSONValue, _ id: String, behind: Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        coder.append(key, to: &bytes)
        bytes.append(contentsOf: id.utf8)
        // A row has a zero behind the ID.
        if behind { bytes.append(1) }
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
