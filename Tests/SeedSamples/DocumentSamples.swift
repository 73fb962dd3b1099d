// SPDX-License-Identifier: Apache-2.0

import Divan
import FoundationEssentials
import Synchronization
import Testing

/// The samples of the guide to documents of version 1.x, and of the older guide to working with them.
@Suite struct DocumentSamples {
    private let sample: Sample
    private var database: Database { sample.database }

    init() throws { sample = try Sample() }

    @Test func `a document is created with an ID of its own`() throws {
        let list: JSONObject = [
            "type": "list", "title": "Errands", "created_at": "2026-11-21T08:00:00Z",
            "owner": "profile:ann", "members": [],
        ]
        let document = database.makeDocument()
        let other = database.makeDocument()
        #expect(document.id != other.id && !document.exists)
        try document.putProperties(list)
        #expect(document.exists && document.userProperties == list)
        #expect(!other.exists)
    }

    @Test func `a document is created with an ID of the app's choice, once`() throws {
        let book: JSONObject = [
            "title": "Little, Big", "author": "John Crowley", "published": 1982,
        ]
        let document = try database.liveDocument(withID: "978-0061120053")
        try document.putProperties(book)
        #expect(document["published"].int == 1982)
        // Creating the same document once more is a conflict.
        let another = MutableDocument(["title": "Other"], id: "978-0061120053")
        #expect(code { try database.save(another) } == .conflict)
    }

    @Test
    func `reading gives the same object each time, and its properties when they are asked for`()
        throws
    {
        try database.save(MutableDocument(["title": "x", "owner": "ann"], id: "task"))
        let document = try database.liveDocument(withID: "task")
        #expect(try database.liveDocument(withID: "task") === document)
        #expect(document["title"].string == "x")
        #expect(document.properties["owner"]?.string == "ann")
        #expect(document.property(forKey: "title") == "x")
        // One that does not exist is there to be filled, unless only existing ones are wanted.
        #expect(try !database.liveDocument(withID: "nobody").exists)
        #expect(try database.existingLiveDocument(withID: "nobody") == nil)
    }

    @Test func `putProperties replaces the body and needs the current revision`() throws {
        let document = try makeTask()
        var properties = document.properties
        let stale = properties
        properties["title"] = "new"
        properties["notes"] = "some"
        try document.putProperties(properties)
        #expect(document["title"].string == "new" && document["notes"].string == "some")
        #expect(document.currentRevision?.generation == 2)
        // A copy of the older properties carries the older _rev.
        #expect(code { try document.putProperties(stale) } == .conflict)
    }

    @Test func `a conflict is answered by reading again and trying again`() throws {
        let document = try makeTask()
        let wasChecked = document["check"].bool ?? false
        var tries = 0
        while true {
            var properties = document.properties
            tries += 1
            if tries == 1 { try database.update(document.id) { $0["title"] = "theirs" } }
            properties["check"] = .bool(!wasChecked)
            do {
                try document.putProperties(properties)
                break
            } catch let error as DatabaseError where error.code == .conflict { continue }
        }
        #expect(tries == 2)
        #expect(document["check"].bool == true && document["title"].string == "theirs")
    }

    @Test func `update retries by itself until nobody else was faster`() throws {
        let document = try makeTask()
        var calls = 0
        try document.update { revision in
            calls += 1
            if calls == 1 { try database.update(document.id) { $0["notes"] = "theirs" } }
            revision.set("mine", forKey: "title")
        }
        #expect(calls == 2)
        #expect(document["title"].string == "mine" && document["notes"].string == "theirs")
    }

    @Test func `deleting leaves a tombstone, which is a revision`() throws {
        let document = try makeTask()
        try document.delete()
        #expect(document.isDeleted && !document.exists)
        #expect(document.currentRevision?.isDeletion == true)
        #expect(document.currentRevision?.generation == 2)
        #expect(try database.document(withID: document.id) == nil)
    }

    @Test func `a tombstone may keep properties`() throws {
        let document = try makeTask()
        try document.update { revision in
            revision.isDeletion = true
            revision.set("2026-11-21T08:00:00Z", forKey: "deleted_at")
        }
        #expect(document.isDeleted)
        #expect(document["deleted_at"].string == "2026-11-21T08:00:00Z")
        #expect(document["title"].string == "x")
    }

    @Test func `deleting what somebody deleted is no conflict, what somebody changed is`() throws {
        let document = try makeTask()
        let read = try #require(try database.document(withID: document.id))
        try database.delete(document.id)
        #expect(try document.delete().isDeletion)
        try database.save(MutableDocument(["title": "again"], id: document.id))
        #expect(code { try database.delete(read, .failOnConflict) } == .conflict)
    }

    @Test func `purging forgets a document without a trace`() throws {
        let document = try makeTask()
        #expect(try document.purge())
        #expect(try database.revisionTree(of: document.id) == nil)
        // It comes back when a replication brings it again.
        try database.putExistingRevision(document.id, ["title": "back"], history: ["1-a"])
        #expect(document["title"].string == "back")
    }

