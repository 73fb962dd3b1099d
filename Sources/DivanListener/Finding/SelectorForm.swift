// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// The form in which `_explain` shows selectors, as CouchDB does: every condition has its operator,
/// several stand in an `$and`, and objects within paths are written with dots.
///
///     {"a": 1, "b": {"c": 2, "$gt": 0}}
///     {"$and": [{"a": {"$eq": 1}}, {"b.c": {"$eq": 2}}, {"b": {"$gt": 0}}]}
enum SelectorForm {
    /// Writes a selector out in full.
    static func normal(_ selector: JSONValue) -> JSONValue { normal(selector, at: "") }

    private static func normal(_ value: JSONValue, at path: String) -> JSONValue {
        guard let object = value.object else { return place(["$eq": value], at: path) }
        guard !object.isEmpty else { return path.isEmpty ? [:] : place(["$eq": [:]], at: path) }
        let conditions = object.map { key, value in condition(key, value, at: path) }
        return conditions.count == 1 ? conditions[0] : ["$and": .array(conditions)]
    }

    private static func condition(_ key: String, _ value: JSONValue, at path: String) -> JSONValue {
        switch key {
        case "$and", "$or", "$nor":
            let parts = (value.array ?? []).map { normal($0, at: path) }
            return .object([key: .array(parts)])
        case "$not": return ["$not": normal(value, at: path)]
        case "$elemMatch", "$allMatch", "$keyMapMatch":
            return place(.object([key: normal(value, at: "")]), at: path)
        default:
            if key.hasBytePrefix("$") { return place(.object([key: value]), at: path) }
            return normal(value, at: path.isEmpty ? key : path + "." + key)
        }
    }

    private static func place(_ condition: JSONValue, at path: String) -> JSONValue {
        path.isEmpty ? condition : .object([path: condition])
    }
}
