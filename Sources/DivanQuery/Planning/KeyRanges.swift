// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex
internal import DivanJSON
internal import DivanStorage

/// Ranges of row keys that do not overlap, in order.
struct KeyRanges: Equatable, Sendable {
    private(set) var ranges: [RowRange]

    /// Puts ranges in order and joins those that touch.
    init(_ ranges: [RowRange]) {
        let sorted = ranges.filter { !$0.isEmpty }.sorted { left, right in
            guard let right = right.lower else { return false }
            return left.lower?.precedes(right) ?? true
        }
        self.ranges = []
        for range in sorted {
            guard let last = self.ranges.last, last.reaches(range) else {
                self.ranges.append(range)
                continue
            }
            self.ranges[self.ranges.count - 1].upper = RowRange.later(last.upper, range.upper)
        }
    }

    /// The keys that are in both.
    func intersection(_ other: KeyRanges) -> KeyRanges {
        var common: [RowRange] = []
        var (here, there) = (ranges[...], other.ranges[...])
        while let range = here.first, let another = there.first {
            common.append(range.clamped(to: another))
            // The one that ends first has nothing in common with those behind the other.
            if range.ends(before: another) { here.removeFirst() } else { there.removeFirst() }
        }
        return KeyRanges(common)
    }

    /// The keys that are in all of some, of which there is one at least: by halves, since each may have as many ranges as
    /// there are others.
    static func common(to all: ArraySlice<KeyRanges>) -> KeyRanges {
        guard all.count > 1 else { return all.first ?? KeyRanges([.all]) }
        let middle = all.startIndex + all.count / 2
        return common(to: all[..<middle]).intersection(common(to: all[middle...]))
    }

    /// The range from the beginning of the first to the end of the last.
    var span: KeyRanges {
        guard let first = ranges.first, let last = ranges.last else { return self }
        return KeyRanges([RowRange(lower: first.lower, upper: last.upper)])
    }

    /// The ranges behind a beginning that all keys have.
    func following(_ prefix: [UInt8]) -> [RowRange] {
        let end = prefix.isEmpty ? nil : KeyEncoding.successor(ofPrefix: prefix.span)
        return ranges.map { range in
            RowRange(
                lower: prefix + (range.lower ?? []), upper: range.upper.map { prefix + $0 } ?? end)
        }
    }
}

extension RowRange {
    /// Whether a range that does not begin before this one begins before this one has ended.
    fileprivate func reaches(_ other: RowRange) -> Bool {
        guard let upper, let lower = other.lower else { return true }
        return !upper.precedes(lower)
    }

    fileprivate func ends(before other: RowRange) -> Bool {
        guard let upper else { return false }
        return other.upper.map { upper.precedes($0) } ?? true
    }

    fileprivate static func later(_ left: [UInt8]?, _ right: [UInt8]?) -> [UInt8]? {
        guard let left, let right else { return nil }
        return left.precedes(right) ? right : left
    }
}

extension RowKeyCoder {
    /// The keys of the values in some intervals.
    func ranges(of intervals: [ValueInterval]) -> KeyRanges {
        KeyRanges(intervals.map { range(of: $0) })
    }

    /// The bytes of the only value in an interval; nil when there may be several.
    func point(_ interval: ValueInterval) -> [UInt8]? {
        switch interval {
        case .missing: return [RowKeyCoder.missing]
        case .values(.value(let from, true), .value(let to, true)):
            let (lower, upper) = (encoding(of: from), encoding(of: to))
            return lower == upper ? lower : nil
        default: return nil
        }
    }

    private func range(of interval: ValueInterval) -> RowRange {
        switch interval {
        case .missing: return RowRange(prefix: [RowKeyCoder.missing])
        case .prefix(let text):
            guard comparesBytes else { return range(of: .type(of: .string(text))) }
            var prefix: [UInt8] = []
            appendTextPrefix(text, to: &prefix)
            return RowRange(prefix: prefix)
        case .values(let from, let to):
            return RowRange(lower: lower(from), upper: upper(to))
        }
    }

    private func lower(_ edge: ValueInterval.Edge) -> [UInt8]? {
        switch edge {
        // Above the mark of what is missing.
        case .open: return [RowKeyCoder.missing + 1]
        case .type(let value): return [tag(ofTypeOf: value)]
        case .value(let value, let isIncluded):
            let key = encoding(of: value)
            return isIncluded ? key : KeyEncoding.successor(ofPrefix: key.span)
        }
    }

    private func upper(_ edge: ValueInterval.Edge) -> [UInt8]? {
        switch edge {
        case .open: return nil
        case .type(let value): return [tag(ofTypeOf: value) + 1]
        case .value(let value, let isIncluded):
            let key = encoding(of: value)
            return isIncluded ? KeyEncoding.successor(ofPrefix: key.span) : key
        }
    }

    private func encoding(of value: JSONValue) -> [UInt8] {
        var key: [UInt8] = []
        append(value, to: &key)
        return key
    }
}
