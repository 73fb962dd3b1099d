// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanJSON
internal import DivanStorage

// The store of documents is ordered by ID, that of expirations by time; both serve conditions as an
// index does.

extension PropertyPath {
    /// When a document expires, in milliseconds since 1970: no property that JSON can name.
    static let expiration = PropertyPath(key: "\u{0}expiration")
}

extension RowRange {
    /// Whether there can be one key only in it.
    var isSingleKey: Bool {
        guard let lower, let upper else { return false }
        return upper.count == lower.count + 1 && upper.last == 0 && upper.starts(with: lower)
    }

    /// One key.
    fileprivate init(key: [UInt8]) { self.init(lower: key, upper: key + [0]) }
}

extension ValueInterval {
    /// The IDs in the interval; nil when there are none.
    var idRange: RowRange? {
        switch self {
        case .missing: return nil
        case .prefix(let text): return RowRange(prefix: Array(text.utf8))
        case .values(let from, let to):
            guard let lower = Self.idEdge(from, isLower: true),
                let upper = Self.idEdge(to, isLower: false)
            else { return nil }
            return RowRange(lower: lower.key, upper: upper.key)
        }
    }

    /// The key at an edge, or none; nil when no ID is on the right side of it.
    private static func idEdge(_ edge: Edge, isLower: Bool) -> (key: [UInt8]?, Void)? {
        switch edge {
        case .open: return (nil, ())
        case .type(let value):
            if value.string != nil { return (nil, ()) }
            return isBelowStrings(value) == isLower ? (nil, ()) : nil
        case .value(let value, let isIncluded):
            guard let text = value.string else {
                return isBelowStrings(value) == isLower ? (nil, ()) : nil
            }
            let key = Array(text.utf8)
            return (isIncluded == isLower ? key : key + [0], ())
        }
    }

    private static func isBelowStrings(_ value: JSONValue) -> Bool {
        switch value {
        case .array, .object: false
        default: true
        }
    }

    /// The keys of the store of expirations whose times are in the interval, or somewhat more.
    var expirationRange: RowRange? {
        guard case .values(let from, let to) = self else { return nil }
        let lower = Self.time(from).map { $0.rounded(.down) }
        let upper = Self.time(to).map { $0.rounded(.up) + 1 }
        if let upper, upper <= 0 { return nil }
        return RowRange(lower: lower.flatMap(Self.key), upper: upper.flatMap(Self.key))
    }

    private static func time(_ edge: Edge) -> Double? {
        if case .value(let value, _) = edge { value.double } else { nil }
    }

    private static func key(_ time: Double) -> [UInt8]? {
        guard time < Double(ExpirationTime.latest.milliseconds) else { return nil }
        var key: [UInt8] = []
        key.append(bigEndian64: UInt64(max(0, time)))
        return key
    }
}
