// SPDX-License-Identifier: Apache-2.0

import DivanJSON
internal import DivanModel
import DivanPlatform
import Testing

@testable import DivanDatabase
@testable import DivanQuery

/// Texts made of several others: no two lists of parts have one text.
@Suite struct JoinedKeyTests {
    /// Texts that look like parts of a signature, or like each other.
    private static let texts = [
        "", "*", "1", "a", "a b", "b c", "c", "and", "and reduce", "reduce", "reduce * 1", "* 1",
        "2", "and reduce 2", "=1", "1:a", "1:a 1", "4:post", "x31", "xc3a9", "\u{E9}", "e\u{301}",
        "\u{212B}",
        "A\u{30A}",
    ]

    private func signature(
        _ type: String?, _ version: String, _ collation: Collation = .unicode,
        reducer: (any ViewReducer)? = nil
    ) -> String {
        IndexDefinition(
            name: IndexName(.view, "v"), version: version, collation: collation,
            documentType: type, map: { _, _ in }, reducer: reducer
        ).signature
    }

    @Test func `no two definitions of an index have one signature`() {
        var signatures: [String] = []
        for type in Self.texts.map(Optional.some) + [nil] {
            for version in Self.texts {
                for collation in [Collation.unicode, .raw] {
                    signatures.append(signature(type, version, collation))
                    for reduce in [Reduce.count, .statistics] {
                        signatures.append(
                            signature(type, version, collation, reducer: reduce.reducer))
                    }
                }
            }
        }
        // As texts, which Swift compares by what they look like, and byte for byte.
        #expect(Set(signatures).count == signatures.count)
        #expect(Set(signatures.map { Array($0.utf8) }).count == signatures.count)
    }

    @Test(arguments: [("a", "b c", "a b", "c"), ("\u{E9}", "1", "e\u{301}", "1")])
    func `a view whose type and version change is built anew`(
        _ type: String, _ version: String, _ otherType: String, _ otherVersion: String
    ) throws {
        let database = try Database.inMemory()
        try database.create("one", ["type": .string(type)])
        try database.create("other", ["type": .string(otherType)])
        let view = database.view(named: "v")
        view.documentType = type
        view.setMap(version: version) { document, emit in emit(document["_id"]) }
        let before = try view.query().run().map(\.documentID)
        view.documentType = otherType
        view.setMap(version: otherVersion) { document, emit in emit(document["_id"]) }
        let after = try view.query().run().map(\.documentID)
        // Types are compared by their bytes, also those that look the same.
        #expect(before == ["one"])
        #expect(after == ["other"])
        #expect(try !view.isStale)
    }

    @Test func `a version that looks the same and is another builds the view anew`() throws {
        let database = try Database.inMemory()
        try database.create("a")
        let view = database.view(named: "v")
        view.setMap(version: "\u{E9}") { _, emit in emit(1) }
        #expect(try view.query().run().map(\.key) == [1])
        view.setMap(version: "e\u{301}") { _, emit in emit(2) }
        #expect(try view.query().run().map(\.key) == [2])
    }

    @Test func `indexes on other properties have other names`() {
        let indexes = [
            PropertyIndex(on: "a", "b"), PropertyIndex(on: "a, b"), PropertyIndex(on: "a,b"),
            PropertyIndex(on: "a", "b", collation: .raw), PropertyIndex(on: "a", "b (raw)"),
            PropertyIndex(on: "\"a, b\""), PropertyIndex(on: "a", ""), PropertyIndex(on: "a"),
            PropertyIndex(on: "", "a"), PropertyIndex(on: "a", "\""),
        ]
        #expect(Set(indexes.map(\.name)).count == indexes.count, "\(indexes.map(\.name))")
        #expect(indexes[0].name == "a, b")
        #expect(indexes[3].name == "a, b (raw)")
        #expect(indexes[1].name == "\"a, b\"")
    }

    @Test func `an index on properties that look the same is another one`() throws {
        let database = try Database.inMemory()
        let (one, other) = ("\u{E9}", "e\u{301}")
        #expect(try database.createIndex(PropertyIndex(named: "i", on: one)))
        #expect(try !database.createIndex(PropertyIndex(named: "i", on: one)))
        #expect(try database.createIndex(PropertyIndex(named: "i", on: other)))
    }

    @Test func `queries of other parts have other fingerprints`() {
        let lists = [["a", "b"], ["a\nb"], ["a\",\"b"], ["a", "b", ""], ["", "a", "b"], ["ab"]]
        #expect(Set(lists.map(FindBookmark.fingerprint)).count == lists.count)
    }

    @Test func `the name of an index comes back from its key`() {
        for name in Self.texts + ["/", "a/b", "/a", "a/", "//", "\u{301}a"] {
            let made = IndexName(.view, name)
            #expect(IndexName(key: made.key.span) == made, "'\(name)'")
        }
        #expect(IndexName(key: Array("other/a".utf8).span) == nil)
    }
}
