// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport

/// Random documents and selectors of few names and values, so that they meet.
struct RandomSelector {
    static let names = ["a", "b", "c", "0", "1"]

    /// A value: mostly of a handful, sometimes any.
    static func value(_ depth: Int, _ random: inout SeededRandom) -> JSONValue {
        switch random.below(depth > 0 ? 12 : 9) {
        case 0: .null
        case 1: .bool(random.oneIn(2))
        case 2, 3, 4: .integer(Int64(random.below(7)) - 2)
        case 5: .double(Double(random.below(8)) / 2)
        case 6, 7: .string(random.element(of: ["", "a", "A", "b", "ab", "\u{e9}", "B"]))
        case 8: RandomJSON.value(depth: 0, using: &random)
        case 9, 10: .array((0..<random.below(4)).map { _ in value(depth - 1, &random) })
        default: .object(document(depth - 1, &random))
        }
    }

    static func document(_ depth: Int, _ random: inout SeededRandom) -> JSONObject {
        var object: JSONObject = [:]
        for _ in 0..<random.below(4) {
            object[random.element(of: names)] = value(depth, &random)
        }
        return object
    }

    static func selector(_ depth: Int, _ random: inout SeededRandom) -> JSONValue {
        var object: JSONObject = [:]
        for _ in 0..<(random.oneIn(4) ? 2 : 1) {
            let kind = depth > 0 ? random.below(8) : 7
            switch kind {
            case 0, 1, 2:
                let items = (0..<random.below(4)).map { _ in selector(depth - 1, &random) }
                object[random.element(of: ["$and", "$or", "$nor"])] = .array(items)
            case 3: object["$not"] = selector(depth - 1, &random)
            default: object[path(&random)] = condition(depth, &random)
            }
        }
        return .object(object)
    }

    static func path(_ random: inout SeededRandom) -> String {
        let path = random.element(of: names)
        return random.oneIn(3) ? path + "." + random.element(of: names) : path
    }

    /// What a path leads to in a document, by the plainest rule.
    static func value(_ document: JSONValue, _ path: String) -> JSONValue? {
        path.split(separator: ".").reduce(JSONValue?.some(document)) { value, step in
            if case .array? = value { return Int(step).flatMap { value?[$0] } }
            return value?[String(step)]
        }
    }

    static func condition(_ depth: Int, _ random: inout SeededRandom) -> JSONValue {
        if random.oneIn(5) { return value(0, &random) }
        var object: JSONObject = [:]
        for _ in 0..<(random.oneIn(3) ? 2 : 1) {
            let name = random.element(of: operators(depth))
            object[name] = argument(name, depth, &random)
        }
        return .object(object)
    }

    private static func operators(_ depth: Int) -> [String] {
        [
            "$eq", "$ne", "$lt", "$lte", "$gt", "$gte", "$in", "$nin", "$exists", "$type", "$size",
            "$mod", "$regex", "$beginsWith", "$all",
        ] + (depth > 0 ? ["$not", "$elemMatch", "$allMatch", "$keyMapMatch", "$or"] : [])
    }

    private static func argument(_ name: String, _ depth: Int, _ random: inout SeededRandom)
        -> JSONValue
    {
        switch name {
        case "$in", "$nin", "$all":
            .array((0..<random.below(4)).map { _ in value(1, &random) })
        case "$exists": .bool(random.oneIn(2))
        case "$type":
            .string(
                random.element(of: ["null", "boolean", "number", "string", "array", "object"]))
        case "$size": .integer(Int64(random.below(4)))
        case "$mod": [.integer(Int64(random.below(3)) + 1), .integer(Int64(random.below(2)))]
        case "$regex": "a"
        case "$beginsWith": .string(random.element(of: ["", "a", "A"]))
        case "$or":
            .array((0..<random.below(3)).map { _ in nonEmpty(depth - 1, &random) })
        case "$not": nonEmpty(depth - 1, &random)
        case "$elemMatch", "$allMatch", "$keyMapMatch":
            random.oneIn(2) ? nonEmpty(depth - 1, &random) : selector(depth - 1, &random)
        default: value(2, &random)
        }
    }

    /// Conditions on the value itself.
    private static func nonEmpty(_ depth: Int, _ random: inout SeededRandom) -> JSONValue {
        let name = random.element(of: operators(depth))
        return .object([name: argument(name, depth, &random)])
    }
}
