// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
public import DivanJSON
public import FoundationEssentials

/// A value that a query computes for each document: a property, a constant, or something made of them.
///
/// ```swift
/// let stars: QueryExpression = .property("stars")
/// let good = stars.greaterThanOrEqualTo(3).and(.property("type").equalTo("post"))
/// ```
///
/// ## Missing, null and true
///
/// A property that a document does not have is *missing*, which is not null. A value computed from
/// something missing is missing; computed from null it is null. A comparison with either is neither true
/// nor false, and `where` and `having` keep only what is true. `and`, `or` and `not` follow SQL: unknown
/// or true is true, unknown and false is false.
///
/// ## Comparing
///
/// Values of one type compare by the collation `.raw`: strings by bytes, unless ``collate(_:)`` says
/// otherwise. Values of different types are not equal, and no other comparison of them is true.
/// `1` equals `1.0`.
///
/// ## Size
///
/// Half a million terms may be put together by `and` or by `or`. Whatever else is made of expressions, such as a sum
/// of sums, nests at most 512 levels deep: a query with more throws `.invalidQuery` when it runs.
public struct QueryExpression: Sendable {
    let node: ExpressionNode
    /// How many levels of expressions it has, itself one of them.
    private let depth: Int

    /// Makes an expression that is made of no other one.
    init(_ node: ExpressionNode) { (self.node, depth) = (node, 1) }

    /// Makes an expression of others.
    ///
    /// - Parameters:
    ///   - node: The expression.
    ///   - parts: What it is made of.
    init(_ node: ExpressionNode, of parts: [QueryExpression]) {
        self.init(node, above: parts.map(\.depth).max() ?? 0)
    }

    /// Makes an expression above others. One that nests too deep holds none of them: so whatever walks over an
    /// expression, or releases it, needs no more of the stack than the deepest one that is allowed.
    private init(_ node: ExpressionNode, above levels: Int) {
        let isTooDeep = levels >= ExpressionNode.deepest
        (self.node, depth) = isTooDeep ? (.tooDeep, 1) : (node, levels + 1)
    }

    /// How many terms a list of terms has that grows one by one.
    private static let mostTerms = 1_000

    /// Puts terms together to one list of terms.
    ///
    /// A list takes in the terms of another one, so a chain of terms is one level and not as many as it has terms. A
    /// list that is full becomes a term of the next one: adding a term never copies more than one list.
    ///
    /// - Parameters:
    ///   - other: What follows.
    ///   - terms: The terms of a node that is such a list; nil for any other node.
    ///   - make: Makes a list.
    /// - Returns: The list.
    func joined(
        _ other: QueryExpression, terms: (ExpressionNode) -> [ExpressionNode]?,
        _ make: ([ExpressionNode]) -> ExpressionNode
    ) -> QueryExpression {
        let sides = [self, other]
        let lists = sides.map { terms($0.node) }
        let all = zip(sides, lists).flatMap { side, list in list ?? [side.node] }
        guard all.count <= Self.mostTerms else {
            return QueryExpression(make([node, other.node]), of: sides)
        }
        let levels = zip(sides, lists).map { $1 == nil ? $0.depth : $0.depth - 1 }
        return QueryExpression(make(all), above: levels.max() ?? 0)
    }

    // MARK: - Values

    /// A property by its path: `"name"`, `"address.zip"`, `"tags[0]"`. A query with an invalid path throws
    /// `.invalidQuery` when it runs.
    public static func property(_ path: String) -> QueryExpression {
        QueryExpression(.property(PropertyPath.lenient(path), source: nil))
    }

    /// Any JSON value.
    public static func value(_ value: JSONValue) -> QueryExpression {
        QueryExpression(.literal(value))
    }

    /// A string.
    public static func string(_ value: String) -> QueryExpression { .value(.string(value)) }

    /// An integer.
    public static func int(_ value: Int) -> QueryExpression { .value(.integer(Int64(value))) }

    /// A double.
    public static func double(_ value: Double) -> QueryExpression { .value(.double(value)) }

    /// A Boolean.
    public static func boolean(_ value: Bool) -> QueryExpression { .value(.bool(value)) }

    /// A date, as documents hold dates: a string in ISO 8601.
    public static func date(_ value: Date) -> QueryExpression { .value(value.jsonValue) }

    /// A value that is given when the query runs: see ``SelectQuery/parameters``.
    public static func parameter(_ name: String) -> QueryExpression {
        QueryExpression(.parameter(name))
    }

    /// What a quantifier such as ``any(_:in:satisfies:)`` goes over, or a part of it.
    ///
    /// - Parameters:
    ///   - name: The name that the quantifier gave.
    ///   - path: The way on from it; nil for itself.
    /// - Returns: The expression.
    public static func variable(_ name: String, _ path: String? = nil) -> QueryExpression {
        QueryExpression(.variable(name, path.map { PropertyPath.lenient($0) } ?? .itself))
    }

    /// The same property or fact, of the document of another source of the query.
    ///
    /// - Parameter source: The name that ``DataSource/as(_:)`` gave.
    /// - Returns: The expression; for anything but a property or a fact, itself.
    public func from(_ source: String) -> QueryExpression {
        switch node {
        case .property(let path, _): QueryExpression(.property(path, source: source))
        case .meta(let field, _): QueryExpression(.meta(field, source: source))
        case .document: QueryExpression(.document(source: source))
        default: self
        }
    }

    /// The same value, compared and sorted by a collation.
    public func collate(_ collation: Collation) -> QueryExpression {
        QueryExpression(.collated(node, collation), of: [self])
    }
}

extension QueryExpression: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral
{
    /// A string constant.
    public init(stringLiteral value: String) { self = .string(value) }
    /// An integer constant.
    public init(integerLiteral value: Int64) { self = .value(.integer(value)) }
    /// A double constant.
    public init(floatLiteral value: Double) { self = .double(value) }
    /// A Boolean constant.
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
}

/// Facts about documents that are not properties.
///
/// ```swift
/// let soon = Meta.expiration.lessThan(Date(timeIntervalSinceNow: 300))
/// ```
public enum Meta {
    /// The document's ID.
    public static let id = QueryExpression(.meta(.id, source: nil))
    /// The ID of the current revision.
    public static let revisionID = QueryExpression(.meta(.revisionID, source: nil))
    /// The sequence of the current revision.
    public static let sequence = QueryExpression(.meta(.sequence, source: nil))
    /// Whether the document is deleted. A query that asks for this goes over deleted documents, too.
    public static let isDeleted = QueryExpression(.meta(.isDeleted, source: nil))
    /// When the document expires, in milliseconds since 1970; missing when it does not.
    ///
    /// It can be compared with a `Date`. A constant number below 10^11, which in milliseconds would be a time
    /// before March 1973, is taken for seconds since 1970.
    public static let expiration = QueryExpression(.meta(.expiration, source: nil))
}

extension PropertyPath {
    /// A path; an invalid text is kept as a path that a query refuses.
    static func lenient(_ text: String) -> PropertyPath {
        (try? PropertyPath(text)) ?? PropertyPath(steps: [Step(key: "")])
    }

    /// Whether the text that it was read from was invalid.
    var isInvalid: Bool { steps.contains { $0.key == "" } }
}
