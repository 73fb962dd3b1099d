// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

@Suite struct DocumentTests {
    private let database: Database

    init() throws { database = try Database.inMemory() }

    @Test func `a document reads back what was saved`() throws {
        let properties: JSONObject = [
            "null": nil, "yes": true, "no": false, "integer": 9_007_199_254_740_993,
            "least": .integer(.min), "greatest": .unsigned(.max), "double": 0.1, "minus zero": -0.0,
            "text": "d\u{ED}v\u{E1}n \u{1F6CB}", "": "an empty key", "\u{D8}": "\u{0}",
            "list": [1, "two", [3, []]], "object": ["deep": ["deeper": [:]]],
        ]
        try database.create("a", properties)
        #expect(try database.existing("a").properties == properties)
    }

    @Test(arguments: ["1e400", "-123456789012345678901234567890", "1.0", "1", "-0.0", "5e-324"])
    func `numbers keep what JSON said`(number: String) throws {
        try database.save(MutableDocument(json: "{\"n\":\(number)}", id: "a"))
        #expect(try database.existing("a")["n"].value == (try JSONParser.parse(number)))
    }

    @Test func `a document that does not exist is nil`() throws {
        #expect(try database.document(withID: "nowhere") == nil)
        #expect(try !database.contains("nowhere"))
    }

    @Test func `a deleted document is nil but its tombstone can be read by revision`() throws {
        try database.create("a")
        let tombstone = try database.delete("a")
        #expect(try database.document(withID: "a") == nil)
        #expect(try !database.contains("a"))
        let read = try database.document(withID: "a", revision: tombstone.revisionID)
        #expect(read?.isDeleted == true)
        #expect(read == tombstone)
    }

    @Test func `contains tells whether a document is there`() throws {
        #expect(try !database.contains("a"))
        try database.create("a")
        #expect(try database.contains("a"))
        try database.delete("a")
        #expect(try !database.contains("a"))
    }

    @Test func `each save gives another revision ID of the next generation`() throws {
        let document = MutableDocument(["n": 0], id: "a")
        var seen: Set<String> = []
        for generation in 1...10 {
            document["n"] = Fragment(generation)
            let saved = try database.save(document).document
            #expect(saved.generation == UInt64(generation))
            #expect(saved.revisionID.description.hasPrefix("\(generation)-"))
            seen.insert(saved.revisionID.description)
        }
        #expect(seen.count == 10)
        #expect(try database.revisionHistory(of: "a").count == 10)
        #expect(try database.revisionHistory(of: "a").first == document.revisionID)
    }

    @Test func `the same edit in two databases makes the same revision`() throws {
        let other = try Database.inMemory()
        for target in [database, other] {
            try target.create("a", ["z": 1, "a": [2.5, nil]])
            try target.update("a") { $0["done"] = true }
        }
        #expect(
            try database.existing("a").revisionID == other.existing("a").revisionID)
    }

    @Test func `a document is a snapshot that later saves do not change`() throws {
        let before = try database.create("a", ["n": 1])
        try database.update("a") { $0["n"] = 2 }
        #expect(before.int(forKey: "n") == 1)
        #expect(try database.existing("a").int(forKey: "n") == 2)
    }

    @Test func `an old revision can be read as long as its body is here`() throws {
        let first = try database.create("a", ["n": 1])
        try database.update("a") { $0["n"] = 2 }
        let read = try database.document(withID: "a", revision: first.revisionID)
        #expect(read?["n"].int == 1)
        #expect(read?.sequence == first.sequence)
    }

    @Test func `a revision that the document does not have is an error`() throws {
        let revision: RevisionID = "1-\(String(repeating: "0", count: 32))"
        try database.create("a")
        #expect(
            code { try database.document(withID: "a", revision: revision) } == .revisionNotFound)
        #expect(try database.document(withID: "b", revision: revision) == nil)
        #expect(code { try database.document(withID: "a", revision: "x") } == .invalidID)
    }

    @Test func `keys come in the order of UTF-16 and count tells how many`() throws {
        let document = try database.create("a", ["b": 1, "a": 2, "\u{FF5E}": 3, "\u{1F600}": 4])
        #expect(document.keys == ["a", "b", "\u{1F600}", "\u{FF5E}"])
        #expect(document.count == 4)
    }

    @Test func `JSON text has the properties and nothing else`() throws {
        let document = try database.create("a", ["b": [1, 2.0], "a": "x"])
        #expect(document.toJSON() == #"{"a":"x","b":[1,2.0]}"#)
    }

    @Test func `documents are equal when ID and revision are`() throws {
        let first = try database.create("a", ["n": 1])
        #expect(try database.existing("a") == first)
        #expect(try database.create("b", ["n": 1]) != first)
        try database.update("a") { $0["n"] = 2 }
        #expect(try database.existing("a") != first)
    }

    @Test func `the description has no content`() throws {
        let document = try database.create("a", ["secret": "swordfish"])
        #expect(document.description == "Document(a \(document.revisionID))")
    }

    @Test func `all types of documents live in one database`() throws {
        try database.create("t", ["type": "task"])
        try database.create("p", ["type": "person"])
        #expect(try database.existing("t").string(forKey: "type") == "task")
        #expect(try database.existing("p").string(forKey: "type") == "person")
    }
}
