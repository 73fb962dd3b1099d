// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

/// `putProperties` and its rules about `_rev` and the other reserved properties.
@Suite struct LiveDocumentSavingTests {
    private let database: Database
    private let document: LiveDocument

    init() throws {
        database = try Database.inMemory()
        document = try database["978-0061120053"]
    }

    @Test func `the first save creates the document`() throws {
        let revision = try document.putProperties(["title": "Little, Big", "published": 1982])
        #expect(revision.revisionID.generation == 1)
        #expect(revision.generation == 1 && revision.sequence == 1)
        #expect(document.exists && document.currentRevision == revision)
        #expect(try database.existing(document.id)["published"].int == 1982)
    }

    @Test func `saving replaces the whole body with a new current revision`() throws {
        let first = try document.putProperties(["title": "Little, Big", "author": "Crowley"])
        var properties = document.properties
        properties["title"] = "Aegypt"
        properties["author"] = nil
        properties["notes"] = "read"
        let second = try document.putProperties(properties)
        #expect(second.generation == 2 && second != first)
        #expect(document.currentRevision == second)
        #expect(document.userProperties == ["title": "Aegypt", "notes": "read"])
        #expect(try second.parentRevisionID == first.revisionID)
        #expect(try document.revisionHistory == [first, second])
    }

    @Test func `the current revision has to be named to update a document`() throws {
        try document.putProperties(["n": 1])
        let stale = document.properties
        try document.putProperties(stale)
        #expect(code { try document.putProperties(stale) } == .conflict)
        #expect(code { try document.putProperties(["n": 2]) } == .conflict)
        #expect(document.userProperties == ["n": 1] && document.currentRevision?.generation == 2)
        var foreign = document.properties
        foreign["_rev"] = "2-abc"
        #expect(code { try document.putProperties(foreign) } == .conflict)
        // Who was told of the conflict reads again and succeeds.
        try document.putProperties(document.properties)
        #expect(document.currentRevision?.generation == 3)
    }

    @Test func `the loop of reading and saving until there is no conflict ends`() throws {
        try document.putProperties(["check": false])
        var attempts = 0
        var contents = document.properties
        while true {
            contents["check"] = true
            do {
                try document.putProperties(contents)
                break
            } catch let error as DatabaseError where error.code == .conflict {
                contents = document.properties
            }
            attempts += 1
        }
        #expect(attempts == 0)
        let stale = contents
        #expect(code { try document.putProperties(stale) } == .conflict)
        contents = document.properties
        contents["check"] = false
        try document.putProperties(contents)
        #expect(document["check"].bool == false)
    }

    @Test func `an update of a document that is not there is refused`() throws {
        #expect(
            code { try document.putProperties(["_rev": "1-abc", "n": 1]) } == .documentNotFound)
        #expect(code { try document.delete() } == .documentNotFound)
        #expect(try database.lastSequence == 0)
    }

    @Test func `a document may begin with a tombstone`() throws {
        try document.putProperties(["_deleted": true, "reason": "moved"])
        #expect(document.isDeleted)
        #expect(try database.documentCount == 0)
        #expect(try database.lastSequence == 1)
    }

    @Test func `the ID of a document cannot be changed`() throws {
        try document.putProperties(["_id": "978-0061120053", "n": 1])
        var properties = document.properties
        properties["_id"] = "other"
        #expect(code { try document.putProperties(properties) } == .invalidID)
        properties["_id"] = 7
        #expect(code { try document.putProperties(properties) } == .invalidID)
        var revision = document.makeRevision()
        revision["_id"] = "other"
        #expect(try revision.save().documentID == "978-0061120053")
        revision = document.makeRevision()
        revision.properties = ["_id": "other"]
        let foreign = revision
        #expect(code { try foreign.save() } == .invalidDocument)
    }

    @Test func `a malformed _rev or _deleted is refused`() throws {
        try document.putProperties(["n": 1])
        for value in ["", "x", "0-a", 7, nil, ["1-a"]] as [JSONValue] {
            #expect(code { try document.putProperties(["_rev": value]) } == .invalidID)
        }
        var properties = document.properties
        properties["_deleted"] = "yes"
        #expect(code { try document.putProperties(properties) } == .invalidDocument)
        #expect(document.currentRevision?.generation == 1)
    }

    @Test func `a reserved property of an app's own is refused and named`() throws {
        for key in ["_foo", "_exp", "_", "_ID"] {
            let error = #expect(throws: DatabaseError.self) {
                try document.putProperties(["n": 1, key: 2] as JSONObject)
            }
            #expect(error?.code == .invalidDocument)
            #expect(error?.message.contains("'\(key)'") == true)
        }
        #expect(!document.exists)
        try document.putProperties(["deep": ["_foo": 1], "under_score": 2])
        #expect(document["deep"]["_foo"].int == 1)
    }

    @Test func `what peers compute for their readers is passed over`() throws {
        try document.putProperties([
            "n": 1, "_revisions": ["start": 1], "_conflicts": [], "_local_seq": 7,
            "_revs_info": [], "_deleted_conflicts": [],
        ])
        #expect(document.userProperties == ["n": 1])
        #expect(document.keys == ["_id", "_rev", "n"])
    }

    @Test func `the special properties are listed`() throws {
        #expect(
            SpecialProperty.allCases.map(\.rawValue) == [
                "_id", "_rev", "_deleted", "_attachments", "_removed", "_conflicts",
                "_deleted_conflicts", "_revisions", "_revs_info", "_local_seq",
            ])
        #expect(SpecialProperty.allCases.allSatisfy { SpecialProperty.isReserved($0.rawValue) })
        #expect(SpecialProperty.isReserved("_"))
        #expect(!SpecialProperty.isReserved("a_b") && !SpecialProperty.isReserved(""))
    }

    @Test func `a body that no document may have is refused and nothing changes`() throws {
        try document.putProperties(["n": 1])
        var properties = document.properties
        properties["n"] = .double(.infinity)
        #expect(code { try document.putProperties(properties) } == .invalidDocument)
        #expect(document.userProperties == ["n": 1])
        #expect(try database.lastSequence == 1)
    }

    @Test func `a losing leaf of a conflict is no current revision`() throws {
        try document.putExistingRevision(["side": "loser"], history: ["2-aaa", "1-x"])
        try document.putExistingRevision(["side": "winner"], history: ["2-bbb", "1-x"])
        #expect(document.isConflicted && document["side"].string == "winner")
        #expect(
            code { try document.putProperties(["_rev": "2-aaa", "side": "lost"]) } == .conflict)
        try document.putProperties(["_rev": "2-bbb", "side": "ours"])
        #expect(document["side"].string == "ours")
        #expect(try document.conflictingRevisions.map(\.generation) == [3, 2])
    }

    @Test func `the same edit in two databases makes the same revision of a live document`() throws
    {
        let other = try Database.inMemory()
        let first = try document.putProperties(["n": 1])
        let second = try other[document.id].putProperties(["n": 1])
        #expect(first.revisionID == second.revisionID)
        #expect(first != second)
        // Saving what is saved already, as a child of the same parent, is no second revision.
        var again = document.makeRevision()
        again["n"] = 2
        let copy = again
        let saved = try again.save()
        #expect(try copy.save(allowingConflict: true) == saved)
        #expect(try document.leafRevisions.count == 1)
    }
}
