// SPDX-License-Identifier: Apache-2.0

public import DivanJSON

/// Builds queries of documents out of expressions, in the manner of Couchbase Lite 2.
///
/// ```swift
/// let query = QueryBuilder
///     .select(.expression(Meta.id), .property("title"))
///     .from(.database(database))
///     .where(.property("type").equalTo("post").and(.property("stars").greaterThan(3)))
///     .orderBy(.property("createdAt").descending())
///     .limit(20)
/// for row in try query.run() { print(row["title"].string ?? "untitled") }
/// ```
///
/// Any property may be asked for; an index (``PropertyIndex``) makes it fast. `SelectQuery.explain()` tells which one
/// was used, and which were not and why.
public enum QueryBuilder {
    /// Begins a query with the columns of its rows.
    public static func select(_ columns: SelectResult...) -> SelectClause {
        SelectClause(columns: columns, isDistinct: false)
    }

    /// Begins a query with the columns of its rows, given as a list.
    public static func select(_ columns: [SelectResult]) -> SelectClause {
        SelectClause(columns: columns, isDistinct: false)
    }

    /// Begins a query that gives equal rows once.
    public static func selectDistinct(_ columns: SelectResult...) -> SelectClause {
        SelectClause(columns: columns, isDistinct: true)
    }
}

/// A query without a source yet.
public struct SelectClause: Sendable {
    let columns: [SelectResult]
    let isDistinct: Bool

    /// Says which documents the query goes over.
    public func from(_ source: DataSource) -> SelectQuery {
        SelectQuery(columns: columns, isDistinct: isDistinct, source: source)
    }
}

/// A query made by ``QueryBuilder``: a value that can be run any number of times.
///
/// Design documents are not found, deleted documents only by queries that ask for `Meta.isDeleted`.
/// Without `orderBy` rows come in no certain order.
public struct SelectQuery: Sendable {
    /// All that is the same in the copies of the query, which have other values of parameters.
    private(set) var form: SelectForm
    var limit: Int?
    var offset = 0

    /// The values of the parameters of the query, by name.
    public var parameters: JSONObject = [:]

    init(columns: [SelectResult], isDistinct: Bool, source: DataSource) {
        form = SelectForm(
            SelectForm.Clauses(columns: columns, isDistinct: isDistinct, source: source))
    }

    var clauses: SelectForm.Clauses { form.clauses }
    var source: DataSource { form.clauses.source }

    /// The query with some of its clauses changed.
    func with(_ change: (inout SelectForm.Clauses) throws -> Void) rethrows -> SelectQuery {
        var (query, clauses) = (self, form.clauses)
        try change(&clauses)
        query.form = SelectForm(clauses)
        return query
    }

    /// Adds documents that are found by ID.
    public func join(_ joins: Join...) -> SelectQuery { with { $0.joins += joins } }

    /// Keeps the rows for which a condition holds.
    public func `where`(_ condition: QueryExpression) -> SelectQuery {
        with { $0.condition = condition.node }
    }

    /// Puts rows together for which expressions are equal; columns may then be aggregates.
    public func groupBy(_ expressions: QueryExpression...) -> SelectQuery {
        groupBy(expressions)
    }

    /// The same, with a list of expressions made at run time; an empty list makes no groups.
    public func groupBy(_ expressions: [QueryExpression]) -> SelectQuery {
        with { $0.grouping = expressions.map(\.node) }
    }

    /// Keeps the groups for which a condition holds. Without `groupBy` all rows are one group.
    public func having(_ condition: QueryExpression) -> SelectQuery {
        with { $0.groupCondition = condition.node }
    }

    /// Sorts the rows.
    public func orderBy(_ ordering: Ordering...) -> SelectQuery { orderBy(ordering) }

    /// The same, with a list of orders made at run time; an empty list is as none: rows come in no certain order.
    public func orderBy(_ ordering: [Ordering]) -> SelectQuery { with { $0.ordering = ordering } }

    /// Limits how many rows the query gives, after skipping some.
    public func limit(_ limit: Int?, offset: Int = 0) -> SelectQuery {
        var query = self
        (query.limit, query.offset) = (limit, offset)
        return query
    }

    /// Gives parameters their values.
    public func bind(_ parameters: JSONObject) -> SelectQuery {
        var query = self
        for (name, value) in parameters { query.parameters[name] = value }
        return query
    }

    /// Runs the query.
    ///
    /// - Returns: The rows, all of one moment.
    /// - Throws: `DatabaseError` with code `.invalidQuery` when a path, a pattern, a source, a parameter or a
    ///   join makes no sense, or when an expression or a value nests deeper than 512 levels; `.databaseClosed`, `.io`, `.corrupted`, or as
    ///   `Database.updateIndexes(progress:)`.
    public func run() throws -> SelectRows { try SelectRun(self).run() }

    /// Runs the query and tells in words what it read.
    ///
    /// - Returns: The index or indexes used, rows expected and read, and how the order came about.
    /// - Throws: As ``run()``.
    public func explain() throws -> FindExplanation { try SelectRun(self).explain() }
}
