// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
public import DivanJSON

extension SelectQuery {
    /// Makes a query of its JSON form, which Couchbase Lite 2 has too: for queries that come from a file,
    /// a command line or another program.
    ///
    /// ```swift
    /// let query = try SelectQuery(
    ///     json: [
    ///         "WHAT": [["._id"], [".title"]],
    ///         "WHERE": ["AND", ["=", [".type"], "post"], [">", [".stars"], 3]],
    ///         "ORDER_BY": [["DESC", [".createdAt"]]], "LIMIT": 20,
    ///     ], from: .database(database))
    /// ```
    ///
    /// | Key | Value |
    /// |---|---|
    /// | `WHAT` | the columns: expressions, or `["AS", expression, name]`; the document's ID unless given |
    /// | `DISTINCT` | whether equal rows come once |
    /// | `FROM` | `[{"AS": name}, {"AS": name, "JOIN": "INNER" or "LEFT OUTER", "ON": condition}, …]` |
    /// | `WHERE`, `HAVING` | a condition |
    /// | `GROUP_BY` | expressions |
    /// | `ORDER_BY` | expressions, or `["DESC", expression]` |
    /// | `LIMIT`, `OFFSET` | numbers |
    ///
    /// An expression is a value, or an array of an operator and its operands:
    ///
    /// | Form | Meaning |
    /// |---|---|
    /// | `[".a.b"]`, `[".", "a", "b"]` | a property; of a source with a name, `[".name.a.b"]` |
    /// | `["._id"]`, `["._revisionID"]`, `["._sequence"]`, `["._deleted"]`, `["._expiration"]` | ``Meta`` |
    /// | `["$name"]`, `["?name.a"]` | a parameter; a variable of `ANY` or `EVERY`, and a part of it |
    /// | `"="`, `"!="`, `"<"`, `"<="`, `">"`, `">="`, `"BETWEEN"`, `"IN"`, `"LIKE"` | conditions |
    /// | `"AND"`, `"OR"`, `"NOT"` | logic |
    /// | `["IS", x, null]`, `["IS", x, ["MISSING"]]`, `["IS VALUED", x]` | what there is |
    /// | `["IS", x, y]`, `"IS NOT"` | equality that knows null and what is missing, and the opposite |
    /// | `["ANY", name, array, condition]`, `"EVERY"`, `"ANY AND EVERY"` | elements of an array |
    /// | `"+"`, `"-"`, `"*"`, `"/"`, `"%"`, `"\|\|"` | arithmetic, and texts put together |
    /// | `["[]", …]` | a list of expressions, for `IN` |
    /// | `["COLLATE", {"UNICODE": true}, x]` | compares by the collation `.unicode`; `CASE` and `DIAC` may be true |
    /// | `["COUNT()"]`, `["SUM()", x]`, `"AVG()"`, `"MIN()"`, `"MAX()"` | aggregates |
    /// | `["LOWER()", x]` and so on | the functions of ``Function``, by their names in SQL |
    ///
    /// Operators may be in capitals or small letters.
    ///
    /// - Parameters:
    ///   - json: The query.
    ///   - source: What it goes over.
    /// - Throws: `DatabaseError` with code `.invalidQuery` and a sentence about what is not understood.
    public init(json: JSONValue, from source: DataSource) throws {
        guard case .object(let object) = json else { throw QueryJSON.failure("is no object") }
        let reader = QueryJSON(sources: try Self.sources(object["FROM"], source))
        let columns = try reader.columns(object["WHAT"])
        self.init(
            columns: columns, isDistinct: try reader.flag(object["DISTINCT"], "DISTINCT"),
            source: reader.sources.first ?? source)
        var (most, first) = (Int?.none, 0)
        self = try with { clauses in
            for (key, value) in object {
                switch key {
                case "WHAT", "DISTINCT": break
                case "FROM": clauses.joins = try reader.joins(value)
                case "WHERE": clauses.condition = try reader.expression(value)
                case "HAVING": clauses.groupCondition = try reader.expression(value)
                case "GROUP_BY":
                    clauses.grouping = try reader.list(value, key).map(reader.expression)
                case "ORDER_BY":
                    clauses.ordering = try reader.list(value, key).map(reader.ordering)
                case "LIMIT": most = try reader.count(value, key)
                case "OFFSET": first = try reader.count(value, key)
                default: throw QueryJSON.failure("has a part '\(key)' that is not known")
                }
            }
        }
        (limit, offset) = (most, first)
    }

    private static func sources(_ json: JSONValue?, _ first: DataSource) throws -> [DataSource] {
        guard let json else { return [first] }
        guard let parts = json.array, !parts.isEmpty else {
            throw QueryJSON.failure("has a FROM that is no list of sources")
        }
        guard parts.count <= SelectPlan.most else {
            throw QueryJSON.failure("has more than \(SelectPlan.most) sources")
        }
        return try parts.map { part in
            guard case .object(let part) = part else {
                throw QueryJSON.failure("has a source that is no object")
            }
            for (key, _) in part where !["AS", "JOIN", "ON"].contains(key) {
                throw QueryJSON.failure("has a source with a part '\(key)' that is not known")
            }
            guard let name = part["AS"] else { return first }
            guard let name = name.string else {
                throw QueryJSON.failure("has a source whose name is no text")
            }
            return first.as(name)
        }
    }
}

