// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanQuery

extension FindSelector {
    /// The fields, with their types, that a text index must have to find the documents, as CouchDB judges it.
    ///
    ///     {"age": {"$gt": 5}, "tags": {"$all": ["a"]}}        age:number  tags.[]:string
    var textFields: [String] { textFields(in: []) }

    fileprivate func textFields(in prefix: [String]) -> [String] {
        switch self {
        case .everything: []
        case .text: [TextField.all]
        case .all(let parts), .any(let parts): parts.flatMap { $0.textFields(in: prefix) }
        case .field(let path, let condition): condition.textFields(at: prefix + path.names)
        }
    }
}

extension FindCondition {
    fileprivate func textFields(at path: [String]) -> [String] {
        switch self {
        case .not(let condition): condition.textFields(at: path)
        case .match(.key, _): []
        case .match(_, let selector): selector.textFields(in: path + [TextField.element])
        case .operation(let name, let value):
            switch name {
            case .equal where value.array != nil: Self.fields(value, path + [TextField.element])
            case .less, .lessOrEqual, .equal, .notEqual, .greaterOrEqual, .greater:
                value.textKind.map { [TextField.name(path, $0)] } ?? []
            case .isIn, .isNotIn: Self.fields(value, path)
            case .containsAll: Self.fields(value, path + [TextField.element])
            case .pattern, .beginsWith: [TextField.name(path, .string)]
            case .exists, .type, .remainder, .size: []
            }
        }
    }

    /// The fields of what stands in a list.
    private static func fields(_ list: JSONValue, _ path: [String]) -> [String] {
        // A long list has few kinds, and the path may be long.
        Set((list.array ?? []).compactMap(\.textKind)).map { TextField.name(path, $0) }
    }
}

extension JSONValue {
    /// What a field with the value has in a text index; nil for null, arrays and objects.
    var textKind: TextField.Kind? {
        if string != nil { return .string }
        if bool != nil { return .boolean }
        return double == nil ? nil : .number
    }
}
