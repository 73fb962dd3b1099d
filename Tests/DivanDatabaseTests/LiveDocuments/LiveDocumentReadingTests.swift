// SPDX-License-Identifier: Apache-2.0

import Divan
@testable import DivanDatabase
import DivanTestSupport
import Testing

/// What a live document shows, and when it reads.
@Suite struct LiveDocumentReadingTests {
    private let database: Database

    init() throws { database = try Database.inMemory() }

    @Test func `a document that does not exist is empty and has no revision`() throws {
        let document = try database["a"]
        #expect(!document.exists && !document.isDeleted && !document.isGone)
        #expect(!document.isConflicted)
        #expect(document.currentRevision == nil && document.currentRevisionID == nil)
        #expect(document.properties == [:] && document.userProperties == [:])
        #expect(document.keys == [] && document.count == 0 && document.sequence == 0)
        #expect(!document["title"].exists && document.property(forKey: "title") == nil)
        #expect(try document.revisionHistory == [] && document.leafRevisions == [])
        #expect(try document.conflictingRevisions == [])
        #expect(try document.revision(withID: "1-a") == nil)
        #expect(document.loadFailure == nil)
        #expect(try database.existingLiveDocument(withID: "a") == nil)
    }

    @Test func `properties come with _id and _rev and are those of the current revision`() throws {
        let saved = try database.create("a", ["title": "Little, Big", "year": 1982])
        let document = try #require(try database.existingLiveDocument(withID: "a"))
        #expect(
            document.properties == [
                "_id": "a", "_rev": .string(saved.revisionID.description), "title": "Little, Big",
                "year": 1982,
            ])
        #expect(document.properties == document.currentRevision?.properties)
        #expect(document.userProperties == ["title": "Little, Big", "year": 1982])
        #expect(document.keys == ["_id", "_rev", "title", "year"] && document.count == 4)
        #expect(document.keys == document.properties.map(\.key))
        #expect(document.currentRevisionID == saved.revisionID)
        #expect(document.sequence == saved.sequence)
    }

    @Test func `a property can be had in any of the usual ways`() throws {
        try database.create("a", ["title": "Tao", "n": 3, "deep": ["list": [1, 2]], "no": nil])
        let document = try database["a"]
        #expect(document["title"].string == "Tao")
        #expect(document.property(forKey: "title") == "Tao")
        #expect(document.properties["title"] == "Tao")
        #expect(document.string(forKey: "title") == "Tao" && document.int(forKey: "n") == 3)
        #expect(document["deep"]["list"][1].int == 2)
        #expect(document["no"].isNull && document.contains("no"))
        #expect(!document["missing"].exists && document.int(forKey: "missing") == 0)
        #expect(document["_id"].string == "a")
        #expect(document["_rev"].string == document.currentRevisionID?.description)
        #expect(!document["_deleted"].exists)
    }

    @Test func `nothing is read before it is asked for and then once`() throws {
        try database.create("a", ["n": 1])
        let document = try database["a"]
        #expect(document.cache.newest == nil)
        #expect(document["n"].int == 1)
        let loaded = try #require(document.cache.newest?.contents)
        for _ in 0..<1_000 { _ = document["n"].int }
        #expect(document.cache.newest?.contents === loaded)
        // A commit that concerns another document leaves it alone, one that does not is noticed.
        try database.create("b")
        #expect(document["n"].int == 1)
        #expect(document.cache.newest?.contents === loaded)
        try database.update("a") { $0["n"] = 2 }
        #expect(document["n"].int == 2)
        #expect(document.cache.newest?.contents !== loaded)
    }

    @Test func `many who ask at once read once`() async throws {
        try database.create("a", ["n": 1])
        for _ in 0..<20 {
            let document = try database["a"]
            let contents = await withTaskGroup(of: ObjectIdentifier?.self) { group in
                for _ in 0..<16 {
                    group.addTask {
                        (try? document.snapshot())?.contents.map { ObjectIdentifier($0) }
                    }
                }
                var contents: Set<ObjectIdentifier?> = []
                for await one in group { contents.insert(one) }
                return contents
            }
            #expect(contents.count == 1)
        }
    }

    @Test func `loading ahead reads and tells why it cannot`() throws {
        try database.create("a", ["n": 1])
        let document = try database["a"]
        try document.load()
        #expect(document.cache.newest?.contents?.document["n"].int == 1)
        let closed = try Database.inMemory()
        let never = try closed["a"]
        closed.close()
        #expect(code { try never.load() } == .databaseClosed)
        #expect(never.properties == [:])
        #expect(never.loadFailure?.code == .databaseClosed)
    }

    @Test func `a look from inside a read closure does not hold the document back`() throws {
        let sandbox = Sandbox()
        let database = try sandbox.database()
        try database.create("a", ["n": 1])
        let document = try database["a"]
        //     this thread                   another one
        //     read: begins
        //       sees 1                      saves 2
        //       sees 1 in its moment
        let seen = try database.read { transaction -> [Int?] in
            let first = document["n"].int
            _ = try Running { try database.update("a") { $0["n"] = 2 } }.value()
            let then = try transaction.document(withID: "a")?["n"].int
            _ = document["n"].int
            return [first, then]
        }
        #expect(seen == [1, 1])
        #expect(document["n"].int == 2)
    }
}
