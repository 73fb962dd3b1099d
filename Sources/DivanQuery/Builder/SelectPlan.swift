// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanPlatform

/// A query of the builder made ready to run: names resolved, parameters bound, everything checked.
struct SelectPlan {
    /// A join by ID: whose document, and the expression that gives its ID.
    struct Lookup {
        var name: String
        var id: ExpressionNode
        var isOuter: Bool
    }

    /// The name of the first source.
    var sourceName: String?
    var keys: [String]
    var columns: [ExpressionNode]
    var lookups: [Lookup] = []
    private(set) var condition: ExpressionNode?
    var grouping: [ExpressionNode]
    var groupCondition: ExpressionNode?
    var ordering: [(node: ExpressionNode, isDescending: Bool)]
    /// The collation of the indexes that may be used.
    private(set) var collation: Collation
    /// The names of all sources.
    private let names: NameSet
    /// Whether rows are made of groups of documents.
    let isGrouped: Bool
    /// Whether deleted documents are wanted, too.
    private(set) var includesDeleted: Bool
    /// Whether the query asks when documents expire.
    private(set) var asksForExpiration: Bool

    /// How many sources a query may have, and how many expressions to sort by: each is looked at for each row.
    static let most = 1_000

    /// Every expression in it.
    var nodes: [ExpressionNode] {
        columns + lookups.map(\.id) + [condition, groupCondition].compactMap(\.self) + grouping
            + ordering.map(\.node)
    }

    /// Whether groups have no aggregates but counts, for which no value of a document is needed.
    var countsOnly: Bool {
        isGrouped
            && nodes.allSatisfy { node in
                node.aggregates.allSatisfy { $0.0 == .count }
            }
    }

    /// The columns that tell which group or document a row is of; none when some are not selected.
    var identifyingColumns: [Int] {
        guard isGrouped else {
            return columns.firstIndex { node in
                guard case .meta(.id, let source) = node else { return false }
                return source == nil || source.hasSameBytes(as: sourceName)
            }.map { [$0] } ?? []
        }
        let found = grouping.compactMap { columns.firstIndex(of: $0) }
        return found.count == grouping.count ? found : []
    }

    init(_ query: SelectQuery) throws {
        try DatabaseError.check(skip: query.offset, limit: query.limit)
        if let kept = query.form.keptPlan {
            self = kept
        } else {
            self = try SelectPlan(withoutConditionOf: query)
            if !query.form.hasParametersOutsideCondition { query.form.keep(self) }
        }
        guard let asked = query.clauses.condition else { return }
        let names = names
        let condition = try asked.mapped { try Self.bound($0, query.parameters, names) }
        try Self.refuseAggregates([condition])
        self.condition = condition
        collation = condition.firstCollation ?? collation
        includesDeleted = includesDeleted || condition.asksForDeletions
        asksForExpiration = asksForExpiration || condition.asksForExpiration
    }

    private init(withoutConditionOf query: SelectQuery) throws {
        let clauses = query.clauses
        guard clauses.joins.count < Self.most, clauses.ordering.count <= Self.most else {
            throw DatabaseError(
                .invalidQuery, "A query has up to \(Self.most) sources and as many orders.")
        }
        let names =
            [clauses.source.name].compactMap(\.self) + clauses.joins.compactMap(\.source.name)
        let known = NameSet(names)
        let aliases = ColumnAliases(clauses.columns)
        func ready(_ node: ExpressionNode) throws -> ExpressionNode {
            try node.mapped { try Self.bound($0, query.parameters, known) }
        }
        guard known.count == names.count else {
            throw DatabaseError(.invalidQuery, "Two sources of the query have the same name.")
        }
        self.names = known
        sourceName = clauses.source.name
        keys = Self.keys(clauses.columns)
        columns = try clauses.columns.map { try ready($0.node) }
        grouping = try clauses.grouping.map { try ready(aliases.resolved($0, inGroups: false)) }
        groupCondition = try clauses.groupCondition.map { try ready(aliases.resolved($0)) }
        ordering = try clauses.ordering.map {
            (try ready(aliases.resolved($0.node)), $0.isDescending)
        }
        collation = ordering.first?.node.collation ?? .raw
        lookups = try clauses.joins.map { try Self.lookup($0, query, ready) }
        let ofRows = columns + [groupCondition].compactMap(\.self) + ordering.map(\.node)
        // A condition on groups makes all rows one group where nothing else makes groups, as in SQL.
        isGrouped =
            !grouping.isEmpty || groupCondition != nil
            || ofRows.contains { !$0.aggregates.isEmpty }
        let all = ofRows + lookups.map(\.id) + grouping
        includesDeleted = all.contains(where: \.asksForDeletions)
        asksForExpiration = all.contains(where: \.asksForExpiration)
        try Self.refuseAggregates(grouping + lookups.map(\.id))
        let folded = ofRows.flatMap(\.aggregates).compactMap(\.1)
        guard folded.allSatisfy(\.aggregates.isEmpty) else {
            throw DatabaseError(.invalidQuery, "An aggregate stands inside another one.")
        }
    }

