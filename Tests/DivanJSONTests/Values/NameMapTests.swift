// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import Testing

struct NameMapTests {
    /// Names that Swift's `==` holds for the same, each beside the next one.
    private static let twins = [
        "\u{E9}", "e\u{301}", "K", "\u{212A}", ";", "\u{37E}", "`", "\u{1FEF}",
    ]

    @Test func `a map keeps the values of names that differ in their bytes only`() {
        var map = NameMap(Self.twins.enumerated().map { ($1, $0) })
        #expect(map.count == Self.twins.count)
        for (place, name) in Self.twins.enumerated() { #expect(map[name] == place) }
        map["e\u{301}"] = nil
        #expect(map["e\u{301}"] == nil && map["\u{E9}"] == 0)
        map["n", default: 40] += 2
        #expect(map.updateValue(7, forKey: "n") == 42)
        #expect(map.removeValue(forKey: "n") == 7)
        #expect(map.mapValues { $0 + 1 }["K"] == 3)
        #expect(map.filter { $0.key.utf8.count == 1 }.sortedByName.map(\.key) == [";", "K", "`"])
    }

    @Test
    func `a literal, pairs and a dictionary make a map, of a name given twice the last counts`() {
        let literal: NameMap = ["a": 1, "\u{E9}": 2, "e\u{301}": 3, "a": 4]
        let given = ["a": 4, "\u{E9}": 2]
        var other = NameMap(given)
        other.merge(["e\u{301}": 3]) { $1 }
        #expect(literal == other)
        #expect(literal.description == #"["a": 4, "e\#u{301}": 3, "\#u{E9}": 2]"#)
        #expect(Set([literal, literal]).count == 1)
    }

    @Test func `a set of names is one by bytes`() {
        let names = NameSet(Self.twins + Self.twins)
        #expect(names.count == Self.twins.count)
        #expect(names.contains("\u{212A}"))
        let others: NameSet = ["e\u{301}", "\u{37E}"]
        #expect(!NameSet(["\u{E9}", ";"]).contains("e\u{301}"))
        #expect(NameSet(["\u{E9}", ";"]).isDisjoint(with: others))
        #expect(names.isSuperset(of: others))
        #expect(names.subtracting(others).count == names.count - 2)
        #expect(names.intersection(others) == others)
        #expect(names.symmetricDifference(others).union(others) == names)
        #expect(
            names.sorted().map { Array($0.utf8) }
                == Self.twins.map { Array($0.utf8) }.sorted {
                    $0.lexicographicallyPrecedes($1)
                })
    }

    private struct Labelled: Hashable {
        @ByBytes var name: String
        @ByBytes var other: String? = nil
        @ByBytes var path: [String] = []
    }

    @Test func `a type whose name is marked is equal only to one with the same bytes`() {
        let one = Labelled(name: "\u{E9}")
        #expect(one == Labelled(name: "\u{E9}"))
        #expect(one != Labelled(name: "e\u{301}"))
        #expect(Labelled(name: "", other: "K") != Labelled(name: "", other: "\u{212A}"))
        #expect(Labelled(name: "", other: nil) != Labelled(name: "", other: ""))
        #expect(
            Labelled(name: "", path: ["a", "K"]) != Labelled(name: "", path: ["a", "\u{212A}"]))
        #expect(Labelled(name: "", path: ["ab"]) != Labelled(name: "", path: ["a", "b"]))
        #expect(Set(Self.twins.map { Labelled(name: $0) }).count == Self.twins.count)
    }

    @Test func `beginnings and ends are found by bytes`() {
        #expect("_design/\u{301}x".hasBytePrefix("_design/"))
        #expect(!"_design/\u{301}x".hasPrefix("_design/"))
        #expect("_design/\u{301}x".afterBytePrefix("_design/") == "\u{301}x")
        #expect("\u{E9}".afterBytePrefix("e") == nil)
        #expect("a.\u{301}b".beforeByteSuffix("\u{301}b") == "a.")
        #expect("x\u{212A}".beforeByteSuffix("K") == nil)
        #expect(!"".hasByteSuffix("a"))
    }
}