    @Test func `a document goes by itself when it expires`() async throws {
        let document = database.makeDocument()
        try document.putProperties(["foo": "bar"])
        try document.setExpirationDate(Date(timeIntervalSinceNow: 0.2))
        #expect(try document.expirationDate != nil)
        await eventually { !document.exists }
        #expect(try database.revisionTree(of: document.id) == nil)
    }

    // MARK: - Notifications

    @Test func `a document tells of its new revisions, conflicts and deletion`() async throws {
        let document = try makeTask()
        let seen = Mutex<[DocumentChange]>([])
        let token = try document.addChangeListener { change in
            seen.withLock { $0.append(change) }
        }
        defer { token.remove() }
        try document.update { $0.set("y", forKey: "title") }
        let revision = document.currentRevisionID
        await eventually { seen.withLock { $0.last?.revisionID == revision } }
        try database.putExistingRevision(
            document.id, ["title": "z"], history: ["1-other"])
        await eventually { seen.withLock { $0.last?.isConflict == true } }
        try database.delete(document.id)
        await eventually { seen.withLock { $0.last?.isDeletion == true } }
    }

    // MARK: - Conflicts

    @Test func `two devices that edit apart see the same winner when they meet`() throws {
        let naomi = try sample.manager.database(named: "naomi")
        let first = try database.save(MutableDocument(["n": 1], id: "a")).document
        try naomi.putExistingRevision("a", ["n": 1], history: [first.revisionID])
        let mine = try database.update("a") { $0["n"] = 2 }
        let theirs = try naomi.update("a") { $0["n"] = 3 }
        let base = first.revisionID
        try database.putExistingRevision("a", ["n": 3], history: [theirs.revisionID, base])
        try naomi.putExistingRevision("a", ["n": 2], history: [mine.revisionID, base])
        let winner = max(mine.revisionID, theirs.revisionID)
        for database in [database, naomi] {
            #expect(try database.document(withID: "a")?.revisionID == winner)
            #expect(try database.conflictingRevisions(of: "a").count == 2)
        }
    }

    @Test func `the same edit on two devices is no conflict`() throws {
        let other = try sample.manager.database(named: "other")
        let one = try database.save(MutableDocument(["n": 1], id: "a")).document
        let two = try other.save(MutableDocument(["n": 1], id: "a")).document
        #expect(one.revisionID == two.revisionID)
        #expect(try !database.putExistingRevision("a", ["n": 1], history: [two.revisionID]))
        #expect(try !database.hasConflicts())
    }

    @Test func `a conflict is resolved by saving a merged revision and deleting the others`() throws
    {
        let document = try makeConflict()
        let conflicts = try document.conflictingRevisions
        #expect(conflicts.count == 2)
        try database.inBatch {
            let merged: JSONObject = ["title": "x", "notes": "of both"]
            let current = document.currentRevision
            for revision in conflicts {
                var edit = revision.makeRevision()
                if revision == current {
                    edit.properties = merged
                } else {
                    edit.isDeletion = true
                }
                _ = try edit.save(allowingConflict: true)
            }
        }
        #expect(try document.conflictingRevisions.count == 1)
        #expect(document["notes"].string == "of both")
        #expect(try !database.hasConflicts())
    }

    @Test func `deleting the winner of a conflict shows the other revision`() throws {
        let document = try makeConflict()
        let winner = document.currentRevisionID
        try document.delete()
        #expect(document.exists && document.currentRevisionID != winner)
        try document.delete()
        #expect(!document.exists)
    }

    @Test func `the common ancestor is there until compaction`() throws {
        let document = try makeConflict()
        let parent = try #require(try document.currentRevision?.parentRevision)
        #expect(parent.propertiesAvailable && parent["title"].string == "x")
        try database.compact()
        #expect(try document.currentRevision?.parentRevision?.propertiesAvailable == false)
    }

    @Test func `conflicts in the whole database are listed`() throws {
        let document = try makeConflict()
        try database.save(MutableDocument(["n": 1], id: "calm"))
        var query = database.allDocumentsQuery()
        query.allDocumentsMode = .onlyConflicts
        let rows = try query.run()
        #expect(rows.map(\.documentID) == [document.id])
        #expect(rows.first?.conflictingRevisions?.isEmpty == false)
    }

    @Test func `properties with an underscore are the database's own`() throws {
        let document = try makeTask()
        #expect(document.properties["_id"]?.string == document.id.text)
        #expect(document.properties["_rev"]?.string == document.currentRevisionID?.description)
        let reserved = MutableDocument(["_mine": 1])
        #expect(code { try database.save(reserved) } == .invalidDocument)
    }

    private func makeTask() throws -> LiveDocument {
        let document = try database.liveDocument(withID: "task")
        try document.putProperties(["title": "x", "check": false])
        return document
    }

    private func makeConflict() throws -> LiveDocument {
        let document = try makeTask()
        let base = try #require(document.currentRevisionID)
        try document.update { $0.set("mine", forKey: "notes") }
        try database.putExistingRevision(
            document.id, ["title": "x", "notes": "theirs"], history: ["2-0000", base])
        return document
    }
}
