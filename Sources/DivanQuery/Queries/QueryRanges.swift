// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex
internal import DivanJSON
internal import DivanModel
internal import DivanStorage

/// Turns the keys that a query asks for into ranges of row keys.
struct QueryRanges {
    let query: ViewQuery
    let coder: RowKeyCoder

    /// The ranges, in the order in which their rows come.
    var ranges: [RowRange] {
        if let keys = query.keys { return keys.map { range(of: $0) } }
        let start = (
            key: query.startKey, id: query.startKeyDocumentID, isIn: query.inclusiveStart
        )
        let end = (key: query.endKey, id: query.endKeyDocumentID, isIn: query.inclusiveEnd)
        let (low, high) = query.descending ? (end, start) : (start, end)
        let asked = RowRange(
            lower: low.key.map { bound($0, low.id, behind: !low.isIn) },
            upper: high.key.map {
                prefixEnd($0, level: query.prefixMatchLevel, behind: lead)
                    ?? bound($0, high.id, behind: high.isIn)
            })
        return [asked.clamped(to: whole)]
    }

    /// All rows that the query can find: those of its partition, where it asks for one.
    var whole: RowRange { query.partition == nil ? .all : RowRange(prefix: lead) }

    /// What all rows of the query's partition begin with; nothing without one.
    var lead: [UInt8] {
        var lead: [UInt8] = []
        if let partition = query.partition { RowPartition.append(partition, to: &lead) }
        return lead
    }

    /// The rows of one of the keys that the query asks for, from one document to another where it says so.
    private func range(of key: JSONValue) -> RowRange {
        let (start, end) = (query.startKeyDocumentID, query.endKeyDocumentID)
        guard start != nil || end != nil else { return equal(to: key) }
        let (low, high) = query.descending ? (end, start) : (start, end)
        return RowRange(
            lower: bound(key, low, behind: false), upper: bound(key, high, behind: true))
    }

    /// The rows whose key equals a value.
    func equal(to key: JSONValue) -> RowRange {
        var bytes = lead
        coder.append(key, to: &bytes)
        return RowRange(emittedKey: bytes)
    }

    /// Before or behind the rows of one key, or of one key and one document.
    private func bound(_ key: JSONValue, _ id: DocumentID?, behind: Bool) -> [UInt8] {
        var bytes = lead
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

    /// Behind the rows of all keys that a prefix matches; nil where a key of this form has only itself.
    ///
    /// - Parameters:
    ///   - key: The prefix.
    ///   - level: 1 for texts and arrays that begin as it does; 2 and more to look so deep into the last item of an array.
    ///   - bytes: What stands before the key in a row.
    /// - Returns: The bytes at which the first row lies that the prefix does not match, or behind which it does.
    private func prefixEnd(_ key: JSONValue, level: Int, behind bytes: [UInt8]) -> [UInt8]? {
        var bytes = bytes
        switch key {
        case .string(let text) where level == 1:
            guard coder.collation == .unicode else {
                coder.append(key, to: &bytes)
                // It ends the text.
                bytes.removeLast()
                return KeyEncoding.successor(ofPrefix: bytes.span)
            }
            // Collates after every continuation.
            coder.append(.string(text + "\u{FFFF}"), to: &bytes)
            return bytes + [RowKey.aboveIDs]
        case .array(let items) where level == 1:
            coder.appendPrefix(of: items, to: &bytes)
            return KeyEncoding.successor(ofPrefix: bytes.span)
        case .array(let items) where level > 1:
            guard let last = items.last else { return nil }
            coder.appendPrefix(of: items.dropLast(), to: &bytes)
            return prefixEnd(last, level: level - 1, behind: bytes)
        default: return nil
        }
    }
}
