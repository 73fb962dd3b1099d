// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON

/// Reads a selector's JSON: what is left out is put in, paths are joined, negations carried down.
///
/// An object is one of two things, and its keys tell: operators begin with a dollar sign, all others
/// are names of properties. Several keys in one object are conditions that all hold.
///
/// ## Nothing behind an operator
///
/// As in CouchDB, an object without keys is no condition but a value to be equal to, but for the whole
/// selector, which is then everything. A list without items excludes nothing. A query that asks for nothing
/// but such a list finds nothing: see `DocumentSelector.wanted`.
struct SelectorParser {
    /// Where in the selector the parser is, for errors.
    struct Place {
        var text = ""

        func key(_ key: String) -> Place { Place(text: text.isEmpty ? key : "\(text).\(key)") }
        func index(_ index: Int) -> Place { Place(text: "\(text)[\(index)]") }
    }

    /// A step of the reading: the path so far, and whether a negation stands before it.
    struct Context {
        var path = PropertyPath.itself
        var isNegated = false
        /// Whether conditions may stand without a path: inside `$elemMatch` and its like.
        var hasSubject = false
        /// Whether a list of conditions stands before it.
        var isInList = false
        var place = Place()

        /// Whether there is something that a condition without a name can look at.
        var hasTarget: Bool { !path.steps.isEmpty || hasSubject }
    }

    func parse(_ json: JSONValue) throws -> SelectorNode {
        guard case .object(let object) = json else {
            throw DatabaseError.selector("The selector is no object.")
        }
        guard json.isNested(atMost: Self.maximumDepth) else {
            throw DatabaseError.selector(
                "The selector nests deeper than \(Self.maximumDepth) levels.")
        }
        guard !SelectorSize.isTooLarge(json) else {
            throw DatabaseError.selector(
                "The paths of the selector's conditions are too long together; ask for fewer or shorter ones."
            )
        }
        return object.isEmpty ? .all([]) : try node(object, Context())
    }

    private static let maximumDepth = 256

    /// Whether a selector is a list without items and nothing else, whatever names and negations stand
    /// before it.
    static func isEmptyList(_ json: JSONValue) -> Bool {
        guard case .object(let object) = json, object.count == 1, let (key, value) = object.first
        else { return false }
        if ["$and", "$or", "$nor"].contains(key) { return value.array?.isEmpty == true }
        return (key == "$not" || key.utf8.first != UInt8(ascii: "$")) && isEmptyList(value)
    }

    /// The conditions of an object.
    func node(_ object: JSONObject, _ context: Context) throws -> SelectorNode {
        if object.isEmpty { return try emptyObject(context) }
        let nodes = try object.map { key, value in
            var inner = context
            inner.place = context.place.key(key)
            guard key.utf8.first == UInt8(ascii: "$") else {
                inner.path = context.path.appending(try path(key, inner.place))
                return try self.condition(value, inner)
            }
            return try operation(key, value, inner)
        }
        if nodes.count == 1 { return nodes[0] }
        return context.isNegated ? .any(nodes) : .all(nodes)
    }

    /// What an object without keys wants: a value that is one, too.
    private func emptyObject(_ context: Context) throws -> SelectorNode {
        guard !context.hasTarget else { return equality(to: .object([:]), context) }
        guard context.isInList else { throw context.wantsProperty }
        // A whole document never is: it has an ID.
        return context.isNegated ? .all([]) : .any([])
    }

    private func equality(to value: JSONValue, _ context: Context) -> SelectorNode {
        .field(context.path, context.isNegated ? .notEqual(.init(value)) : .equal(.init(value)))
    }

    /// What stands behind the name of a property: conditions, or a value to be equal to.
    private func condition(_ value: JSONValue, _ context: Context) throws -> SelectorNode {
        if case .object(let object) = value { return try node(object, context) }
        return equality(to: value, context)
    }

    private func path(_ text: String, _ place: Place) throws -> PropertyPath {
        do throws(PropertyPath.Failure) {
            return try PropertyPath(text, allowsBrackets: false)
        } catch {
            throw DatabaseError.selector(
                "The selector has a name at '\(place.text)' that cannot be: \(error.reason).")
        }
    }

    private func operation(_ name: String, _ value: JSONValue, _ context: Context) throws
        -> SelectorNode
    {
        switch name {
        case "$and", "$or", "$nor": return try combination(name, value, context)
        case "$not":
            guard case .object(let object) = value else { throw context.wants("an object") }
            var inner = context
            inner.isNegated.toggle()
            return try node(object, inner)
        default:
            guard context.hasTarget else { throw context.wantsProperty }
            let condition = try SelectorOperators(parser: self).condition(name, value, context)
            return .field(
                context.path, context.isNegated ? condition.negated : condition)
        }
    }

    private func combination(_ name: String, _ value: JSONValue, _ context: Context) throws
        -> SelectorNode
    {
        guard case .array(let items) = value else { throw context.wants("an array of objects") }
        var inner = context
        inner.isInList = true
        if name == "$nor" { inner.isNegated.toggle() }
        let nodes = try items.enumerated().map { index, item in
            inner.place = context.place.index(index)
            guard case .object(let object) = item else {
                // Below a property a value in the list is one to be equal to.
                guard context.hasTarget else { throw inner.wants("an object") }
                return try condition(item, inner)
            }
            return try node(object, inner)
        }
        if nodes.isEmpty { return .all([]) }
        // A negation before a list turns "all" into "any"; $nor has done so itself.
        let isAll = (name == "$and" || name == "$nor") != context.isNegated
        return isAll ? .all(nodes) : .any(nodes)
    }
}

extension SelectorParser.Context {
    /// The error of an operator whose argument is of the wrong kind.
    func wants(_ what: String) -> DatabaseError {
        DatabaseError.selector("The selector's operator '\(place.text)' wants \(what).")
    }

    /// The error of an operator that stands before the name of a property and not behind one.
    var wantsProperty: DatabaseError {
        DatabaseError.selector(
            "The selector's operator '\(place.text)' has no property to look at.")
    }
}

extension SelectorCondition {
    /// The condition that is fulfilled by the other values that are there.
    var negated: SelectorCondition {
        switch self {
        case .less(let operand): .greaterOrEqual(operand)
        case .lessOrEqual(let operand): .greater(operand)
        case .equal(let operand): .notEqual(operand)
        case .notEqual(let operand): .equal(operand)
        case .greaterOrEqual(let operand): .less(operand)
        case .greater(let operand): .lessOrEqual(operand)
        case .oneOf(let operands): .noneOf(operands)
        case .noneOf(let operands): .oneOf(operands)
        case .exists(let isWanted): .exists(!isWanted)
        case .not(let condition): condition
        default: .not(self)
        }
    }
}

extension DatabaseError {
    static func selector(_ sentence: String, _ underlying: (any Error)? = nil) -> DatabaseError {
        DatabaseError(.invalidQuery, sentence, underlying: underlying)
    }
}
