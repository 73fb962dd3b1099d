// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanQuery

/// Says in the words of a search index what a selector asks for.
///
///     {"age": {"$gt": 5}, "name.first": "Ann"}      +age:number:{5 TO *] +name.first:string:"Ann"
///     {"$text": "some words"}                       $default:"some words"
///     {"a": {"$ne": 1}}                             $fieldnames:"a:any"
///
/// The selector is asked about what is found, so a condition may become one that more documents fulfil: that the field is there,
/// or has a value of the type. It never becomes one that fewer do, but for types: a number is compared with numbers alone, and a text
/// with texts, as in CouchDB's text indexes. Of an index on some fields no more is known than these.
struct TextSearch {
    private let index: SearchIndex
    private let definition: TextDefinition
    /// Whether ranges end as they are asked for, since what is found is not tested. Else they have their ends, too: of numbers
    /// that the index cannot tell from an end, one may be within.
    private var isExact = false

    init(_ index: SearchIndex, _ definition: TextDefinition) {
        self.index = index
        self.definition = definition
    }

    /// The most words, patterns and ranges of a search, and the most values of a list that are searched for one by one.
    private static let (mostParts, mostValues) = (1_024, 128)
    /// The most bytes of a term; the index has only so much of a longer text.
    private static let longestTerm = 32_766

    /// The search that finds what a selector asks for.
    ///
    /// - Throws: `HTTPFailure` 400 for one that asks for too much.
    func expression(_ selector: FindSelector) throws -> SearchExpression {
        guard isTestable(selector) else {
            throw HTTPFailure(
                400, "text_search_error",
                "Beside `$text`, `$or` may have equality and ranges of numbers alone.")
        }
        let expression = expression(selector, in: [], isInner: false)
        guard expression.size <= Self.mostParts else {
            throw HTTPFailure(
                400, "text_search_error",
                "The selector has more than \(Self.mostParts) conditions for a text index.")
        }
        return expression
    }

    private func expression(_ selector: FindSelector, in prefix: [String], isInner: Bool)
        -> SearchExpression
    {
        switch selector {
        case .everything: .all
        case .text(let text):
            .words(field: TextField.all, text: text, isPhrase: true, slop: 0)
        case .all(let parts):
            .all(of: parts.map { expression($0, in: prefix, isInner: isInner) })
        // An empty list excludes nothing.
        case .any(let parts) where parts.isEmpty: .all
        case .any(let parts) where !isExact && selector.isTextSearch:
            .any(of: parts.map { exact.expression($0, in: prefix, isInner: isInner) })
        case .any(let parts):
            .any(of: parts.map { expression($0, in: prefix, isInner: isInner) })
        case .field(let path, let condition): field(path, condition, in: prefix, isInner: isInner)
        }
    }

    private var exact: TextSearch {
        var search = self
        search.isExact = true
        return search
    }

    /// Whether the test of what is found, for which every `$text` holds, lets through no document that the selector does not
    /// find: beside a `$text` that may or may not hold, the index itself must answer all.
    private func isTestable(_ selector: FindSelector) -> Bool {
        switch selector {
        case .all(let parts): parts.allSatisfy { isTestable($0) }
        case .any(let parts) where selector.isTextSearch: parts.allSatisfy { isAnswered($0) }
        default: true
        }
    }

    /// Whether the index has just those documents that a selector finds.
    private func isAnswered(_ selector: FindSelector) -> Bool {
        switch selector {
        case .everything, .text: true
        case .all(let parts), .any(let parts):
            !parts.isEmpty && parts.allSatisfy { isAnswered($0) }
        case .field(let path, .operation(let asked, let value)):
            Self.places(path.names)?.count == 1 && isAnswered(path.names, asked, value)
        case .field: false
        }
    }

