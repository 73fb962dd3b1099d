// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// An expression of the query builder as a tree.
indirect enum ExpressionNode: Sendable {
    /// A fact about a document that is not one of its properties.
    enum MetaField: Sendable {
        case id, revisionID, sequence, isDeleted, expiration
    }

    enum Comparison: Sendable {
        case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual
        /// Equality that knows null and what is missing: never unknown.
        case identical
    }

    enum Arithmetic: Sendable {
        case add, subtract, multiply, divide, modulo
    }

    /// What a value must be like.
    enum Test: Sendable {
        case missing, null, valued
    }

    enum Quantifier: Sendable {
        case any, every, anyAndEvery
    }

    enum Aggregate: Sendable {
        case count, sum, average, minimum, maximum
    }

    case literal(JSONValue)
    case parameter(String)
    /// A property of the document of a source; nil for the first source.
    case property(PropertyPath, source: String?)
    case meta(MetaField, source: String?)
    /// The whole document of a source.
    case document(source: String?)
    /// What a quantifier goes over, or a part of it.
    case variable(String, PropertyPath)
    case compare(Comparison, ExpressionNode, ExpressionNode)
    case between(ExpressionNode, ExpressionNode, ExpressionNode)
    case oneOf(ExpressionNode, [ExpressionNode])
    case like(ExpressionNode, ExpressionNode)
    case matches(ExpressionNode, ExpressionNode)
    case test(Test, ExpressionNode)
    case all([ExpressionNode])
    case any([ExpressionNode])
    case not(ExpressionNode)
    case arithmetic(Arithmetic, ExpressionNode, ExpressionNode)
    case function(ExpressionFunction, [ExpressionNode])
    case quantified(Quantifier, String, ExpressionNode, ExpressionNode)
    /// Folds the rows of a group; nil counts rows.
    case aggregate(Aggregate, ExpressionNode?)
    case collated(ExpressionNode, Collation)
    /// What would have nested too deep, in whose place this stands: a query refuses it.
    case tooDeep

    /// How deep expressions may nest. One level takes up to 4 kB of the stack, which has 8 MB, before optimization.
    static let deepest = 512

    /// The parts that it is made of.
    var children: [ExpressionNode] {
        switch self {
        case .literal, .parameter, .property, .meta, .document, .variable, .tooDeep: []
        case .compare(_, let left, let right), .like(let left, let right),
            .matches(let left, let right), .arithmetic(_, let left, let right):
            [left, right]
        case .between(let value, let low, let high): [value, low, high]
        case .oneOf(let value, let list): [value] + list
        case .test(_, let node), .not(let node), .collated(let node, _): [node]
        case .all(let nodes), .any(let nodes), .function(_, let nodes): nodes
        case .quantified(_, _, let array, let condition): [array, condition]
        case .aggregate(_, let node): node.map { [$0] } ?? []
        }
    }

    /// Whether the condition holds for it or for a part of it.
    func contains(_ condition: (ExpressionNode) -> Bool) -> Bool {
        condition(self) || children.contains { $0.contains(condition) }
    }

    /// The node without the part that says how it is compared.
    var uncollated: ExpressionNode {
        if case .collated(let node, _) = self { node.uncollated } else { self }
    }

    /// The collation that it asks for.
    var collation: Collation? {
        if case .collated(_, let collation) = self { collation } else { nil }
    }

    /// Whether it has the same value for all documents: no part of it asks one.
    var isOfNoDocument: Bool {
        !contains {
            switch $0 {
            case .property, .meta, .document, .variable, .aggregate: true
            default: false
            }
        }
    }

    /// Whether it or a part of it is the time at which a document expires.
    var asksForExpiration: Bool { contains(\.isExpiration) }

    var isExpiration: Bool {
        if case .meta(.expiration, _) = uncollated { true } else { false }
    }
}

extension ExpressionNode: Equatable {
    /// Whether both are the same expression. Names are the same byte for byte, which a synthesized comparison does not ask.
    static func == (left: ExpressionNode, right: ExpressionNode) -> Bool {
        left.hasSameHead(as: right) && left.children == right.children
    }

    /// Whether they differ in nothing but their parts.
    private func hasSameHead(as other: ExpressionNode) -> Bool {
        switch (self, other) {
        case (.literal(let left), .literal(let right)): left == right
        case (.parameter(let left), .parameter(let right)): left.hasSameBytes(as: right)
        case (.property(let left, let source), .property(let right, let other)):
            left == right && source.hasSameBytes(as: other)
        case (.meta(let left, let source), .meta(let right, let other)):
            left == right && source.hasSameBytes(as: other)
        case (.document(let left), .document(let right)): left.hasSameBytes(as: right)
        case (.variable(let left, let path), .variable(let right, let other)):
            left.hasSameBytes(as: right) && path == other
        case (.compare(let left, _, _), .compare(let right, _, _)): left == right
        case (.arithmetic(let left, _, _), .arithmetic(let right, _, _)): left == right
        case (.test(let left, _), .test(let right, _)): left == right
        case (.function(let left, _), .function(let right, _)): left == right
        case (.quantified(let left, let name, _, _), .quantified(let right, let other, _, _)):
            left == right && name.hasSameBytes(as: other)
        case (.aggregate(let left, _), .aggregate(let right, _)): left == right
        case (.collated(_, let left), .collated(_, let right)): left == right
        case (.between, .between), (.oneOf, .oneOf), (.like, .like), (.matches, .matches),
            (.all, .all), (.any, .any), (.not, .not), (.tooDeep, .tooDeep):
            true
        default: false
        }
    }
}

/// The functions of expressions.
enum ExpressionFunction: String, Sendable {
    case abs, ceil, floor, round, trunc, sqrt, sign
    case acos, asin, atan, atan2, cos, sin, tan, degrees, radians
    case e, pi, exp, ln, log, power
    case lower, upper, length, contains, trim, ltrim, rtrim, concat
    case arrayContains = "array_contains"
    case arrayLength = "array_length"
    case millisToString = "millis_to_str"
    case millisToUTC = "millis_to_utc"
    case stringToMillis = "str_to_millis"
    case stringToUTC = "str_to_utc"
    case type
}