    private static func refuseAggregates(_ nodes: [ExpressionNode]) throws {
        guard nodes.allSatisfy(\.aggregates.isEmpty) else {
            throw DatabaseError(
                .invalidQuery, "An aggregate stands where there are no groups yet; use having.")
        }
    }

    /// A name for each column; two of the same name are told apart by numbers.
    private static func keys(_ columns: [SelectResult]) -> [String] {
        var keys: [String] = []
        var taken: NameSet = []
        // The number from which one may be free: there may be very many columns of the same name.
        var numbers: NameMap<Int> = [:]
        var unnamed = 0
        for column in columns {
            if column.name == nil { unnamed += 1 }
            let name = column.name ?? "$\(unnamed)"
            var key = name
            while !taken.insert(key).inserted {
                let number = numbers[name, default: 2]
                key = "\(name)_\(number)"
                numbers[name] = number + 1
            }
            keys.append(key)
        }
        return keys
    }

    /// What replaces a node once parameters have values; nil for the node itself.
    private static func bound(
        _ node: ExpressionNode, _ parameters: JSONObject, _ names: NameSet
    ) throws -> ExpressionNode? {
        switch node {
        case .parameter(let name):
            guard let value = parameters[name] else {
                throw DatabaseError(.invalidQuery, "The parameter '\(name)' has no value.")
            }
            try DatabaseError.check(nestingOf: [value], "The parameter '\(name)'")
            return .literal(value)
        case .literal(let value):
            try DatabaseError.check(nestingOf: [value], "A value of the query")
        case .tooDeep:
            throw DatabaseError(
                .invalidQuery,
                "An expression of the query nests deeper than \(ExpressionNode.deepest) levels; "
                    + "write it flatter.")
        case .property(let path, let source):
            guard !path.isInvalid else {
                throw DatabaseError(.invalidQuery, "A property of the query has no path.")
            }
            try check(source, names)
        case .variable(_, let path) where path.isInvalid:
            throw DatabaseError(.invalidQuery, "A variable of the query has no path.")
        case .meta(_, let source), .document(let source): try check(source, names)
        case .matches(_, .literal(.string(let pattern))):
            do throws(ICUPattern.Failure) { _ = try ICUPattern(pattern) } catch {
                throw DatabaseError(
                    .invalidQuery, "A pattern of the query is no regular expression.",
                    underlying: error)
            }
        default: break
        }
        return nil
    }

    private static func check(_ source: String?, _ names: NameSet) throws {
        guard let source, !names.contains(source) else { return }
        throw DatabaseError(.invalidQuery, "The query has no source '\(source)'.")
    }

    private static func lookup(
        _ join: Join, _ query: SelectQuery, _ ready: (ExpressionNode) throws -> ExpressionNode
    ) throws -> Lookup {
        guard let name = join.source.name else {
            throw DatabaseError(.invalidQuery, "A source that is joined needs a name.")
        }
        guard join.source.database.core === query.source.database.core else {
            throw DatabaseError(.invalidQuery, "The source '\(name)' is of another database.")
        }
        guard case .compare(let comparison, let left, let right) = try ready(join.condition),
            comparison == .equal || comparison == .identical,
            let id = Self.other(left, right, name) ?? Self.other(right, left, name),
            !id.contains({ $0.isOf(source: name) })
        else {
            throw DatabaseError(
                .invalidQuery,
                "The source '\(name)' is joined by the ID of its documents: "
                    + "Meta.id.from(\"\(name)\").equalTo(…).")
        }
        return Lookup(name: name, id: id, isOuter: join.isOuter)
    }

    private static func other(
        _ side: ExpressionNode, _ other: ExpressionNode, _ name: String
    ) -> ExpressionNode? {
        guard case .meta(.id, let source) = side, source.hasSameBytes(as: name) else { return nil }
        return other
    }
}

extension ExpressionNode {
    fileprivate var asksForDeletions: Bool {
        contains { if case .meta(.isDeleted, _) = $0 { true } else { false } }
    }

    fileprivate func isOf(source name: String) -> Bool {
        switch self {
        case .property(_, let source), .meta(_, let source), .document(let source):
            source.hasSameBytes(as: name)
        default: false
        }
    }
}
