// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
internal import DivanJSON

/// A column of a query's rows.
public struct SelectResult: Sendable {
    let node: ExpressionNode
    /// The name that was given.
    let alias: String?

    /// The value of an expression, named after the property if it is one, `id` for `Meta.id`, and
    /// so on; otherwise `$1`, `$2` and so on.
    public static func expression(_ expression: QueryExpression) -> SelectResult {
        SelectResult(node: expression.node, alias: nil)
    }

    /// A property, named after the last part of its path.
    public static func property(_ path: String) -> SelectResult { .expression(.property(path)) }

    /// The whole document, named `*` or after the source.
    public static func all() -> SelectResult {
        SelectResult(node: .document(source: nil), alias: nil)
    }

    /// The whole document of another source.
    public static func all(from source: String) -> SelectResult {
        SelectResult(node: .document(source: source), alias: source)
    }

    /// The same column under another name.
    public func `as`(_ name: String) -> SelectResult { SelectResult(node: node, alias: name) }

    /// The column's name; nil when it has none of its own.
    var name: String? {
        if let alias { return alias }
        switch node.uncollated {
        case .property(let path, _): return path.steps.last?.key
        case .meta(let field, _): return field.name
        case .document(let source): return source ?? "*"
        default: return nil
        }
    }
}

extension ExpressionNode.MetaField {
    fileprivate var name: String {
        switch self {
        case .id: "id"
        case .revisionID: "revisionID"
        case .sequence: "sequence"
        case .isDeleted: "isDeleted"
        case .expiration: "expiration"
        }
    }
}

/// What a query goes over: the documents of a database.
public struct DataSource: Sendable {
    var database: QueriedDatabase
    let name: String?

    /// The documents of a database.
    public static func database(_ database: Database) -> DataSource {
        DataSource(database: QueriedDatabase(database), name: nil)
    }

    /// The same under a name, by which expressions refer to it: `QueryExpression.from(_:)`.
    public func `as`(_ name: String) -> DataSource { DataSource(database: database, name: name) }
}

/// Another document for each row, found by its ID.
///
/// ```swift
/// Join.inner(.database(database).as("author"),
///            on: Meta.id.from("author").equalTo(.property("authorID")))
/// ```
public struct Join: Sendable {
    var source: DataSource
    let condition: ExpressionNode
    let isOuter: Bool

    /// Rows without such a document are left out.
    ///
    /// - Parameters:
    ///   - source: The same database, under a name.
    ///   - condition: That the ID of its document equals something of the sources before.
    /// - Returns: The join.
    public static func inner(_ source: DataSource, on condition: QueryExpression) -> Join {
        Join(source: source, condition: condition.node, isOuter: false)
    }

    /// In rows without such a document its properties are missing. See ``inner(_:on:)``.
    public static func leftOuter(_ source: DataSource, on condition: QueryExpression) -> Join {
        Join(source: source, condition: condition.node, isOuter: true)
    }
}

/// What rows are sorted by.
public struct Ordering: Sendable {
    let node: ExpressionNode
    let isDescending: Bool

    /// By a property, the least first; what is missing comes before everything.
    public static func property(_ path: String) -> Ordering { .expression(.property(path)) }

    /// By an expression, the least first.
    public static func expression(_ expression: QueryExpression) -> Ordering {
        Ordering(node: expression.node, isDescending: false)
    }

    /// The least first.
    public func ascending() -> Ordering { Ordering(node: node, isDescending: false) }

    /// The greatest first.
    public func descending() -> Ordering { Ordering(node: node, isDescending: true) }
}
