// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanQuery
import DivanTestSupport
import Testing

/// A query that says itself what is read, as a listener does for CouchDB's clients.
@Suite struct ReadingInOrderTests {
    private let database: Database

    init() throws {
        database = try Database.inMemory()
        try database.inBatch {
            // Bytes put "B" before "a"; people do not.
            for (number, id) in ["B", "a", "c", "D", "e"].enumerated() {
                try database.create(
                    DocumentID(id), ["n": .integer(Int64(9 - number))])
            }
            try database.create("without", ["m": 1])
        }
        try database.createIndex(PropertyIndex(on: "n"))
    }

    private func found(
        _ selector: JSONValue, _ configure: (inout FindQuery) -> Void
    ) throws -> String {
        try database.find(selector: selector) {
            $0.readsInOrder = true
            configure(&$0)
        }.run().map(\.id.text).joined(separator: " ")
    }

    @Test func `an index is read in its order however little it narrows down`() throws {
        let all = try found(["n": ["$exists": true]]) {
            $0.useIndex = "n"
            $0.sort = [.ascending("n")]
        }
        #expect(all == "e D c a B")
        let last = try found(["n": ["$gt": 5]]) {
            $0.useIndex = "n"
            $0.sort = [.descending("n")]
            $0.limit = 2
        }
        #expect(last == "B a")
        #expect(
            try found(["n": ["$gt": 5, "$lt": 5]]) {
                $0.useIndex = "n"
                $0.sort = [.ascending("n")]
            } == "")
    }

    @Test func `without an index documents come by the bytes of their IDs, whatever is read`()
        throws
    {
        for (sort, ids) in [
            (SortKey.ascending("_id"), "B D e"), (.descending("_id"), "e D B"),
        ] {
            let either: JSONValue = ["$or": [["n": 9], ["n": 6], ["n": 5]]]
            #expect(try found(either) { $0.sort = [sort] } == ids)
            var (pages, bookmark) = ([String](), String?.none)
            repeat {
                var query = try database.find(selector: either)
                (query.readsInOrder, query.sort) = (true, [sort])
                (query.limit, query.bookmark) = (1, bookmark)
                let page = try query.run()
                pages += page.map(\.id.text)
                bookmark = page.bookmark
            } while bookmark != nil && pages.count < 9
            #expect(pages.joined(separator: " ") == ids)
        }
    }

    @Test func `an index that is read does not know whether a value is too long for a key`() throws
    {
        let long = String(repeating: "z", count: 5_000)
        for id: DocumentID in ["y", "x"] {
            try database.create(id, ["n": .string(id == "x" ? long : long + "a")])
        }
        let texts = try found(["n": ["$gt": 6]]) {
            $0.useIndex = "n"
            $0.sort = [.ascending("n")]
        }
        #expect(texts == "c a B x y")
    }

    @Test func `conflicts are a property where they are asked for`() throws {
        try database.putExistingRevision("a", ["n": 0], history: [RevisionID("1-00")])
        let selector: JSONValue = ["_conflicts": ["$elemMatch": ["$eq": "1-00"]]]
        #expect(try found(selector) { $0.sort = [.ascending("_id")] } == "")
        let seen = try found(selector) {
            $0.sort = [.ascending("_id")]
            $0.seesConflicts = true
        }
        #expect(seen == "a")
    }

    @Test func `a bookmark of another way is told from one of the query`() throws {
        var query = try database.find(selector: ["n": ["$exists": true]])
        #expect(query.isBookmarkValid)
        query.limit = 1
        let bookmark = try query.run().bookmark
        query.bookmark = bookmark
        #expect(query.isBookmarkValid)
        query.sort = [.ascending("n")]
        #expect(!query.isBookmarkValid)
        query.bookmark = "x"
        #expect(!query.isBookmarkValid)
    }

    @Test(arguments: ["\\$ref", "\\$ref.\\$x", "a$b", "a\\$b"])
    func `a backslash takes a dollar sign as it is`(path: String) throws {
        try database.create("dollar", ["$ref": ["$x": 1], "a$b": 1])
        #expect(try database.find(selector: [path: ["$exists": true]]).run().count == 1)
        try database.createIndex(PropertyIndex(on: path))
        #expect(
            try database.find(selector: [path: ["$gt": 0]]) { $0.sort = [.ascending(path)] }
                .run().first?.id == "dollar")
    }
}
