// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

/// A range of rows: from the first key that is not below `lower` to the last below `upper`.
package struct RowRange: Sendable, Hashable {
    /// The least key of the range; nil for the first row there is.
    package var lower: [UInt8]?
    /// The least key beyond the range; nil for none.
    package var upper: [UInt8]?

    /// All rows.
    package static let all = RowRange(lower: nil, upper: nil)

    /// Makes a range.
    package init(lower: [UInt8]?, upper: [UInt8]?) {
        self.lower = lower
        self.upper = upper
    }

    /// The rows whose keys begin with these bytes.
    package init(prefix: [UInt8]) {
        self.init(lower: prefix, upper: KeyEncoding.successor(ofPrefix: prefix.span))
    }

    /// The rows of an emitted key, in its row form.
    package init(emittedKey: [UInt8]) {
        self.init(lower: emittedKey, upper: emittedKey + [RowKey.aboveIDs])
    }

    /// Whether no key can be in it.
    package var isEmpty: Bool {
        guard let lower, let upper else { return false }
        return !lower.precedes(upper)
    }

    /// Whether a key is in it.
    package func contains(_ key: [UInt8]) -> Bool {
        (lower.map { !key.precedes($0) } ?? true) && isBelowUpper(key)
    }

    /// Whether a lent key is in it.
    package func contains(_ key: Span<UInt8>) -> Bool {
        (lower.map { compare(key, $0.span) >= 0 } ?? true)
            && (upper.map { compare(key, $0.span) < 0 } ?? true)
    }

    func isBelowUpper(_ key: [UInt8]) -> Bool { upper.map { key.precedes($0) } ?? true }

    /// The rows that are in both ranges.
    package func clamped(to other: RowRange) -> RowRange {
        var range = self
        if let lower = other.lower, range.lower?.precedes(lower) ?? true { range.lower = lower }
        if let upper = other.upper, range.upper.map({ upper.precedes($0) }) ?? true {
            range.upper = upper
        }
        return range
    }
}
