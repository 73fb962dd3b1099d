// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanQuery

/// Reads a selector of a request; what is wrong with it has CouchDB's names.
struct FindSelectorParser {
    private static let maximumDepth = 256

    /// Where in the selector the parser is.
    private struct Context {
        var path = FieldPath.itself
        var isNegated = false
        /// Whether conditions need no field: behind `$elemMatch` and its like.
        var isInner = false
        /// Whether a list of conditions stands before it.
        var isInList = false
    }

    static func parse(_ json: JSONValue) throws -> FindSelector {
        guard let object = json.object else {
            throw HTTPFailure(
                400, "invalid_selector_json", "Selector must be a JSON object, not: \(json.shown)")
        }
        guard json.isNested(atMost: maximumDepth) else {
            throw HTTPFailure(
                400, "invalid_selector_json",
                "The selector nests deeper than \(maximumDepth) levels; write it flatter.")
        }
        guard !SelectorSize.isTooLarge(json) else {
            throw HTTPFailure(
                400, "invalid_selector_json",
                "The paths of the selector's conditions are too long together; ask for fewer or shorter ones."
            )
        }
        return object.isEmpty ? .everything : try node(json, Context())
    }

    private static func node(_ json: JSONValue, _ context: Context) throws -> FindSelector {
        guard let object = json.object, !object.isEmpty else {
            return try leaf(.operation(.equal, json), context)
        }
        let parts = try object.map { try member($0, $1, context) }
        if parts.count == 1 { return parts[0] }
        return context.isNegated ? .any(parts) : .all(parts)
    }

    private static func leaf(_ condition: FindCondition, _ context: Context) throws -> FindSelector
    {
        // A whole document is never the empty object, which is no mistake in a list.
        guard
            !context.path.isItself || context.isInner
                || context.isInList && condition == .operation(.equal, [:])
        else {
            throw HTTPFailure(
                400, "invalid_selector", "One or more conditions is missing a field name.")
        }
        return .field(context.path, context.isNegated ? condition.negated : condition)
    }

    private static func member(_ key: String, _ value: JSONValue, _ context: Context) throws
        -> FindSelector
    {
        var inner = context
        switch key {
        case "$and", "$or", "$nor":
            guard let items = value.array else { throw badArgument(key, value) }
            inner.isInList = true
            if key == "$nor" { inner.isNegated.toggle() }
            let parts = try items.map { try node($0, inner) }
            return (key == "$or") == context.isNegated ? .all(parts) : .any(parts)
        case "$not":
            guard value.object != nil else { throw badArgument(key, value) }
            inner.isNegated.toggle()
            return try node(value, inner)
        case "$text":
            // Whether a text has words is known for whole documents alone, and where it is asked for.
            guard let text = value.string, context.path.isItself, !context.isInner,
                !context.isNegated
            else { throw badArgument(key, value) }
            return .text(text)
        default:
            guard key.hasBytePrefix("$") else {
                inner.path = context.path.appending(try FieldPath(key))
                return try node(value, inner)
            }
            return try leaf(try condition(key, value), context)
        }
    }

    private static func condition(_ key: String, _ value: JSONValue) throws -> FindCondition {
        if let match = FindCondition.Match(rawValue: key) {
            guard value.object != nil else { throw badArgument(key, value) }
            return .match(match, try node(value, Context(isInner: true)))
        }
        guard let asked = FindCondition.Operator(rawValue: key) else {
            guard unsupported.contains(key) else { throw invalidOperator(key) }
            throw HTTPFailure(400, "not_supported", "Unsupported operator: \(key)")
        }
        // CouchDB does not know an operator whose text is none.
        if asked == .pattern || asked == .beginsWith, value.string == nil {
            throw invalidOperator(key)
        }
        guard isArgument(value, of: asked) else { throw badArgument(key, value) }
        return .operation(asked, value)
    }

    private static let unsupported = [
        "$where", "$geoWithin", "$geoIntersects", "$near", "$nearSphere",
    ]

    private static func isArgument(_ value: JSONValue, of name: FindCondition.Operator) -> Bool {
        switch name {
        case .isIn, .isNotIn, .containsAll: return value.array != nil
        case .exists: return value.bool != nil
        case .type: return value.string != nil
        case .size: return value.int64.map { $0 >= 0 } ?? false
        case .remainder:
            guard let numbers = value.array, numbers.count == 2, numbers[1].int64 != nil else {
                return false
            }
            return numbers[0].int64.map { $0 != 0 } ?? false
        case .pattern:
            return (try? DocumentSelector(json: ["field": ["$regex": value]])) != nil
        default: return true
        }
    }

    private static func badArgument(_ key: String, _ value: JSONValue) -> HTTPFailure {
        HTTPFailure(400, "bad_arg", "Bad argument for operator \(key): \(value.shown)")
    }

    private static func invalidOperator(_ key: String) -> HTTPFailure {
        HTTPFailure(400, "invalid_operator", "Invalid operator: \(key.prefix(100))")
    }
}

extension JSONValue {
    /// What a client sent, as far as a reason repeats it.
    var shown: String {
        let text = description
        return text.utf8.count > 100 ? text.prefix(100) + "..." : text
    }
}