    private func isAnswered(
        _ path: [String], _ asked: FindCondition.Operator, _ value: JSONValue
    ) -> Bool {
        // IDs are a row of their own in every index.
        if Self.isID(path) { return asked == .equal && !(value.string ?? "").isEmpty }
        guard let kind = value.textKind, isKnown(path, kind) else { return false }
        switch (asked, kind) {
        case (.equal, .string), (.equal, .boolean):
            // A long text is cut in the index.
            return index.isKeyword(TextField.name(path, kind))
                && (value.string ?? "-").utf8.count < Self.longestTerm && value != ""
        case (.equal, .number), (.less, .number), (.lessOrEqual, .number),
            (.greater, .number), (.greaterOrEqual, .number):
            // Behind these, integers are not told apart.
            return (value.double ?? .infinity).magnitude < 0x1p53
        default: return false
        }
    }

    private func field(
        _ path: FieldPath, _ condition: FindCondition, in prefix: [String], isInner: Bool
    ) -> SearchExpression {
        // Behind `$elemMatch` each of several places would multiply all that is inside.
        guard let places = Self.places(path.names), !isInner || places.count == 1 else {
            return .all
        }
        return .any(of: places.map { expression(condition, prefix + $0, isInner: isInner) })
    }

    /// The paths that a path may stand for: a number is a name, or the place of an element; nil for too many.
    private static func places(_ path: [String]) -> [[String]]? {
        var places: [[String]] = [[]]
        for name in path {
            let isPlace = !name.isEmpty && name.utf8.allSatisfy { $0 >= 0x30 && $0 <= 0x39 }
            let elements = isPlace ? places.map { $0 + [TextField.element] } : []
            places = places.map { $0 + [name] } + elements
            if places.count > 8 { return nil }
        }
        return places
    }

    // MARK: - Conditions

    private func expression(_ condition: FindCondition, _ path: [String], isInner: Bool)
        -> SearchExpression
    {
        switch condition {
        case .not, .match(.key, _): exists(path)
        case .match(_, let selector):
            expression(selector, in: path + [TextField.element], isInner: true)
        case .operation(let asked, let value):
            switch asked {
            case .equal: equal(path, value)
            case .less, .lessOrEqual: range(path, value, isLower: false, asked == .lessOrEqual)
            case .greater, .greaterOrEqual:
                range(path, value, isLower: true, asked == .greaterOrEqual)
            case .isIn: oneOf(value.array ?? [], path)
            case .containsAll: all(value.array ?? [], path)
            case .exists where value == false:
                // Of elements another one may have it.
                isInner || exists(path) == .all ? .all : .not(exists(path))
            case .notEqual, .isNotIn, .exists, .type: exists(path)
            case .remainder: has(path, .number)
            case .pattern: has(path, .string)
            case .beginsWith: beginning(path, value.string ?? "")
            case .size:
                definition.hasLengths
                    ? number(path + [TextField.element], .length, value) : exists(path)
            }
        }
    }

    private func equal(_ path: [String], _ value: JSONValue) -> SearchExpression {
        if let values = value.array {
            let element = path + [TextField.element]
            let length = number(element, .length, JSONValue(values.count))
            guard !values.isEmpty, values.count <= Self.mostValues else {
                return definition.hasLengths ? length : exists(path)
            }
            return .all(
                of: (definition.hasLengths ? [length] : []) + values.map { equal(element, $0) })
        }
        switch value.textKind {
        case .string?: return words(path, value.string ?? "")
        case .number?: return number(path, .number, value)
        case .boolean?:
            return boolean(path, value == true ? "true" : "false")
        default: return value == .null ? has(path, .null) : exists(path)
        }
    }

    private func boolean(_ path: [String], _ text: String) -> SearchExpression {
        guard isKnown(path, .boolean) else { return .all }
        let field = TextField.name(path, .boolean)
        guard !index.isKeyword(field) else {
            return .words(field: field, text: text, isPhrase: true, slop: 0)
        }
        // An analyzer may cut words down.
        let end = SearchExpression.Bound(text, isInclusive: true, isText: true)
        return .range(field: field, lower: end, upper: end)
    }

