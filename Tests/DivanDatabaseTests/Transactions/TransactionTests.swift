// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

@Suite struct TransactionTests {
    private let database: Database

    init() throws { database = try Database.inMemory() }

    @Test func `write commits when its closure returns and returns its value`() throws {
        let sequence = try database.write { transaction in
            try transaction.save(MutableDocument(id: "a")).document.sequence
        }
        #expect(sequence == 1)
        #expect(try database.contains("a"))
    }

    @Test func `write undoes everything when its closure throws`() throws {
        #expect(throws: Whim()) {
            try database.write { transaction in
                _ = try transaction.save(MutableDocument(id: "a"))
                _ = try transaction.put("b", [:], parent: nil)
                _ = try transaction.putExistingRevision("c", [:], history: ["1-c"])
                try transaction.putLocalDocument("l", [:])
                throw Whim()
            }
        }
        #expect(try database.lastSequence == 0)
        #expect(try database.localDocument("l") == nil)
    }

    @Test func `a write transaction does all that the database does`() throws {
        try database.write { transaction in
            let document = try transaction.save(MutableDocument(["n": 1], id: "a")).document
            _ = try transaction.update("a") { $0["n"] = 2 }
            #expect(code { try transaction.delete(document, .failOnConflict) } == .conflict)
            #expect(try transaction.document(withID: "a")?["n"].int == 2)
            #expect(try transaction.revisionTree(of: "a")?.nodes.count == 2)
            _ = try transaction.delete("a")
            #expect(try transaction.document(withID: "a") == nil)
            _ = try transaction.save(MutableDocument(id: "b"))
            #expect(try transaction.purge("b"))
            #expect(try transaction.purge("a", revisions: []) == [])
            try transaction.deleteLocalDocument("l")
            #expect(try transaction.read { try $0.documentCount } == 0)
            let copy = document.toMutable()
            copy["n"] = 3
            let result = try transaction.save(copy) { _, theirs in
                #expect(theirs == nil)
                return true
            }
            #expect(result?.overrode == true)
        }
        #expect(try database.existing("a")["n"].int == 3)
        #expect(try database.problems() == [])
    }

    @Test func `read gives its closure's value and passes its error on`() throws {
        try database.create("a")
        #expect(try database.read { try $0.contains("a") })
        #expect(throws: Whim()) { try database.read { _ in throw Whim() } }
        try database.create("b")
    }

    @Test func `reads may be nested and made inside a write`() throws {
        try database.write { transaction in
            _ = try transaction.save(MutableDocument(id: "a"))
            let count = try database.read { outer in
                try database.read { try $0.documentCount } + (try outer.documentCount)
            }
            #expect(count == 2)
        }
    }
}