/// Reads the parts of a query's JSON form.
struct QueryJSON {
    /// The sources, the first one first.
    let sources: [DataSource]
    /// The names of sources by what they begin with, up to a period: few, of which a property may be.
    private let names: NameMap<[String]>
    /// How deeply expressions may be nested.
    private static let deepest = 200

    init(sources: [DataSource]) {
        self.sources = sources
        var names: NameMap<[String]> = [:]
        for name in sources.compactMap(\.name) {
            names[Self.start(of: name), default: []].append(name)
        }
        self.names = names
    }

    private static func start(of path: String) -> String {
        String(decoding: path.utf8.prefix { $0 != UInt8(ascii: ".") }, as: UTF8.self)
    }

    static func failure(_ what: String) -> DatabaseError {
        DatabaseError(.invalidQuery, "The JSON of a query \(what).")
    }

    func list(_ json: JSONValue, _ key: String) throws -> [JSONValue] {
        guard let list = json.array else { throw Self.failure("has a \(key) that is no list") }
        return list
    }

    func flag(_ json: JSONValue?, _ key: String) throws -> Bool {
        guard let json else { return false }
        guard let flag = json.bool else {
            throw Self.failure("has a \(key) that is neither true nor false")
        }
        return flag
    }

    func count(_ json: JSONValue, _ key: String) throws -> Int {
        guard let number = json.int64.flatMap({ Int(exactly: $0) }), number >= 0 else {
            throw Self.failure("has a \(key) that is no number of rows")
        }
        return number
    }

    func columns(_ json: JSONValue?) throws -> [SelectResult] {
        guard let json else { return [.expression(Meta.id)] }
        return try list(json, "WHAT").map { column in
            if let parts = column.array, parts.count == 3, parts[0] == "AS",
                let name = parts[2].string
            {
                return SelectResult(node: try expression(parts[1]), alias: name)
            }
            // A text is short for a property.
            if let path = column.string {
                return SelectResult(node: try property(path), alias: nil)
            }
            return SelectResult(node: try expression(column), alias: nil)
        }
    }

    func ordering(_ json: JSONValue) throws -> Ordering {
        if let parts = json.array, parts.count == 2,
            let direction = parts[0].string?.uppercased(), direction == "DESC" || direction == "ASC"
        {
            return Ordering(node: try expression(parts[1]), isDescending: direction == "DESC")
        }
        return Ordering(node: try expression(json), isDescending: false)
    }

    func joins(_ json: JSONValue) throws -> [Join] {
        try zip(sources, try list(json, "FROM")).dropFirst().map { source, part in
            guard let condition = part["ON"] else {
                throw Self.failure("joins a source without ON")
            }
            let kind = part["JOIN"] ?? "INNER"
            switch kind.string?.uppercased() {
            case "INNER"?:
                return Join(source: source, condition: try expression(condition), isOuter: false)
            case "LEFT OUTER"?, "LEFT"?, "OUTER"?:
                return Join(source: source, condition: try expression(condition), isOuter: true)
            default: throw Self.failure("has a JOIN that is neither INNER nor LEFT OUTER")
            }
        }
    }

    // MARK: - Expressions

    func expression(_ json: JSONValue) throws -> ExpressionNode {
        try expression(json, Self.deepest)
    }

    private func expression(_ json: JSONValue, _ depth: Int) throws -> ExpressionNode {
        guard depth > 0 else { throw Self.failure("is nested too deeply") }
        guard let parts = json.array else { return .literal(json) }
        guard let name = parts.first?.string, let first = name.first else {
            throw Self.failure("has an expression without an operator")
        }
        let arguments = Array(parts.dropFirst())
        switch first {
        case ".":
            let more = arguments.compactMap(\.string)
            guard more.count == arguments.count else {
                throw Self.failure("has a property whose path is no text")
            }
            let start = String(name.dropFirst())
            return try property(([start] + more).filter { !$0.isEmpty }.joined(separator: "."))
        case "$": return .parameter(String(name.dropFirst()))
        case "?": return variable(String(name.dropFirst()))
        default:
            return try QueryOperation(name: name.uppercased(), arguments: arguments) {
                try expression($0, depth - 1)
            }.node()
        }
    }

    private func variable(_ text: String) -> ExpressionNode {
        let parts = text.split(separator: ".", maxSplits: 1).map(String.init)
        let path = parts.count > 1 ? PropertyPath.lenient(parts[1]) : .itself
        return .variable(parts.first ?? "", path)
    }

    /// A property, or a fact about the document, of the source that the path begins with.
    private func property(_ path: String) throws -> ExpressionNode {
        var (path, source) = (path.afterBytePrefix(".") ?? path, String?.none)
        for name in names[Self.start(of: path)] ?? [] {
            let rest = path.hasSameBytes(as: name) ? "" : path.afterBytePrefix(name + ".")
            guard let rest else { continue }
            (path, source) = (rest, name)
            break
        }
        switch path {
        case "": return .document(source: source)
        case "_id": return .meta(.id, source: source)
        case "_revisionID": return .meta(.revisionID, source: source)
        case "_sequence": return .meta(.sequence, source: source)
        case "_deleted": return .meta(.isDeleted, source: source)
        case "_expiration": return .meta(.expiration, source: source)
        default:
            guard let path = try? PropertyPath(path) else {
                throw Self.failure("has a property whose path cannot be")
            }
            return .property(path, source: source)
        }
    }
}