    private func oneOf(_ values: [JSONValue], _ path: [String]) -> SearchExpression {
        guard values.count <= Self.mostValues else { return exists(path) }
        // What an array has, too, as far as the index has elements.
        let element = path + [TextField.element]
        return .any(
            of: values.flatMap { value -> [SearchExpression] in
                guard let kind = value.textKind else { return [exists(path)] }
                let isInArrays = isKnown(element, kind)
                return [equal(path, value)] + (isInArrays ? [equal(element, value)] : [])
            })
    }

    private func all(_ values: [JSONValue], _ path: [String]) -> SearchExpression {
        // An array in the list may be the value itself.
        guard values.count <= Self.mostValues, values.allSatisfy({ $0.array == nil }) else {
            return exists(path)
        }
        return .all(of: values.map { equal(path + [TextField.element], $0) })
    }

    private func range(
        _ path: [String], _ value: JSONValue, isLower: Bool, _ isInclusive: Bool
    ) -> SearchExpression {
        let end: SearchExpression.Bound
        let field: String
        if let text = value.string {
            // Texts are compared as a language does, and lie in the index by their bytes, but for IDs.
            guard Self.isID(path) else { return has(path, .string) }
            end = .init(text, isInclusive: isInclusive || !isExact, isText: true)
            field = path[0]
        } else if value.bool == nil, let number = value.double {
            guard number.isFinite, isKnown(path, .number) else { return has(path, .number) }
            end = .init("\(number)", isInclusive: isInclusive || !isExact)
            field = TextField.name(path, .number)
        } else {
            return value.bool == nil ? exists(path) : has(path, .boolean)
        }
        return .range(field: field, lower: isLower ? end : nil, upper: isLower ? nil : end)
    }

    private func number(_ path: [String], _ kind: TextField.Kind, _ value: JSONValue)
        -> SearchExpression
    {
        guard let number = value.double, number.isFinite, kind == .length || isKnown(path, kind)
        else { return has(path, kind) }
        let end = SearchExpression.Bound("\(number)", isInclusive: true)
        return .range(field: TextField.name(path, kind), lower: end, upper: end)
    }

    private func beginning(_ path: [String], _ text: String) -> SearchExpression {
        let field = Self.isID(path) ? path[0] : TextField.name(path, .string)
        guard !text.isEmpty, text.utf8.count <= Self.longestTerm,
            Self.isID(path) || isKnown(path, .string), index.isKeyword(field)
        else { return has(path, .string) }
        return .prefix(field: field, text: text)
    }

    private func words(_ path: [String], _ text: String) -> SearchExpression {
        guard Self.isID(path) || isKnown(path, .string) else { return .all }
        let field = Self.isID(path) ? path[0] : TextField.name(path, .string)
        // Nothing is left of some texts, and a phrase is not longer than this.
        guard (1...256).contains(index.words(of: text, in: field)) else {
            return has(path, .string)
        }
        return .words(field: field, text: text, isPhrase: true, slop: 0)
    }

    // MARK: - Fields

    private static func isID(_ path: [String]) -> Bool { path.hasSameBytes(as: ["_id"]) }

    /// Whether the index has the values of a field; not those that are no part of a body.
    private func isKnown(_ path: [String], _ kind: TextField.Kind) -> Bool {
        guard let first = path.first, first.utf8.first != UInt8(ascii: "_") else { return false }
        return definition.fields?.contains(TextField.name(path, kind)) ?? true
    }

    /// That a field has a value of a type.
    private func has(_ path: [String], _ kind: TextField.Kind) -> SearchExpression {
        guard isKnown(path, kind) else { return .all }
        return .words(
            field: TextField.names, text: TextField.name(path, kind), isPhrase: true, slop: 0)
    }

    /// That a field is there, as far as the index knows all fields.
    private func exists(_ path: [String]) -> SearchExpression {
        definition.fields == nil ? has(path, .any) : .all
    }
}
