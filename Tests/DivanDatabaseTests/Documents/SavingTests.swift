// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

/// What `save` does when the document has changed since it was read.
@Suite struct SavingTests {
    private let database: Database

    init() throws { database = try Database.inMemory() }

    /// A document `a` with an edit of ours, made before another writer saved it.
    private func staleCopy() throws -> MutableDocument {
        let copy = try database.create("a", ["n": 1]).toMutable()
        copy["mine"] = true
        try database.update("a") { $0["theirs"] = true }
        return copy
    }

    @Test func `a fresh edit does not override anybody`() throws {
        let copy = try database.create("a").toMutable()
        copy["n"] = 1
        #expect(try !database.save(copy).overrode)
        #expect(try !database.save(MutableDocument(id: "b")).overrode)
    }

    @Test func `the last one to save wins unless told otherwise`() throws {
        let result = try database.save(staleCopy())
        #expect(result.overrode)
        #expect(result.document.generation == 3)
        #expect(try database.existing("a").properties == ["n": 1, "mine": true])
        #expect(try database.conflictingRevisions(of: "a").count == 1)
    }

    @Test func `a stale edit is a conflict when that is asked for`() throws {
        let copy = try staleCopy()
        let error = #expect(throws: DatabaseError.self) {
            try database.save(copy, .failOnConflict)
        }
        #expect(error?.code == .conflict)
        #expect(error?.documentID == "a")
        #expect(error?.revisionID == copy.revisionID)
        #expect(copy.hasUnsavedChanges)
        #expect(try database.existing("a").properties == ["n": 1, "theirs": true])
        #expect(try database.lastSequence == 2)
    }

    @Test func `a conflict can be read anew and saved`() throws {
        let copy = try staleCopy()
        #expect(code { try database.save(copy, .failOnConflict) } == .conflict)
        let again = try database.existing("a").toMutable()
        again["mine"] = true
        try database.save(again, .failOnConflict)
        #expect(try database.existing("a").properties == ["n": 1, "theirs": true, "mine": true])
    }

    @Test func `a new document whose ID is taken is always a conflict`() throws {
        try database.create("a", ["n": 1])
        for control in [ConcurrencyControl.lastWriteWins, .failOnConflict] {
            #expect(
                code { try database.save(MutableDocument(["n": 2], id: "a"), control) } == .conflict
            )
        }
        #expect(try database.existing("a")["n"].int == 1)
        #expect(try database.lastSequence == 1)
    }

    @Test func `a new document over a tombstone continues its history`() throws {
        try database.create("a", ["n": 1])
        let tombstone = try database.delete("a")
        let saved = try database.save(MutableDocument(["n": 2], id: "a"), .failOnConflict)
        #expect(saved.document.generation == 3)
        #expect(!saved.overrode)
        #expect(
            try database.revisionHistory(of: "a").prefix(2)
                == [saved.document.revisionID, tombstone.revisionID])
    }

    @Test func `an edit of a document deleted meanwhile brings it back or conflicts`() throws {
        let copy = try database.create("a", ["n": 1]).toMutable()
        copy["n"] = 2
        try database.delete("a")
        #expect(code { try database.save(copy, .failOnConflict) } == .conflict)
        let result = try database.save(copy)
        #expect(result.overrode)
        #expect(result.document.generation == 3)
        #expect(try database.existing("a")["n"].int == 2)
    }

    @Test func `an edit of a document purged meanwhile conflicts or creates it`() throws {
        let copy = try database.create("a", ["n": 1]).toMutable()
        copy["n"] = 2
        try database.purge("a")
        #expect(code { try database.save(copy, .failOnConflict) } == .conflict)
        #expect(try database.save(copy).document.generation == 1)
        #expect(try database.problems() == [])
    }

    @Test func `saving an unedited document does nothing`() throws {
        let document = try database.create("a", ["n": 1])
        let result = try database.save(document.toMutable())
        #expect(result.document == document)
        #expect(!result.overrode)
        #expect(try database.lastSequence == 1)
        // Nor does it when the document has changed since: there is nothing to lose.
        try database.update("a") { $0["n"] = 2 }
        try database.save(document.toMutable(), .failOnConflict)
        #expect(try database.existing("a")["n"].int == 2)
    }

    @Test func `an edit that restores the old value is an edit`() throws {
        let copy = try database.create("a", ["n": 1]).toMutable()
        copy["n"] = 1
        #expect(try database.save(copy).document.generation == 2)
    }

    @Test func `the same edit of two copies is one conflict and no silent loss`() throws {
        let document = try database.create("a", ["n": 1])
        let copies = [document.toMutable(), document.toMutable()]
        for copy in copies { copy["n"] = 2 }
        try database.save(copies[0], .failOnConflict)
        #expect(code { try database.save(copies[1], .failOnConflict) } == .conflict)
    }

    // MARK: - Conflict handlers

    @Test func `a handler is asked only when there is a conflict`() throws {
        let copy = try database.create("a").toMutable()
        copy["n"] = 1
        let result = try database.save(copy) { _, _ in
            Issue.record("Nobody else saved.")
            return true
        }
        #expect(result?.overrode == false)
    }

    @Test func `a handler sees both sides and what it makes is saved`() throws {
        let copy = try staleCopy()
        let result = try database.save(copy) { mine, theirs in
            #expect(mine === copy)
            #expect(theirs?.properties == ["n": 1, "theirs": true])
            mine["theirs"] = theirs?["theirs"] ?? nil
            return true
        }
        #expect(result?.overrode == true)
        #expect(try database.existing("a").properties == ["n": 1, "mine": true, "theirs": true])
        #expect(!copy.hasUnsavedChanges)
        #expect(copy.revisionID == result?.document.revisionID)
    }

    @Test func `a handler that gives up leaves everything as it was`() throws {
        let copy = try staleCopy()
        let result = try database.save(copy) { _, _ in false }
        #expect(result == nil)
        #expect(copy.hasUnsavedChanges)
        #expect(try database.existing("a").properties == ["n": 1, "theirs": true])
        #expect(try database.lastSequence == 2)
    }

    @Test func `an error in a handler is passed on and nothing is saved`() throws {
        let copy = try staleCopy()
        #expect(throws: Whim()) { try database.save(copy) { _, _ in throw Whim() } }
        #expect(try database.lastSequence == 2)
    }

    @Test func `a handler gets nil for a document that was deleted`() throws {
        let copy = try database.create("a", ["n": 1]).toMutable()
        copy["n"] = 2
        try database.delete("a")
        let result = try database.save(copy) { _, theirs in
            #expect(theirs == nil)
            return true
        }
        #expect(result?.document.generation == 3)
    }

    @Test func `a batch inside a handler that fails is undone alone`() throws {
        let copy = try staleCopy()
        try database.save(copy) { _, _ in
            try database.create("kept")
            #expect(throws: Whim()) {
                try database.inBatch {
                    try database.create("undone")
                    throw Whim()
                }
            }
            return true
        }
        #expect(try database.contains("kept"))
        #expect(try !database.contains("undone"))
        #expect(try database.problems() == [])
    }

    @Test func `a conflict handler that changes the document itself gets a conflict`() throws {
        let database = try Database.inMemory()
        let stale = try database.create("a", ["n": 1]).toMutable()
        try database.update("a") { $0["n"] = 2 }
        stale["n"] = 3
        #expect(
            code {
                try database.save(stale) { mine, theirs in
                    try database.update("a") { $0["n"] = 4 }
                    return true
                }
            } == .conflict)
        #expect(try database.verify().isEmpty)
    }
}
