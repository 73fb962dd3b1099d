// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

@Suite struct DeletionTests {
    private let database: Database

    init() throws { database = try Database.inMemory() }

    @Test func `deleting adds a tombstone without properties`() throws {
        try database.create("a", ["n": 1])
        let tombstone = try database.delete("a")
        #expect(tombstone.isDeleted)
        #expect(tombstone.generation == 2)
        #expect(tombstone.properties == [:])
        #expect(try database.document(withID: "a") == nil)
        #expect(try database.revisionHistory(of: "a").count == 2)
    }

    @Test func `deleting what never was is not found`() throws {
        #expect(code { try database.delete("a") } == .documentNotFound)
        #expect(try database.lastSequence == 0)
    }

    @Test func `deleting a deleted document succeeds and changes nothing`() throws {
        let document = try database.create("a")
        let tombstone = try database.delete(document, .failOnConflict)
        #expect(try database.delete("a") == tombstone)
        #expect(try database.delete(document, .failOnConflict) == tombstone)
        #expect(try database.lastSequence == 2)
    }

    @Test func `deleting a document as it was read conflicts with a later save`() throws {
        let document = try database.create("a")
        try database.update("a") { $0["n"] = 1 }
        #expect(code { try database.delete(document, .failOnConflict) } == .conflict)
        #expect(try database.contains("a"))
        #expect(try database.delete(document).generation == 3)
        #expect(try !database.contains("a"))
    }

    @Test func `a tombstone may keep properties`() throws {
        let document = try database.create("a", ["n": 1])
        let tombstone = try database.put(
            "a", ["deletedAt": "2026-11-21T00:00:00.000Z"], parent: document.revisionID,
            options: .tombstone)
        #expect(tombstone.isDeleted)
        let read = try database.document(withID: "a", revision: tombstone.revisionID)
        #expect(read?.properties == ["deletedAt": "2026-11-21T00:00:00.000Z"])
        // Deleting again gives the same tombstone, with what it keeps.
        #expect(try database.delete("a").properties == tombstone.properties)
    }

    @Test func `a document can be restored from a tombstone that kept its body`() throws {
        let document = try database.create("a", ["n": 1])
        let tombstone = try database.put(
            "a", document.properties, parent: document.revisionID, options: .tombstone)
        let kept = try #require(
            try database.document(withID: "a", revision: tombstone.revisionID))
        let restored = try database.put("a", kept.properties, parent: tombstone.revisionID)
        #expect(restored.generation == 3)
        #expect(try database.existing("a")["n"].int == 1)
    }

    @Test func `deleting a conflicting leaf resolves the conflict`() throws {
        try database.create("a", ["n": 1])
        try database.putExistingRevision("a", ["n": 2], history: ["1-0"])
        let loser = try #require(try database.conflictingRevisions(of: "a").last)
        try database.delete(loser, .failOnConflict)
        #expect(try database.conflictingRevisions(of: "a").count == 1)
        #expect(try !database.hasConflicts())
        #expect(try database.existing("a")["n"].int == 1)
    }

    @Test func `deleting the winner of a conflict makes the loser current`() throws {
        try database.create("a", ["n": 1])
        try database.putExistingRevision("a", ["n": 2], history: ["1-0"])
        try database.delete("a")
        #expect(try database.existing("a")["n"].int == 2)
        #expect(try database.existing("a").revisionID == "1-0")
        try database.delete("a")
        #expect(try database.document(withID: "a") == nil)
        #expect(try database.leafRevisions(of: "a").map(\.isDeleted) == [true, true])
        #expect(try database.problems() == [])
    }

    @Test func `the tombstone of a leaf can be read beside the live winner`() throws {
        try database.create("a", ["n": 1])
        try database.putExistingRevision("a", ["m": 1], history: ["2-f", "1-0"], isDeleted: true)
        #expect(try database.existing("a")["n"].int == 1)
        let leaves = try database.leafRevisions(of: "a")
        #expect(leaves.map(\.isDeleted) == [false, true])
        #expect(leaves.last?["m"].int == 1)
        #expect(try database.conflictingRevisions(of: "a").count == 1)
    }
}
