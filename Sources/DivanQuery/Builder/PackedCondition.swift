// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex
internal import DivanJSON
internal import DivanPlatform

/// A condition as look-ups in a document where it lies: no document is made, and no value unpacked.
///
///     age >= 50 and city in ("Bern", "Basel")
///     all   age   in  [key of 50 … end of numbers)
///           city  in  [key of "Basel"], [key of "Bern"]
///
/// A value is compared as an index compares it: the bytes of its row key with the ends of ranges. So a document fulfils
/// the condition if and only if ``ExpressionNode/truth(in:)`` is true: `PackedConditionTests` show it on random documents.
/// Only whether the condition is true is asked, so unknown counts as false, and there is no `not`.
///
/// The parts are objects: to ask them counts no references. One run of a query uses them, on one thread.
struct PackedCondition {
    private let root: Part

    /// Compiles a condition; nil for one with other parts than properties of the first source and constants.
    init?(_ node: ExpressionNode, source: String?) {
        guard let root = Self.part(node, source) else { return nil }
        self.root = root
    }

    /// Whether a document fulfils the condition.
    ///
    /// - Parameter body: The packed document.
    /// - Returns: Whether the condition is true.
    func holds(in body: Span<UInt8>) -> Bool { root.holds(in: body) }

    /// A condition that every document fulfils.
    static var always: PackedCondition { PackedCondition(root: Parts([], wantsAll: true)) }

    private init(root: Part) { self.root = root }

    /// A part of a condition.
    private class Part {
        func holds(in body: Span<UInt8>) -> Bool {
            preconditionFailure("A part is one of the two below.")
        }
    }

    /// Several parts, all of which must hold, or one of them.
    private final class Parts: Part {
        private let parts: [Part]
        private let wantsAll: Bool

        init(_ parts: [Part], wantsAll: Bool) { (self.parts, self.wantsAll) = (parts, wantsAll) }

        override func holds(in body: Span<UInt8>) -> Bool {
            for part in parts where part.holds(in: body) != wantsAll { return !wantsAll }
            return wantsAll
        }
    }

    /// A property, and where its values must lie.
    private final class Test: Part {
        private let path: PackedPath
        private let coder: RowKeyCoder
        private let ranges: [RowRange]
        /// The integers in the ranges, where these are one of numbers between integers: an integer is compared without
        /// its key.
        private let integers: ClosedRange<Int64>?
        /// Whether it must be there, be no null, and lie outside the ranges.
        private let isOutside: Bool
        /// The bytes of a value.
        private var key: [UInt8] = []

        init(
            _ path: PackedPath, _ coder: RowKeyCoder, _ intervals: [ValueInterval],
            isOutside: Bool
        ) {
            (self.path, self.coder, self.isOutside) = (path, coder, isOutside)
            ranges = coder.ranges(of: intervals).ranges
            integers = intervals.count == 1 ? intervals[0].integers : nil
        }

        override func holds(in body: Span<UInt8>) -> Bool {
            if let integers, let integer = path.int64(in: body) {
                return integers.contains(integer)
            }
            key.removeAll(keepingCapacity: true)
            if !coder.append(path, of: body, to: &key) { key.append(RowKeyCoder.missing) }
            for range in ranges where range.contains(key.span) { return !isOutside }
            return isOutside
        }
    }

    // MARK: - Compiling

    private static func part(_ node: ExpressionNode, _ source: String?) -> Part? {
        switch node {
        case .all(let nodes): return parts(nodes, source).map { Parts($0, wantsAll: true) }
        case .any(let nodes): return parts(nodes, source).map { Parts($0, wantsAll: false) }
        case .compare(let comparison, let left, let right):
            let collation = left.collation ?? right.collation ?? .raw
            if let value = right.constant {
                return compared(left, comparison, value, collation, source)
            }
            guard let value = left.constant else { return nil }
            return compared(right, comparison.mirrored, value, collation, source)
        case .between(let value, let low, let high):
            let ends: [ExpressionNode] = [
                .compare(.greaterOrEqual, value, low), .compare(.lessOrEqual, value, high),
            ]
            return parts(ends, source).map { Parts($0, wantsAll: true) }
        case .oneOf(let value, let list):
            let values = list.compactMap(\.constant)
            if values.count == list.count {
                // Nothing equals null.
                let wanted = values.filter { !$0.isNull }.map { ValueInterval.exactly($0) }
                return inside(value, wanted, .raw, source)
            }
            return parts(list.map { .compare(.equal, value, $0) }, source).map {
                Parts($0, wantsAll: false)
            }
        case .test(let test, let value):
            switch test {
            case .missing: return inside(value, [.missing], .raw, source)
            case .null: return inside(value, [.exactly(.null)], .raw, source)
            case .valued: return outside(value, [], source)
            }
        default: return nil
        }
    }

    private static func parts(_ nodes: [ExpressionNode], _ source: String?) -> [Part]? {
        var parts: [Part] = []
        for node in nodes {
            guard let part = part(node, source) else { return nil }
            parts.append(part)
        }
        return parts
    }

    private static func compared(
        _ node: ExpressionNode, _ comparison: ExpressionNode.Comparison, _ value: JSONValue,
        _ collation: Collation, _ source: String?
    ) -> Part? {
        // Nothing compares with null, but null is null.
        if value.isNull, comparison != .identical { return Parts([], wantsAll: false) }
        switch comparison {
        case .equal, .identical: return inside(node, [.exactly(value)], .raw, source)
        case .notEqual: return outside(node, [.exactly(value)], source)
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            // The Booleans are two types to a collation, and one to a comparison.
            guard value.bool == nil, let interval = comparison.interval(of: value) else {
                return nil
            }
            return inside(node, [interval], collation, source)
        }
    }

    private static func inside(
        _ node: ExpressionNode, _ intervals: [ValueInterval], _ collation: Collation,
        _ source: String?, isOutside: Bool = false
    ) -> Part? {
        guard let path = PackedPath(node, source) else { return nil }
        let coder = RowKeyCoder(collation, strings: ICUCollator.root)
        return Test(path, coder, intervals, isOutside: isOutside)
    }

    private static func outside(
        _ node: ExpressionNode, _ intervals: [ValueInterval], _ source: String?
    ) -> Part? {
        inside(
            node, intervals + [.missing, .exactly(.null)], .raw, source, isOutside: true)
    }
}

extension PackedPath {
    /// The path of a property of the documents of the first source; nil for any other expression.
    init?(_ node: ExpressionNode, _ source: String?) {
        guard case .property(let path, let name) = node.uncollated,
            name == nil || name.hasSameBytes(as: source), path.isInBody
        else { return nil }
        self.init(path.steps.map { ($0.key, $0.index) })
    }
}

extension ExpressionNode.Comparison {
    /// The values of the same type that are so beside a value; nil for a comparison without order.
    func interval(of value: JSONValue) -> ValueInterval? {
        switch self {
        case .equal, .notEqual, .identical: nil
        case .less: .values(from: .type(of: value), to: .value(value, isIncluded: false))
        case .lessOrEqual: .values(from: .type(of: value), to: .value(value, isIncluded: true))
        case .greater: .values(from: .value(value, isIncluded: false), to: .type(of: value))
        case .greaterOrEqual: .values(from: .value(value, isIncluded: true), to: .type(of: value))
        }
    }
}
