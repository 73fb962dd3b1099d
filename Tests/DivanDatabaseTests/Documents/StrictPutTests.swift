// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

/// `put`, which asks for exactly the right parent.
@Suite struct StrictPutTests {
    private let database: Database

    init() throws { database = try Database.inMemory() }

    @Test func `without a parent a document is created once`() throws {
        #expect(try database.put("a", ["n": 1], parent: nil).generation == 1)
        #expect(code { try database.put("a", ["n": 2], parent: nil) } == .conflict)
    }

    @Test func `with its leaf as parent a document is replaced`() throws {
        let first = try database.put("a", ["n": 1, "gone": true], parent: nil)
        let second = try database.put("a", ["n": 2], parent: first.revisionID)
        #expect(second.generation == 2)
        #expect(try database.existing("a").properties == ["n": 2])
    }

    @Test func `a stale or unknown parent is a conflict`() throws {
        let first = try database.put("a", ["n": 1], parent: nil)
        try database.put("a", ["n": 2], parent: first.revisionID)
        #expect(code { try database.put("a", ["n": 3], parent: first.revisionID) } == .conflict)
        #expect(code { try database.put("a", ["n": 3], parent: "7-unknown") } == .conflict)
        #expect(code { try database.put("a", ["n": 3], parent: "nonsense") } == .invalidID)
        #expect(code { try database.put("b", ["n": 3], parent: "1-a") } == .documentNotFound)
        #expect(
            code { try database.put("b", [:], parent: "1-a", options: .tombstone) }
                == .documentNotFound)
        #expect(try database.lastSequence == 2)
    }

    @Test func `a document may begin with a tombstone, which is no second deletion`() throws {
        let tombstone = try database.put("a", ["why": "gone"], parent: nil, options: .tombstone)
        #expect(tombstone.isDeleted && tombstone.generation == 1)
        #expect(try database.document(withID: "a") == nil)
        #expect(try database.documentCount == 0)
        #expect(try database.read { try $0.deletedDocumentCount } == 1)
        #expect(try database.changes().changes.map(\.isDeleted) == [true])
        // As in CouchDB: what is deleted already is no document to delete, and may be made anew.
        #expect(code { try database.put("a", [:], parent: nil, options: .tombstone) } == .conflict)
        #expect(try database.put("a", [:], parent: nil).generation == 2)
        #expect(code { try database.put("a", [:], parent: nil, options: .tombstone) } == .conflict)
        #expect(code { try database.delete("never") } == .documentNotFound)
    }

    @Test func `the same put made twice is one revision`() throws {
        let first = try database.put("a", ["n": 1], parent: nil)
        let second = try database.put("a", ["n": 2], parent: first.revisionID)
        let again = try database.put("a", ["n": 2], parent: first.revisionID)
        #expect(again == second)
        #expect(again.sequence == second.sequence)
        #expect(try database.lastSequence == 2)
    }

    @Test func `the same put made again is stale once something was made from it`() throws {
        let first = try database.put("a", ["n": 1], parent: nil)
        let second = try database.put("a", ["n": 2], parent: first.revisionID)
        try database.put("a", ["n": 3], parent: second.revisionID)
        #expect(code { try database.put("a", ["n": 2], parent: first.revisionID) } == .conflict)
        // A branch that is made on purpose may be there already.
        let branch = try database.put(
            "a", ["n": 2], parent: first.revisionID, options: .allowConflict)
        #expect(branch.revisionID == second.revisionID)
        #expect(try database.lastSequence == 3)
    }

    @Test func `a conflict can be made on purpose`() throws {
        let first = try database.put("a", ["n": 1], parent: nil)
        try database.put("a", ["n": 2], parent: first.revisionID)
        let branch = try database.put(
            "a", ["n": 3], parent: first.revisionID, options: .allowConflict)
        #expect(branch.generation == 2)
        #expect(try database.conflictingRevisions(of: "a").count == 2)
    }

    @Test func `a deleted document is created anew below its tombstone`() throws {
        let first = try database.put("a", ["n": 1], parent: nil)
        let tombstone = try database.put("a", [:], parent: first.revisionID, options: .tombstone)
        #expect(tombstone.isDeleted)
        #expect(try database.put("a", ["n": 2], parent: nil).generation == 3)
    }
}
