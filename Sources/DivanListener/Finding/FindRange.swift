// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanQuery

/// The values of a field that conditions leave over, as one run from a least to a greatest one.
struct FindRange: Equatable, Sendable {
    /// Where the run begins or ends.
    struct Bound: Equatable, Sendable {
        /// nil for the least or the greatest value of all.
        var value: JSONValue?
        var isIncluded = false
    }

    var lower = Bound()
    var upper = Bound()

    /// All IDs.
    static let everyID = FindRange(lower: Bound(value: .null))

    /// The run that a condition leaves of this one; nil for none. One that is no run leaves it as it is.
    func narrowed(by condition: FindCondition) -> FindRange? {
        guard case .operation(let name, let value) = condition else { return self }
        switch name {
        case .less: return clamped(upper: Bound(value: value))
        case .lessOrEqual: return clamped(upper: Bound(value: value, isIncluded: true))
        case .greater: return clamped(lower: Bound(value: value))
        case .greaterOrEqual: return clamped(lower: Bound(value: value, isIncluded: true))
        case .equal:
            let bound = Bound(value: value, isIncluded: true)
            return clamped(lower: bound)?.clamped(upper: bound)
        case .beginsWith:
            // U+FFFF sorts behind all characters.
            let end = JSONValue.string((value.string ?? "") + "\u{FFFF}")
            return clamped(lower: Bound(value: value, isIncluded: true))?
                .clamped(upper: Bound(value: end, isIncluded: true))
        default: return self
        }
    }

    private func clamped(lower bound: Bound) -> FindRange? {
        var range = self
        if Self.isNarrower(bound, lower, by: 1) { range.lower = bound }
        return range.isPossible ? range : nil
    }

    private func clamped(upper bound: Bound) -> FindRange? {
        var range = self
        if Self.isNarrower(bound, upper, by: -1) { range.upper = bound }
        return range.isPossible ? range : nil
    }

    private static func isNarrower(_ bound: Bound, _ other: Bound, by sign: Int) -> Bool {
        guard let value = bound.value, let current = other.value else { return true }
        let order = SelectorOrder.unicode.collate(value, current) * sign
        return order > 0 || order == 0 && other.isIncluded && !bound.isIncluded
    }

    private var isPossible: Bool {
        guard let low = lower.value, let high = upper.value else { return true }
        let order = SelectorOrder.unicode.collate(low, high)
        return order < 0 || order == 0 && lower.isIncluded && upper.isIncluded
    }
}

extension FindSelector {
    /// The runs of values of the fields that rows can be found by; nil for a run that has none.
    var ranges: [(field: String, range: FindRange?)] {
        var found: [FieldPath: FindRange?] = [:]
        collect(&found)
        let sorted = found.sorted {
            $0.key.text.utf8.lexicographicallyPrecedes($1.key.text.utf8)
        }
        if let none = sorted.first(where: { $0.value == nil }) { return [(none.key.text, nil)] }
        return sorted.map { ($0.key.text, $0.value) }
    }

    private func collect(_ found: inout [FieldPath: FindRange?]) {
        switch self {
        case .all(let parts): for part in parts { part.collect(&found) }
        case .field(let path, let condition) where !indexableFields.isEmpty:
            let former: FindRange? = found[path] ?? FindRange()
            found.updateValue(former.flatMap { $0.narrowed(by: condition) }, forKey: path)
        default: break
        }
    }
}
