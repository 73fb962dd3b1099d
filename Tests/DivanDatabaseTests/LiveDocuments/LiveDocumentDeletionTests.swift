// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

/// Deleting, restoring and purging live documents.
@Suite struct LiveDocumentDeletionTests {
    private let database: Database
    private let document: LiveDocument

    init() throws {
        database = try Database.inMemory()
        document = try database["a"]
    }

    @Test func `deleting makes a tombstone that the document then shows`() throws {
        let first = try document.putProperties(["n": 1])
        let tombstone = try document.delete()
        #expect(tombstone.isDeletion && tombstone.generation == 2)
        #expect(try tombstone.parentRevision == first)
        #expect(document.isDeleted && document.isGone && !document.exists)
        #expect(document.currentRevision == tombstone)
        #expect(
            document.properties
                == [
                    "_id": "a", "_rev": .string(tombstone.revisionID.description), "_deleted": true,
                ])
        #expect(document["_deleted"].bool == true && document.count == 3)
        #expect(!document["n"].exists)
        #expect(try database.existingLiveDocument(withID: "a") == nil)
        #expect(try database.document(withID: "a") == nil)
    }

    @Test func `deleting what is not there is an error`() throws {
        #expect(code { try document.delete() } == .documentNotFound)
    }

    @Test func `deleting what somebody else has deleted is no conflict`() throws {
        try document.putProperties(["n": 1])
        let seen = try #require(document.currentRevision)
        let theirs = try database.delete("a")
        #expect(try document.delete().revisionID == theirs.revisionID)
        #expect(try seen.delete().revisionID == theirs.revisionID)
        #expect(try document.leafRevisions.count == 1)
    }

    @Test func `deleting what somebody else has changed is a conflict`() throws {
        try document.putProperties(["n": 1])
        let seen = try #require(document.currentRevision)
        try database.update("a") { $0["n"] = 2 }
        #expect(code { try seen.delete() } == .conflict)
        #expect(document["n"].int == 2)
        // It is up to the app; deleting what is there now succeeds.
        try document.delete()
        #expect(document.isDeleted)
    }

    @Test func `a deletion may keep properties`() throws {
        try document.putProperties(["name": "Nina", "phone": "1"])
        try document.update { revision in
            revision.isDeletion = true
            revision["deleted_at"] = "2026-01-01"
        }
        #expect(document.isDeleted)
        #expect(
            document.userProperties == ["name": "Nina", "phone": "1", "deleted_at": "2026-01-01"])
        try document.update { $0.isDeletion = false }
        var properties = document.properties
        properties["_deleted"] = true
        properties["phone"] = nil
        let tombstone = try document.putProperties(properties)
        #expect(tombstone.isDeletion && document.isDeleted)
        #expect(document.userProperties == ["name": "Nina", "deleted_at": "2026-01-01"])
        #expect(try database.documentCount == 0)
    }

    @Test func `a deleted document is restored by saving what its tombstone kept`() throws {
        try document.putProperties(["n": 1])
        try document.update { $0.isDeletion = true }
        let restored = try document.update { revision in
            #expect(!revision.isDeletion && revision["n"].int == 1)
        }
        #expect(restored.generation == 3 && document.exists && document["n"].int == 1)
        #expect(try database.document(withID: "a")?["n"].int == 1)
    }

    @Test func `a deleted document is created anew as a child of its tombstone`() throws {
        try document.putProperties(["n": 1])
        let before = try #require(document.currentRevision)
        let tombstone = try document.delete()
        #expect(code { try document.putProperties(before.properties) } == .conflict)
        let anew = try document.putProperties(["n": 2])
        #expect(anew.generation == 3)
        #expect(try anew.parentRevisionID == tombstone.revisionID)
        #expect(try document.leafRevisions == [anew])
        // The body from before the deletion, as long as it has not been compacted away.
        #expect(try tombstone.parentRevision?.userProperties == ["n": 1])
    }

    @Test func `deleting the winner of a conflict shows the loser and deleting that is the end`()
        throws
    {
        try document.putExistingRevision(["side": "a"], history: ["2-aaa", "1-x"])
        try document.putExistingRevision(["side": "b"], history: ["2-bbb", "1-x"])
        try document.delete()
        #expect(document.exists && document["side"].string == "a" && !document.isConflicted)
        try document.delete()
        #expect(document.isDeleted)
        #expect(try document.leafRevisions.count == 2)
        #expect(try document.conflictingRevisions == [])
    }

    @Test func `purging forgets everything and the object can be saved anew`() throws {
        try document.putProperties(["n": 1])
        let revision = try #require(document.currentRevision)
        #expect(try document.purge())
        #expect(!document.exists && !document.isDeleted && document.currentRevision == nil)
        #expect(document.properties == [:])
        #expect(try document.revisionHistory == [])
        #expect(try !document.purge())
        #expect(code { try revision.delete() } == .documentNotFound)
        #expect(code { try document.putProperties(revision.properties) } == .documentNotFound)
        #expect(try document.putProperties(["n": 2]).generation == 1)
        #expect(try database["a"] === document)
        #expect(document["n"].int == 2)
    }

    @Test func `the same revision made again after a purge is noticed`() throws {
        let first = try document.putProperties(["n": 1])
        #expect(document.sequence == 1)
        try document.purge()
        let second = try document.putProperties(["n": 1])
        #expect(first.revisionID == second.revisionID)
        #expect(document.sequence == 2)
    }

    @Test func `suspending deletion does the same`() async throws {
        try document.putProperties(["n": 1])
        #expect(try document.delete().isDeletion)
        #expect(document.isDeleted)
    }

    @Test func `a document that its source took away is gone`() throws {
        try document.putExistingRevision(["_removed": true], history: ["1-x"])
        #expect(document.isGone && !document.isDeleted)
        #expect(document.currentRevision?.isGone == true)
    }
}
