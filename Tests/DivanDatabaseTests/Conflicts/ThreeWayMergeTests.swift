// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

@Suite struct ThreeWayMergeTests {
    @Test(arguments: GoldenScript.all(in: "merges"))
    func `merges are what their scripts say`(script: GoldenScript) throws {
        try script.run(with: MergeInterpreter())
    }

    @Test func `merges of two sides equal a naive reference`() {
        for round in Soak.rounds(test: 2_000, soak: 200_000) {
            var random = Soak.random(round: round, salt: 41)
            let ancestor = random.oneIn(8) ? nil : Self.object(3, &random)
            let (mine, theirs) = (
                Self.edited(ancestor ?? [:], 3, &random), Self.edited(ancestor ?? [:], 3, &random)
            )
            #expect(
                ThreeWayMerge.merge(ancestor: ancestor, sides: [mine, theirs])
                    == Self.reference(ancestor, mine, theirs),
                "seed \(Soak.seed), round \(round)")
        }
    }

    @Test func `sides that changed nothing or the same thing make no difference`() {
        for round in Soak.rounds(test: 1_000, soak: 100_000) {
            var random = Soak.random(round: round, salt: 42)
            let ancestor = Self.object(3, &random)
            let sides = (0..<3).map { _ in Self.edited(ancestor, 3, &random) }
            let merged = ThreeWayMerge.merge(ancestor: ancestor, sides: sides)
            var more = sides
            more.insert(ancestor, at: random.below(4))
            more.append(random.element(of: sides))
            #expect(
                ThreeWayMerge.merge(ancestor: ancestor, sides: more) == merged,
                "seed \(Soak.seed), round \(round)")
        }
    }

    @Test func `what all sides leave alone stays and what one side wrote is not lost`() {
        for round in Soak.rounds(test: 1_000, soak: 100_000) {
            var random = Soak.random(round: round, salt: 43)
            let ancestor = Self.object(3, &random)
            let sides = (0..<(2 + random.below(3))).map { _ in Self.edited(ancestor, 3, &random) }
            let merged = ThreeWayMerge.merge(ancestor: ancestor, sides: sides)
            for key in Set(([ancestor] + sides).flatMap(\.keys)) {
                let writers = sides.filter { $0[key] != ancestor[key] }
                if writers.isEmpty { #expect(merged[key] == ancestor[key]) }
                if writers.contains(where: { $0[key] != nil }) { #expect(merged[key] != nil) }
                if writers.count == 1 { #expect(merged[key] == writers[0][key]) }
            }
        }
    }

    @Test func `keys that only look alike are different properties`() {
        let merged = ThreeWayMerge.merge(
            ancestor: [:], sides: [["\u{E9}": 1], ["e\u{301}": 2]])
        #expect(merged["\u{E9}"] == 1)
        #expect(merged["e\u{301}"] == 2)
        #expect(merged.count == 2)
    }

    // MARK: - The reference

    /// The rules for two sides, case by case.
    private static func reference(
        _ ancestor: JSONObject?, _ mine: JSONObject, _ theirs: JSONObject
    ) -> JSONObject {
        var merged: JSONObject = [:]
        for key in Set((ancestor?.keys ?? []) + mine.keys + theirs.keys) {
            let (a, m, t) = (ancestor?[key], mine[key], theirs[key])
            let value: JSONValue?
            if m == t || t == a {
                value = m
            } else if m == a || m == nil {
                value = t
            } else if t == nil {
                value = m
            } else if let mo = m?.object, let to = t?.object, mo["@type"] == nil,
                to["@type"] == nil, a == nil || (a?.object.map { $0["@type"] == nil } ?? false)
            {
                value = .object(reference(a?.object ?? [:], mo, to))
            } else {
                value = m
            }
            merged[key] = value
        }
        return merged
    }

    // MARK: - Random objects, of few keys and values, so that edits meet

    private static func object(_ depth: Int, _ random: inout SeededRandom) -> JSONObject {
        var object: JSONObject = [:]
        for key in ["a", "b", "c", "d", "@type"] where random.oneIn(key == "@type" ? 20 : 2) {
            object[key] = key == "@type" ? "blob" : value(depth - 1, &random)
        }
        return object
    }

    private static func value(_ depth: Int, _ random: inout SeededRandom) -> JSONValue {
        switch random.below(depth > 0 ? 6 : 3) {
        case 0: .integer(Int64(random.below(3)))
        case 1: .null
        case 2: .array([.integer(Int64(random.below(2)))])
        default: .object(object(depth, &random))
        }
    }

    private static func edited(
        _ original: JSONObject, _ depth: Int, _ random: inout SeededRandom
    ) -> JSONObject {
        var object = original
        for key in ["a", "b", "c", "d"] where random.oneIn(3) {
            if random.oneIn(4) {
                object[key] = nil
            } else if depth > 0, let inner = object[key]?.object {
                object[key] = .object(edited(inner, depth - 1, &random))
            } else {
                object[key] = value(depth - 1, &random)
            }
        }
        return object
    }
}

/// The commands of `Tests/Scripts/merges`: the ancestor, the winner, the others, each as JSON.
private struct MergeInterpreter: ScriptInterpreter {
    private var ancestor: JSONObject?
    private var sides: [JSONObject] = []

    mutating func run(_ command: ScriptCommand) throws -> [String] {
        let json = String(command.text.dropFirst(command.name.count))
        let object = try JSONParser.parse(Array(json.utf8).span).object
        guard let object else { throw ScriptCommand.Unknown(command) }
        switch command.name {
        case "ancestor": ancestor = object
        case "winner": sides.insert(object, at: 0)
        case "other": sides.append(object)
        default: throw ScriptCommand.Unknown(command)
        }
        return []
    }

    mutating func endBlock() -> [String] {
        defer { (ancestor, sides) = (nil, []) }
        let merged = ThreeWayMerge.merge(ancestor: ancestor, sides: sides, generation: 9)
        return [PackedValue(.object(merged)).jsonText]
    }
}
