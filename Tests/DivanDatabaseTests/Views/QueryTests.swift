// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

@Suite struct QueryTests {
    private let database: Database
    private let view: DatabaseView

    init() throws {
        database = try Database.inMemory()
        view = database.view(named: "keys")
        view.setMap(version: "1") { document, emit in
            for key in document["keys"].array ?? [] { emit(key, document["value"].value) }
        }
    }

    private func store(_ keys: JSONValue...) throws {
        for (index, key) in keys.enumerated() {
            try database.create(
                "d\(index)", ["keys": [key], "value": .integer(Int64(index))])
        }
    }

    private func keys(_ edit: (inout ViewQuery) -> Void = { _ in }) throws -> [JSONValue] {
        var query = view.query()
        edit(&query)
        return try query.run().map(\.key)
    }

    @Test func `rows come in ascending order of all keys unless told otherwise`() throws {
        try store("b", nil, 2, ["a"], true, 1, "a", [:], false)
        #expect(try keys() == [nil, false, true, 1, 2, "a", "b", ["a"], [:]])
    }

    @Test func `descending reverses the order and the meaning of start and end`() throws {
        try store(80, 90, 95, 100, 110)
        #expect(try keys { $0.descending = true } == [110, 100, 95, 90, 80])
        let best = try keys {
            $0.descending = true
            $0.startKey = 100
            $0.endKey = 90
        }
        #expect(best == [100, 95, 90])
        let wrongWayRound = try keys {
            $0.descending = true
            $0.startKey = 90
            $0.endKey = 100
        }
        #expect(wrongWayRound == [])
    }

    @Test(arguments: [false, true])
    func `start and end may be left out`(descending: Bool) throws {
        try store(1, 2, 3, 4)
        let found = try keys {
            $0.descending = descending
            $0.startKey = descending ? 4 : 1
            $0.endKey = descending ? 1 : 4
            $0.inclusiveStart = false
        }
        #expect(found == (descending ? [3, 2, 1] : [2, 3, 4]))
        let both = try keys {
            $0.descending = descending
            $0.startKey = descending ? 4 : 1
            $0.endKey = descending ? 1 : 4
            $0.inclusiveStart = false
            $0.inclusiveEnd = false
        }
        #expect(both == (descending ? [3, 2] : [2, 3]))
    }

