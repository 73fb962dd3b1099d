// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanQuery

/// A selector in the form in which CouchDB judges which index serves it: one condition on one field at each leaf, put
/// together by *all* and *any*, with negations carried down.
///
///     {"a": 1, "b": {"c": 2, "$gt": 0}}         all  a $eq 1,  b.c $eq 2,  b $gt 0
///     {"$nor": [{"a": {"$lt": 5}}]}             all  a $gte 5
indirect enum FindSelector: Equatable, Sendable {
    /// The selector `{}`.
    case everything
    case all([FindSelector])
    case any([FindSelector])
    case field(FieldPath, FindCondition)
    /// Words in any text of a document.
    case text(String)
}

/// What is asked of one field.
indirect enum FindCondition: Equatable, Sendable {
    enum Operator: String, Sendable {
        case less = "$lt"
        case lessOrEqual = "$lte"
        case equal = "$eq"
        case notEqual = "$ne"
        case greaterOrEqual = "$gte"
        case greater = "$gt"
        case isIn = "$in"
        case isNotIn = "$nin"
        case exists = "$exists"
        case type = "$type"
        case remainder = "$mod"
        case pattern = "$regex"
        case beginsWith = "$beginsWith"
        case containsAll = "$all"
        case size = "$size"
    }

    /// A condition on elements or keys.
    enum Match: String, Sendable {
        case element = "$elemMatch"
        case allElements = "$allMatch"
        case key = "$keyMapMatch"
    }

    case operation(Operator, JSONValue)
    case match(Match, FindSelector)
    case not(FindCondition)

    /// The condition that holds for the other values.
    var negated: FindCondition {
        guard case .operation(let name, let value) = self else { return .not(self) }
        switch name {
        case .less: return .operation(.greaterOrEqual, value)
        case .lessOrEqual: return .operation(.greater, value)
        case .equal: return .operation(.notEqual, value)
        case .notEqual: return .operation(.equal, value)
        case .greaterOrEqual: return .operation(.less, value)
        case .greater: return .operation(.lessOrEqual, value)
        case .isIn: return .operation(.isNotIn, value)
        case .isNotIn: return .operation(.isIn, value)
        case .exists: return .operation(.exists, .bool(value != true))
        default: return .not(self)
        }
    }
}

// MARK: - What it asks for

extension FindSelector {
    /// Whether it is a list of conditions without any: a query that asks for nothing else finds nothing.
    var isEmptyList: Bool {
        switch self {
        case .all(let parts), .any(let parts): parts.isEmpty
        default: false
        }
    }

    /// Whether words are asked for, which text indexes alone find.
    var isTextSearch: Bool {
        switch self {
        case .text: true
        case .all(let parts), .any(let parts): parts.contains(where: \.isTextSearch)
        default: false
        }
    }

    /// The fields that conditions are on, as they are shown.
    var fields: [String] {
        switch self {
        case .everything: []
        case .text: [TextField.all]
        case .all(let parts), .any(let parts): parts.flatMap(\.fields)
        case .field(let path, _): [path.text]
        }
    }

    /// The fields whose conditions the rows of an index can be found by.
    var indexableFields: Set<FieldPath> {
        switch self {
        case .all(let parts): return Set(parts.flatMap(\.indexableFields))
        case .field(let path, .operation(let name, _)):
            switch name {
            case .less, .lessOrEqual, .equal, .greaterOrEqual, .greater, .beginsWith, .exists:
                return [path]
            default: return []
            }
        default: return []
        }
    }

    /// Which of some fields a document may lack and match nevertheless.
    func fieldsNotRequired(_ fields: Set<FieldPath>) -> Set<FieldPath> {
        switch self {
        case .everything, .text, .field(_, .operation(.exists, false)): return fields
        case .field(let path, _): return fields.subtracting([path])
        case .all(let parts):
            return parts.reduce(fields) { $1.fieldsNotRequired($0) }
        case .any(let parts):
            // Each alternative must ask for a field.
            return parts.reduce(into: []) { $0.formUnion($1.fieldsNotRequired(fields)) }
        }
    }

    /// Whether all documents that match have one and the same value of a field.
    func isConstant(_ field: FieldPath) -> Bool {
        switch self {
        case .all(let parts): parts.contains { $0.isConstant(field) }
        case .field(let path, .operation(.equal, _)): path == field
        default: false
        }
    }
}
