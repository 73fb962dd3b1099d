// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanQuery

extension FindSelector {
    /// The selector as `_explain` shows it: every condition with its operator, objects within paths with dots.
    var shown: JSONValue {
        switch self {
        case .everything: [:]
        case .all(let parts): ["$and": .array(parts.map(\.shown))]
        case .any(let parts): ["$or": .array(parts.map(\.shown))]
        case .field(.itself, let condition): condition.shown
        case .field(let path, let condition): [path.text: condition.shown]
        case .text(let text): [TextField.all: ["$text": .string(text)]]
        }
    }

    /// A selector of the database that finds the same documents.
    var executable: JSONValue {
        if case .field(.itself, let condition) = self {
            // Of an empty object in a list of conditions: no document is one.
            return condition == .operation(.equal, [:]) ? [:] : ["$nor": [[:]]]
        }
        switch self {
        case .all(let parts): return ["$and": .array(parts.map(\.executable))]
        case .any(let parts): return ["$or": .array(parts.map(\.executable))]
        case .field(let path, let condition):
            return [path.selectorKey: condition.executable(isOfID: path == .documentID)]
        case .everything: return [:]
        // The index has found what has the words; in a list `{}` would be a value.
        case .text: return ["_id": ["$exists": true]]
        }
    }

    /// The selector behind `$elemMatch` and its like, whose paths begin at the element.
    fileprivate var executableInside: JSONValue {
        switch self {
        case .all(let parts): ["$and": .array(parts.map(\.executableInside))]
        case .any(let parts): ["$or": .array(parts.map(\.executableInside))]
        case .field(.itself, let condition): condition.executable(isOfID: false)
        case .field(let path, let condition):
            [path.selectorKey: condition.executable(isOfID: false)]
        case .everything, .text: [:]
        }
    }
}

extension FindCondition {
    fileprivate var shown: JSONValue {
        switch self {
        case .operation(let name, let value): [name.rawValue: value]
        case .match(let name, let selector): [name.rawValue: selector.shown]
        case .not(let condition): ["$not": condition.shown]
        }
    }

    fileprivate func executable(isOfID: Bool) -> JSONValue {
        switch self {
        case .operation(.type, let value) where !Self.types.contains(value): return Self.never
        case .not(.operation(.type, let value)) where !Self.types.contains(value):
            return ["$exists": true]
        case .operation(let name, let value):
            // IDs are searched in the order of the store, where no array or object stands before or behind them.
            let isBound = [.less, .lessOrEqual, .greaterOrEqual, .greater].contains(name)
            if isOfID, isBound, value.array != nil || value.object != nil { return Self.never }
            return [name.rawValue: value]
        case .match(let name, let selector): return [name.rawValue: selector.executableInside]
        case .not(let condition): return ["$not": condition.executable(isOfID: isOfID)]
        }
    }

    private static let never: JSONValue = ["$in": []]
    private static let types: [JSONValue] = [
        "null", "boolean", "number", "string", "array", "object",
    ]
}