    @Test func `limit and skip cut the result`() throws {
        try store(1, 2, 3, 4, 5)
        #expect(try keys { $0.limit = 2 } == [1, 2])
        #expect(try keys { $0.limit = 0 } == [])
        #expect(try keys { $0.skip = 3 } == [4, 5])
        #expect(try keys { $0.skip = 9 } == [])
        #expect(
            try keys {
                $0.descending = true
                $0.skip = 1
                $0.limit = 2
            } == [4, 3])
        #expect(throws: DatabaseError.self) { try keys { $0.skip = -1 } }
        #expect(throws: DatabaseError.self) { try keys { $0.limit = -1 } }
    }

    @Test func `single keys come in the order given, missing ones not and double ones twice`()
        throws
    {
        try store("a", "b", "b", "c")
        let rows = try view.query(.keys("c", "x", "b", "c")).run()
        #expect(rows.map(\.key) == ["c", "b", "b", "c"])
        #expect(rows.map(\.documentID) == ["d3", "d1", "d2", "d3"])
        var query = view.query(.keys("c", "b", "c"))
        query.skip = 1
        query.limit = 2
        #expect(try query.run().map(\.documentID) == ["d1", "d2"])
    }

    @Test func `document IDs narrow a range of equal keys`() throws {
        try store("k", "k", "k", "k", "l")
        let found = try keysAndIDs {
            $0.startKey = "k"
            $0.startKeyDocumentID = "d1"
            $0.endKey = "k"
            $0.endKeyDocumentID = "d2"
        }
        #expect(found == ["d1", "d2"])
        let open = try keysAndIDs {
            $0.startKey = "k"
            $0.startKeyDocumentID = "d1"
            $0.inclusiveStart = false
            $0.endKey = "k"
            $0.endKeyDocumentID = "d3"
            $0.inclusiveEnd = false
        }
        #expect(open == ["d2"])
        let descending = try keysAndIDs {
            $0.descending = true
            $0.startKey = "k"
            $0.startKeyDocumentID = "d2"
        }
        #expect(descending == ["d2", "d1", "d0"])
    }

    private func keysAndIDs(_ edit: (inout ViewQuery) -> Void) throws -> [DocumentID?] {
        var query = view.query()
        edit(&query)
        return try query.run().map(\.documentID)
    }

    @Test func `prefix matching follows the guide's examples`() throws {
        try store("foo", "foolish", "fong", "fool", "Fop")
        #expect(
            try keys {
                $0.startKey = "foo"
                $0.endKey = "foo"
                $0.prefixMatchLevel = 1
            } == ["foo", "fool", "foolish"])
        try store2([1], [1, "x"], [2], [1, "xtc"], [1, "y"])
        let arrays = try keys {
            $0.startKey = [1]
            $0.endKey = [1]
            $0.prefixMatchLevel = 1
        }
        #expect(arrays == [[1], [1, "x"], [1, "xtc"], [1, "y"]])
        let items = try keys {
            $0.startKey = [1, "x"]
            $0.endKey = [1, "x"]
            $0.prefixMatchLevel = 2
        }
        #expect(items == [[1, "x"], [1, "xtc"]])
        let backwards = try keys {
            $0.descending = true
            $0.startKey = [1, "x"]
            $0.endKey = [1, "x"]
            $0.prefixMatchLevel = 2
        }
        #expect(backwards == [[1, "xtc"], [1, "x"]])
        try database.create("n", ["keys": [7]])
        #expect(
            try keys {
                $0.startKey = 7
                $0.endKey = 7
                $0.prefixMatchLevel = 1
            } == [7])
    }

    @Test(arguments: [Collation.unicode, .ascii, .raw])
    func `a prefix matches whatever goes on, of any type and in any order of keys`(
        _ collation: Collation
    ) throws {
        view.collation = collation
        let texts: [JSONValue] = ["a", "a b", "a😀", "a\u{FFFF}", "az"]
        let arrays: [JSONValue] = [
            ["a"], ["a", nil], ["a", 1], ["a", "x"], ["a", ["y"]], ["a", ["k": 1]],
        ]
        try store("b", ["b"], [], nil, 7)
        try store2(["c", "x"])
        for (index, key) in (texts + arrays).enumerated() {
            try database.create("p\(index)", ["keys": [key]])
        }
        let cases: [(JSONValue, [JSONValue])] = [("a", texts), (["a"], arrays)]
        for (prefix, matched) in cases {
            for isDescending in [false, true] {
                let found = try keys {
                    ($0.startKey, $0.endKey) = (prefix, prefix)
                    $0.prefixMatchLevel = 1
                    $0.descending = isDescending
                }
                #expect(found.count == matched.count && found.allSatisfy(matched.contains))
            }
        }
        let deep = try keys {
            ($0.startKey, $0.endKey) = (["a", ["y"]], ["a", ["y"]])
            $0.prefixMatchLevel = 2
        }
        #expect(deep == [["a", ["y"]]])
    }

    private func store2(_ keys: JSONValue...) throws {
        for (index, key) in keys.enumerated() { try database.create("e\(index)", ["keys": [key]]) }
    }

    @Test func `an empty object ends a range of arrays`() throws {
        try store(["red", "Beetle"], ["blue", "Golf"], ["red", "Zoe"], ["red"], ["redder"])
        let red = try view.query(.range(from: ["red"], through: ["red", [:]])).run()
        #expect(red.map(\.key) == [["red"], ["red", "Beetle"], ["red", "Zoe"]])
    }

    @Test func `a number is found whatever it was written as`() throws {
        try store(1, 1.0, 2, 1.5, -0.0, 0)
        #expect(try view.query(.keys(1)).run().map(\.documentID) == ["d0", "d1"])
        #expect(try view.query(.keys(1.0)).run().map(\.documentID) == ["d0", "d1"])
        #expect(try view.query(.keys(0)).run().count == 2)
        let open = try keys {
            $0.startKey = 1.0
            $0.inclusiveStart = false
        }
        #expect(open == [1.5, 2])
    }

    @Test func `equality of strings is exact`() throws {
        try store("e", "E", "\u{e9}", "e\u{301}")
        #expect(try view.query(.keys("e")).run().count == 1)
        #expect(try view.query(.keys("\u{e9}")).run().map(\.documentID) == ["d2"])
    }

    @Test func `a filter and an order come before skip and limit`() throws {
        try store(1, 2, 3, 4, 5, 6)
        let found = try keys {
            $0.filter = { $0.key.int64.map { $0.isMultiple(of: 2) } ?? false }
            $0.sort = { $0.value?.int64 ?? 0 > $1.value?.int64 ?? 0 }
            $0.skip = 1
            $0.limit = 1
        }
        #expect(found == [4])
    }

    @Test func `an old index may be asked without bringing it up to date`() async throws {
        try store(1, 2)
        #expect(try keys { $0.updateMode = .never } == [])
        #expect(try keys() == [1, 2])
        try database.create("new", ["keys": [3]])
        #expect(try keys { $0.updateMode = .never } == [1, 2])
        #expect(try keys { $0.updateMode = .after } == [1, 2])
        try await eventually { try !view.isStale }
        #expect(try keys { $0.updateMode = .never } == [1, 2, 3])
    }

    @Test func `results tell whether they are stale and whether they are equal`() throws {
        try store(1, 2)
        let first = try view.query().run()
        #expect(try !first.isStale)
        #expect(try view.query().run() == first)
        try database.create("unrelated")
        #expect(try first.isStale)
        #expect(try view.query().run() == first)
        try database.update("d0") { $0["value"] = 9 }
        #expect(try view.query().run() != first)
    }

    @Test func `a result is a collection with random access`() throws {
        try store("a", "b", "c")
        let rows = try view.query().run()
        #expect(rows[1].key == "b")
        #expect(rows.reversed().map(\.key) == ["c", "b", "a"])
        #expect(rows.offset == nil)
        var query = view.query(.range(from: "b"))
        query.skip = 1
        query.includeOffset = true
        #expect(try query.run().offset == 2)
        #expect(rows[0].key(at: 0) == "a")
        #expect(rows[0].key(at: 1) == JSONValue?.none)
        #expect("\(rows[0])" == "QueryRow(d0)")
    }

    @Test func `rows find their documents, then or along with them`() throws {
        try store("a")
        var query = view.query()
        #expect(try query.run().first?.document()?.id == "d0")
        query.includeDocuments = true
        let row = try #require(try query.run().first)
        let plain = try #require(try view.query().run().first)
        #expect(try plain.documentRevisionID == row.documentRevisionID)
        #expect(plain.key0 == "a" && plain.key1 == JSONValue?.none)
        try database.update("d0") { $0["value"] = 5 }
        #expect(row.includedDocument?["value"].int == 0)
        // The included document is of the moment of the query, another one is looked up.
        #expect(try row.documentRevisionID?.generation == 1)
        #expect(try plain.documentRevisionID?.generation == 2)
        #expect(try plain.sequenceNumber == database.lastSequence)
    }

    @Test func `a row tells its source, its revision, the items of its key and its properties`()
        throws
    {
        let redirected = database.view(named: "redirected")
        redirected.setMap(version: "1") { document, emit in
            guard let target = document["target"].string else { return }
            emit(["a", 2, true, "d", "e"] as JSONValue, ["_id": .string(target)] as JSONValue)
        }
        try database.create("target", ["name": "Ann"])
        let source = try database.create("source", ["target": "target"])
        var query = redirected.query()
        let row = try #require(try query.run().first)
        #expect(row.sourceDocumentID == "source" && row.documentID == "target")
        // Revision and sequence are those of the document that emitted the row.
        #expect(try row.documentRevisionID == source.revisionID)
        #expect(try row.sequenceNumber == source.sequence)
        #expect(try row.document()?["name"].string == "Ann")
        #expect([row.key0, row.key1, row.key2, row.key3] == ["a", 2, true, "d"])
        #expect(row.key(at: 4) == "e")
        #expect(row.key(at: 5) == JSONValue?.none && row.key(at: -1) == JSONValue?.none)
        #expect(row.includedDocument == nil)
        query.includeDocuments = true
        #expect(try query.run().first?.includedDocument?.properties == ["name": "Ann"])
        // A row of a key that is no array has that as its first item; a reduced one has no document.
        let plain = try #require(try database.allDocumentsQuery().run().first)
        #expect(plain.key0 == "source" && plain.key1 == JSONValue?.none)
        #expect(try plain.documentRevisionID == source.revisionID)
        redirected.setMap(version: "2", reduce: .count) { document, emit in emit(document.id) }
        let reduced = try #require(try redirected.query().run().first)
        #expect(reduced.sourceDocumentID == nil && reduced.documentID == nil)
        #expect(try reduced.documentRevisionID == nil)
        #expect(try reduced.sequenceNumber == nil)
    }
}
