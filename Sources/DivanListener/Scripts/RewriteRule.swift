// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON

/// A rule of the array `rewrites` of a design document.
///
///     {"from": "/people/:name", "to": "_view/by_name", "query": {"key": ":name"}, "method": "GET"}
///
/// `:name` stands for a component of the path, `*` at the end for all that are left. What a component stood for can be used
/// in `to` and as a value in `query`, and so can the parameters of the request. `formats` says which of them are numbers or
/// `true` and `false`.
struct RewriteRule {
    /// A component of a pattern.
    private enum Part {
        case word(String)
        case variable(String)
        case star
    }

    private static let star = "*"
    /// The parameters whose values are JSON.
    private static let ofJSON: NameSet = [
        "key", "startkey", "start_key", "endkey", "end_key", "keys",
    ]

    private let method: String
    private let from: [Part]
    private let to: [Part]
    private let query: JSONObject
    private let formats: JSONObject

    /// Reads the rules, all of them, so that a wrong one is told whichever would fit.
    ///
    /// - Parameters:
    ///   - list: The rules.
    ///   - isInside: Whether they must stay in their database.
    /// - Returns: The rules.
    /// - Throws: `HTTPFailure` 500.
    static func rules(_ list: [JSONValue], isInside: Bool) throws -> [RewriteRule] {
        try list.map { try RewriteRule($0, isInside) }
    }

    private init(_ rule: JSONValue, _ isInside: Bool) throws {
        guard let rule = rule.object else {
            throw HTTPFailure(500, "rewrite_error", "A rule of `rewrites` is no object.")
        }
        guard let to = rule["to"] else {
            throw HTTPFailure(500, "error", "invalid_rewrite_target")
        }
        method = rule["method"]?.string ?? Self.star
        from = try Self.parts(rule["from"] ?? .string(Self.star), isInside)
        self.to = try Self.parts(to, isInside)
        query = rule["query"]?.object ?? [:]
        formats = rule["formats"]?.object ?? [:]
    }

    /// The components of a pattern. Two levels up is the database, and no pattern leads out of it that must stay.
    private static func parts(_ pattern: JSONValue, _ isInside: Bool) throws -> [Part] {
        guard let text = pattern.string else {
            throw HTTPFailure(500, "rewrite_error", "`from` and `to` of a rule must be strings.")
        }
        let words = text.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
        guard !isInside || words.count(where: { $0 == ".." }) <= 2 else {
            throw HTTPFailure.leavingRewrite
        }
        return words.map { word in
            if word == star { return .star }
            return word.afterBytePrefix(":").map { .variable($0) } ?? .word(word)
        }
    }

    // MARK: - Using a rule

    /// Where a request goes by this rule.
    ///
    /// - Parameters:
    ///   - path: The components behind `_rewrite`.
    ///   - method: The method.
    ///   - parameters: The parameters of the request; see ``parameters(of:)``.
    ///   - start: The path of the design document.
    ///   - limit: The bytes that what the variables stand for may fill.
    /// - Returns: The target of the new request, as path and query; nil where the rule does not fit.
    /// - Throws: `HTTPFailure` 431 where they fill more.
    func target(
        _ path: [String], _ method: String, _ parameters: JSONObject, from start: RewrittenPath,
        limit: Int
    ) throws -> (path: RewrittenPath, query: String)? {
        let method = method == "HEAD" ? "GET" : method
        guard self.method == Self.star || self.method.hasSameBytes(as: method),
            let (bound, rest) = bind(path)
        else { return nil }
        var bindings = bound
        for (name, value) in parameters where bindings[name] == nil { bindings[name] = value }
        var room = Room(left: limit)
        var final = bindings
        for (name, value) in query { final[name] = try filled(value, bindings, &room) }
        final[Self.star] = bindings[Self.star]
        var target = start
        for part in to {
            switch part {
            // Above the root is the root.
            case .word(let word): _ = target.follow(word)
            case .variable(let name):
                let text = final[name].map(Self.text) ?? "undefined"
                try room.take(text)
                target.append(text)
            case .star:
                for name in rest { target.append(name) }
                return (target, Self.queryText(final))
            }
        }
        return (target, Self.queryText(final))
    }

    /// What the variables of `from` stand for in a path, and what is left for the star at its end; nil where it does not fit.
    private func bind(_ path: [String]) -> (bound: JSONObject, rest: [String])? {
        var bound: JSONObject = [:]
        var rest = path[...]
        for (index, part) in from.enumerated() {
            if case .star = part, index + 1 == from.count { return (bound, Array(rest)) }
            guard let component = rest.popFirst() else { return nil }
            switch part {
            case .word(let word): guard word.hasSameBytes(as: component) else { return nil }
            case .variable(let name): bound[name] = .string(component)
            case .star: bound[Self.star] = .string(component)
            }
        }
        return rest.isEmpty ? (bound, []) : nil
    }

    /// A value of `query` with its variables filled in: one that is a variable, or an array that has some.
    private func filled(_ value: JSONValue, _ bindings: JSONObject, _ room: inout Room) throws
        -> JSONValue
    {
        func fill(_ item: JSONValue) throws -> JSONValue {
            guard let text = item.string, let found = variable(text, bindings) else { return item }
            try room.take(Self.text(found))
            return found
        }
        switch value {
        case .string(Self.star):
            guard let found = bindings[Self.star] else { return value }
            try room.take(Self.text(found))
            return found
        case .array(let items): return .array(try items.map(fill))
        default: return try fill(value)
        }
    }

    /// What is left of the bytes that variables may fill: a rule can name one as often as a design document is long, and what it
    /// makes is a rule's to fill in again.
    private struct Room {
        var left: Int

        mutating func take(_ text: String) throws {
            left -= text.utf8.count
            guard left >= 0 else { throw HTTPFailure.headTooLarge }
        }
    }

    /// What a text stands for that is a variable; nil for another text, and for a variable that stands for nothing.
    private func variable(_ text: String, _ bindings: JSONObject) -> JSONValue? {
        guard let name = text.afterBytePrefix(":"), let value = bindings[name] else { return nil }
        guard let text = value.string else { return value }
        switch formats[name]?.string {
        case "int": return Int64(text, radix: 10).map { .integer($0) } ?? value
        case "bool":
            let lowered = text.lowercased()
            return lowered == "true" ? true : lowered == "false" ? false : value
        default: return value
        }
    }

    // MARK: - Parameters

    /// The parameters of a request, of which some are JSON.
    ///
    /// - Throws: `HTTPFailure` 400 where that is malformed.
    static func parameters(of query: QueryParameters) throws -> JSONObject {
        var parameters: JSONObject = [:]
        for (name, value) in query.items {
            parameters[name] = ofJSON.contains(name) ? try query.json(name) : .string(value)
        }
        return parameters
    }

    private static func queryText(_ parameters: JSONObject) -> String {
        let items = parameters.filter { $0.key != star }.map { name, value in
            (name: name, value: ofJSON.contains(name) ? value.description : text(value))
        }
        return items.isEmpty ? "" : "?" + PercentEncoding.query(items)
    }

    /// A value as a text: a string as it is, another one as JSON.
    private static func text(_ value: JSONValue) -> String { value.string ?? value.description }
}
