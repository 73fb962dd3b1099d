// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanPlatform

/// A selector taken literally: the JSON is rewritten step by step, then asked about decoded JSON.
struct ReferenceSelector {
    let normal: JSONValue
    private let order = ValueOrder(.unicode, strings: ICUCollator.root)

    init(_ json: JSONValue) { normal = Self.spread(json, path: [], isNegated: false) }

    func matches(_ document: JSONValue) -> Bool { holds(normal, document) }

    /// Whether it comes down to a list without items: a query then finds nothing.
    var isEmptyList: Bool {
        var rest = normal
        // One key leads to a list of one item, and so on.
        while let items = rest["items"]?.array, items.count == 1, rest["of"] == "key" {
            rest = items[0]
        }
        return rest["items"]?.array?.isEmpty == true
    }

    // MARK: - Rewriting: {"op": …} with {"path": […], "op": …, "argument": …} at the ends

    private static func list(_ kind: String, _ items: [JSONValue]) -> JSONValue {
        ["op": .string(kind), "items": .array(items)]
    }

    private static func spread(_ json: JSONValue, path: [String], isNegated: Bool) -> JSONValue {
        guard case .object(let object) = json, !object.isEmpty else {
            return end(path, "$eq", json, isNegated)
        }
        let items = object.map { key, value -> JSONValue in
            switch key {
            case "$and", "$or", "$nor":
                let isNegated = isNegated != (key == "$nor")
                let items = (value.array ?? []).map { spread($0, path: path, isNegated: isNegated) }
                if items.isEmpty { return list("all", []) }
                return list((key == "$and") != isNegated ? "all" : "any", items)
            case "$not": return spread(value, path: path, isNegated: !isNegated)
            case "$elemMatch", "$allMatch", "$keyMapMatch":
                return end(path, key, spread(value, path: [], isNegated: false), isNegated)
            case _ where key.hasPrefix("$"): return end(path, key, value, isNegated)
            default:
                let steps = key.split(separator: ".").map(String.init)
                return spread(value, path: path + steps, isNegated: isNegated)
            }
        }
        let kind = isNegated ? "any" : "all"
        return ["op": .string(kind), "items": .array(items), "of": "key"]
    }

    private static func end(
        _ path: [String], _ name: String, _ argument: JSONValue, _ isNegated: Bool
    ) -> JSONValue {
        [
            "op": .string(name), "path": .array(path.map { .string($0) }), "argument": argument,
            "not": .bool(isNegated),
        ]
    }

    // MARK: - Asking

    private func holds(_ node: JSONValue, _ value: JSONValue) -> Bool {
        let name = node["op"]?.string ?? ""
        let items = node["items"]?.array ?? []
        if name == "all" { return items.allSatisfy { holds($0, value) } }
        if name == "any" { return items.contains { holds($0, value) } }
        var value = value
        let isNegated = node["not"]?.bool ?? false
        for step in (node["path"]?.array ?? []).compactMap(\.string) {
            switch value {
            case .object(let object):
                guard let next = object[step] else {
                    return name == "$exists" && (node["argument"]?.bool ?? true) == isNegated
                }
                value = next
            case .array(let items):
                guard let index = Int(step), items.indices.contains(index) else { return false }
                value = items[index]
            default: return false
            }
        }
        return test(name, value, node["argument"] ?? .null) != isNegated
    }

    private func isEqual(_ left: JSONValue, _ right: JSONValue) -> Bool {
        order.collatesAsEqual(left, right)
    }

    private func compare(_ left: JSONValue, _ right: JSONValue) -> Int {
        isEqual(left, right) ? 0 : order.compare(left, right)
    }

    private func test(_ name: String, _ value: JSONValue, _ argument: JSONValue) -> Bool {
        switch name {
        case "$eq": isEqual(value, argument)
        case "$ne": !isEqual(value, argument)
        case "$lt": compare(value, argument) < 0
        case "$lte": compare(value, argument) <= 0
        case "$gt": compare(value, argument) > 0
        case "$gte": compare(value, argument) >= 0
        case "$exists": argument.bool ?? false
        case "$in": isAmong(value, argument)
        case "$nin": !isAmong(value, argument)
        case "$type": type(of: value) == argument.string
        case "$size": value.array.map { Int64($0.count) == argument.int64 } ?? false
        case "$mod":
            remainder(of: value, by: argument[0]?.int64 ?? 1).map { $0 == argument[1]?.int64 }
                ?? false
        case "$beginsWith":
            value.string.map { $0.utf8.starts(with: (argument.string ?? "").utf8) } ?? false
        case "$regex": value.string.map { $0.utf8.contains(UInt8(ascii: "a")) } ?? false
        case "$all": hasAll(value, argument)
        case "$elemMatch": value.array?.contains { holds(argument, $0) } ?? false
        case "$allMatch":
            value.array.map { !$0.isEmpty && $0.allSatisfy { holds(argument, $0) } } ?? false
        default: value.object?.keys.contains { holds(argument, .string($0)) } ?? false
        }
    }

    private func isAmong(_ value: JSONValue, _ argument: JSONValue) -> Bool {
        (value.array ?? [value]).contains { item in
            (argument.array ?? []).contains { isEqual(item, $0) }
        }
    }

    private func hasAll(_ value: JSONValue, _ argument: JSONValue) -> Bool {
        guard let items = value.array, let wanted = argument.array, !wanted.isEmpty else {
            return false
        }
        if wanted.count == 1, wanted[0].array != nil, isEqual(wanted[0], value) { return true }
        return wanted.allSatisfy { item in items.contains { isEqual($0, item) } }
    }

    /// What is left of an integer, also of one beyond the signed ones; nil for anything else.
    private func remainder(of value: JSONValue, by divisor: Int64) -> Int64? {
        if case .unsigned(let value) = value { return Int64(value % divisor.magnitude) }
        return value.int64.map { $0 % divisor }
    }

    private func type(of value: JSONValue) -> String {
        switch value {
        case .null: "null"
        case .bool: "boolean"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        default: "number"
        }
    }
}
