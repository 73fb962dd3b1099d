// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

@Suite struct UpdateTests {
    private let database: Database

    init() throws { database = try Database.inMemory() }

    @Test func `update reads, edits and saves`() throws {
        try database.create("a", ["n": 1, "kept": true])
        let saved = try database.update("a") { $0["n"] = 2 }
        #expect(saved.generation == 2)
        #expect(try database.existing("a").properties == ["n": 2, "kept": true])
    }

    @Test func `update tries again until nobody else was faster`() throws {
        try database.create("a", ["n": 0])
        var calls = 0
        try database.update("a") { document in
            calls += 1
            if calls <= 3 {
                try database.write { transaction in
                    let other = try #require(try transaction.document(withID: "a")).toMutable()
                    other["n"] = Fragment(other.int(forKey: "n") + 10)
                    _ = try transaction.save(other)
                }
            }
            document["n"] = Fragment(document.int(forKey: "n") + 1)
        }
        #expect(calls == 4)
        #expect(try database.existing("a")["n"].int == 31)
    }

    @Test func `an error in the edit leaves the document unchanged`() throws {
        try database.create("a", ["n": 1])
        #expect(throws: Whim()) {
            try database.update("a") { document in
                document["n"] = 2
                throw Whim()
            }
        }
        #expect(try database.existing("a")["n"].int == 1)
    }

    @Test func `a document that is missing or deleted cannot be updated`() throws {
        #expect(code { try database.update("a") { _ in } } == .documentNotFound)
        try database.create("a")
        try database.delete("a")
        #expect(code { try database.update("a") { _ in } } == .documentNotFound)
        #expect(code { try database.write { try $0.update("a") { _ in } } } == .documentNotFound)
    }

    @Test func `an update that edits nothing makes no revision`() throws {
        let document = try database.create("a")
        #expect(try database.update("a") { _ in } == document)
    }

    @Test func `updates of many threads are all counted`() throws {
        try database.create("a", ["n": 0])
        let work = (0..<4).map { _ in
            Running { [database] in
                for _ in 0..<50 {
                    try database.update("a") { $0["n"] = Fragment($0.int(forKey: "n") + 1) }
                }
            }
        }
        for one in work { _ = try one.value() }
        #expect(try database.existing("a")["n"].int == 200)
        #expect(try database.existing("a").generation == 201)
    }

    @Test func `a transaction updates what it has written`() throws {
        try database.write { transaction in
            _ = try transaction.save(MutableDocument(["n": 1], id: "a"))
            _ = try transaction.update("a") { $0["n"] = 2 }
        }
        #expect(try database.existing("a")["n"].int == 2)
    }

    @Test func `a document at the last generation cannot be updated and says so`() throws {
        let revision: RevisionID = "\(RevisionID.maximumGeneration)-abc"
        try database.putExistingRevision("a", ["n": 1], history: [revision])
        #expect(code { try database.update("a") { $0["n"] = 2 } } == .invalidDocument)
        #expect(code { try database.delete("a") } == .invalidDocument)
        #expect(try database.existing("a")["n"].int == 1)
    }
}
