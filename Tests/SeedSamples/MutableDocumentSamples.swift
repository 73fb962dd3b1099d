// SPDX-License-Identifier: Apache-2.0

import Divan
import FoundationEssentials
import Testing

/// The samples of the guides to documents of version 2.x.
@Suite struct MutableDocumentSamples {
    private let sample: Sample
    private var database: Database { sample.database }

    init() throws { sample = try Sample() }

    @Test func `a document is made from a dictionary or by setting properties, and saved`() throws {
        let now = Date()
        let task = MutableDocument(["type": "task", "owner": "todo"])
        task.set(now, forKey: "createdAt")
        try database.save(task)
        let read = try #require(try database.document(withID: task.id))
        #expect(read.string(forKey: "type") == "task")
        #expect(read.string(forKey: "owner") == "todo")
        let created = try #require(read.date(forKey: "createdAt"))
        #expect(abs(created.timeIntervalSince(now)) < 0.001)
        // In JSON a date is ISO-8601 text.
        #expect(read["createdAt"].string?.hasSuffix("Z") == true)
    }

    @Test func `a document with an ID that exists is refused, and none is nil`() throws {
        try database.save(MutableDocument(id: "xyz"))
        #expect(code { try database.save(MutableDocument(id: "xyz")) } == .conflict)
        #expect(try database.document(withID: "nobody") == nil)
    }

    @Test func `a document that is read is edited by a mutable copy`() throws {
        try database.save(MutableDocument(["name": "pears"], id: "xyz"))
        let document = try #require(try database.document(withID: "xyz"))
        let copy = document.toMutable()
        copy.set("apples", forKey: "name")
        // Edits that are not saved are visible only in the copy.
        #expect(document.string(forKey: "name") == "pears")
        #expect(try database.document(withID: "xyz")?.string(forKey: "name") == "pears")
        try database.save(copy)
        #expect(try database.document(withID: "xyz")?.string(forKey: "name") == "apples")
    }

    @Test func `typed accessors give the type asked for or its default`() throws {
        let document = MutableDocument(["n": 1, "text": "1", "yes": true, "nothing": nil])
        #expect(document.int(forKey: "n") == 1)
        #expect(document.string(forKey: "n") == nil)
        #expect(document.int(forKey: "text") == 0)
        #expect(document.double(forKey: "missing") == 0.0)
        #expect(document.bool(forKey: "yes"))
        #expect(document.contains("nothing") && !document.contains("missing"))
    }

    @Test func `a batch saves many documents as one, which others see whole`() throws {
        try database.inBatch {
            for number in 0..<10 {
                let document = MutableDocument()
                document.set("user", forKey: "type")
                document.set("user \(number)", forKey: "name")
                document.set(false, forKey: "admin")
                try database.save(document)
                #expect(document.string(forKey: "name") == "user \(number)")
            }
        }
        #expect(try database.documentCount == 10)
        struct Stop: Error {}
        #expect(throws: Stop.self) {
            try database.inBatch {
                try database.save(MutableDocument(["type": "user"]))
                throw Stop()
            }
        }
        #expect(try database.documentCount == 10)
    }

    @Test func `an expiration is set, found and taken back`() throws {
        try database.save(MutableDocument(id: "doc123"))
        try database.save(MutableDocument(id: "doc1"))
        try database.setExpiration(of: "doc123", at: Date(timeIntervalSinceNow: 86_400))
        try database.setExpiration(of: "doc1", after: .seconds(240))
        let soon = Date(timeIntervalSinceNow: 5 * 60)
        #expect(try database.documentsExpiring(before: soon).map(\.documentID) == ["doc1"])
        try database.setExpiration(of: "doc1", at: nil)
        #expect(try database.documentsExpiring(before: soon).isEmpty)
        #expect(try database.expirationDate(of: "doc123") != nil)
    }
}
