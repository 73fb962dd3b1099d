// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

/// `SavedRevision` and `UnsavedRevision`.
@Suite struct RevisionObjectTests {
    private let database: Database
    private let document: LiveDocument

    init() throws {
        database = try Database.inMemory()
        document = try database["a"]
    }

    // MARK: - Saved revisions

    @Test func `a saved revision tells what it is and of which document`() throws {
        let revision = try document.putProperties(["n": 1])
        #expect(revision.documentID == "a" && revision.document === document)
        #expect(revision.database === database)
        #expect(revision.revisionID == document.currentRevisionID)
        #expect(revision.generation == 1 && revision.sequence == 1)
        #expect(!revision.isDeletion && !revision.isGone && revision.propertiesAvailable)
        #expect(try revision.parentRevision == nil && revision.parentRevisionID == nil)
        #expect(revision.properties["_rev"]?.string.map { RevisionID($0) } == revision.revisionID)
        #expect(revision.userProperties == ["n": 1])
        #expect(revision.property(forKey: "n") == 1 && revision["n"].int == 1)
        #expect(revision.keys == ["_id", "_rev", "n"] && revision.count == 3)
        #expect(revision.int(forKey: "n") == 1)
    }

    @Test func `a saved revision does not change when its document does`() throws {
        let first = try document.putProperties(["n": 1])
        let second = try document.update { $0["n"] = 2 }
        #expect(first["n"].int == 1 && second["n"].int == 2)
        #expect(second.sequence > first.sequence)
        #expect(first != second && Set([first, second, first]).count == 2)
        try document.purge()
        #expect(first["n"].int == 1)
    }

    @Test func `a history is told oldest first`() throws {
        var expected: [SavedRevision] = []
        try database.setRevisionLimit(20)
        for number in 1...25 {
            expected.append(try document.update { $0.set(number, forKey: "n") })
        }
        // The last twenty are kept.
        #expect(try document.revisionHistory == Array(expected.suffix(20)))
        #expect(try document.revisionHistory.map(\.generation) == Array(6...25))
        #expect(try expected[10].revisionHistory == Array(expected[5...10]))
        #expect(try document.revisionHistory[3]["n"].int == 9)
        #expect(try expected[20].parentRevision == expected[19])
        // What was pruned has no parent any more and neither has the oldest that is left.
        #expect(try expected[5].parentRevision == nil)
        #expect(try expected[2].parentRevision == nil && expected[2].revisionHistory == [])
    }

    @Test func `past bodies are there until compaction and their IDs after it`() throws {
        try document.putProperties(["n": 1])
        try document.update { $0["n"] = 2 }
        let before = try #require(try document.currentRevision?.parentRevision)
        #expect(before.propertiesAvailable && before["n"].int == 1)
        try database.compact()
        let after = try #require(try document.currentRevision?.parentRevision)
        #expect(after == before && !after.propertiesAvailable)
        #expect(
            after.properties == ["_id": "a", "_rev": .string(after.revisionID.description)])
        #expect(after.userProperties == [:] && after.sequence == 0)
        #expect(code { try after.load() } == .revisionNotFound)
        try before.load()
        // What had been read before stays.
        #expect(before["n"].int == 1)
        #expect(document.currentRevision?.propertiesAvailable == true)
    }

    @Test func `an ancestor that was never here has an ID and no properties`() throws {
        try document.putExistingRevision(["n": 2], history: ["2-b", "1-a"])
        let ancestor = try #require(try document.currentRevision?.parentRevision)
        #expect(ancestor.revisionID == "1-a" && !ancestor.propertiesAvailable)
        #expect(try document.revision(withID: "1-a") == ancestor)
        #expect(try document.revision(withID: "9-z") == nil)
        #expect(code { try document.revision(withID: "nonsense") } == .invalidID)
    }

    @Test func `a child of a revision is saved only while that is current`() throws {
        let first = try document.putProperties(["n": 1])
        let second = try first.createRevision(with: ["n": 2])
        #expect(try second.parentRevision == first && document["n"].int == 2)
        #expect(code { try first.createRevision(with: ["n": 3]) } == .conflict)
        // The revision is the parent, whatever `_rev` the properties hold.
        let third = try second.createRevision(with: first.properties)
        #expect(try third.parentRevision == second && document["n"].int == 1)
    }

    @Test func `a revision that cannot be read says why and shows its special properties`() throws {
        let sandbox = Sandbox()
        let database = try sandbox.database()
        let document = try database["a"]
        try document.putProperties(["n": 1])
        try document.update { $0["n"] = 2 }
        let parent = try #require(try document.currentRevision?.parentRevision)
        database.close()
        #expect(code { try parent.load() } == .databaseClosed)
        #expect(parent.properties["_rev"]?.string.map { RevisionID($0) } == parent.revisionID)
        #expect(!parent.propertiesAvailable)
        #expect(code { try parent.parentRevision } == .databaseClosed)
    }

    // MARK: - Unsaved revisions

    @Test func `an unsaved revision begins as its parent and has no ID`() throws {
        let saved = try document.putProperties(["n": 1, "t": "x"])
        var revision = saved.makeRevision()
        #expect(revision.revisionID == nil && !revision.isDeletion && !revision.isGone)
        #expect(revision.documentID == "a" && revision.document === document)
        #expect(revision.database === database)
        #expect(try revision.parentRevision == saved)
        #expect(revision.parentRevisionID == saved.revisionID)
        #expect(revision.properties == saved.properties)
        #expect(revision.userProperties == ["n": 1, "t": "x"])
        revision["n"] = 2
        revision["deep"]["er"] = true
        revision.set("y", forKey: "u")
        revision.removeValue(forKey: "t")
        #expect(revision.userProperties == ["n": 2, "deep": ["er": true], "u": "y"])
        #expect(revision.property(forKey: "u") == "y" && revision.int(forKey: "n") == 2)
        #expect(revision.keys.count == revision.count && revision.count == 5)
        // None of it is visible before it is saved.
        #expect(document["n"].int == 1 && saved["n"].int == 1)
        #expect(try database.lastSequence == 1)
        let next = try revision.save()
        #expect(next.userProperties == revision.userProperties && document.currentRevision == next)
    }

    @Test func `a copy of an unsaved revision is edited by itself`() throws {
        var one = document.makeRevision()
        one["n"] = 1
        var other = one
        other["n"] = 2
        #expect(one["n"].int == 1)
        try other.save()
        #expect(document["n"].int == 2)
        let stale = one
        #expect(code { try stale.save() } == .conflict)
    }

    @Test func `special properties of an unsaved revision are read or passed over`() throws {
        try document.putProperties(["n": 1])
        var revision = document.makeRevision()
        revision["_rev"] = "9-z"
        revision["_id"] = "b"
        #expect(revision["_rev"].string == document.currentRevisionID?.description)
        #expect(revision["_id"].string == "a")
        revision["_deleted"] = true
        #expect(revision.isDeletion && revision.properties["_deleted"] == true)
        revision.removeValue(forKey: "_deleted")
        #expect(!revision.isDeletion)
        revision.properties = ["_rev": "9-z", "_id": "a", "n": 2, "_deleted": true]
        #expect(revision.isDeletion && revision.userProperties == ["n": 2])
        revision.properties = ["n": 3]
        #expect(!revision.isDeletion)
        revision["_foo"] = 1
        let reserved = revision
        #expect(code { try reserved.save() } == .invalidDocument)
        revision.removeValue(forKey: "_foo")
        #expect(try revision.save().generation == 2)
    }

    @Test func `user properties are replaced and reserved ones kept`() throws {
        try document.putExistingRevision(["_removed": true, "n": 1], history: ["1-x"])
        var revision = document.makeRevision()
        revision.userProperties = ["m": 2]
        #expect(revision.userProperties == ["m": 2] && revision["_removed"].bool == true)
        try revision.save()
        #expect(document.userProperties == ["m": 2] && document["_removed"].bool == true)
        // The app cannot set a reserved property that did not come with the revision.
        #expect(code { try database["b"].putProperties(["_removed": true]) } == .invalidDocument)
    }

    @Test func `a revision based on an older one is saved only if a conflict is allowed`() throws {
        let first = try document.putProperties(["n": 1])
        try document.update { $0["n"] = 2 }
        var branch = first.makeRevision()
        branch["n"] = 3
        let stale = branch
        let error = #expect(throws: DatabaseError.self) { try stale.save() }
        #expect(error?.code == .conflict && error?.documentID == "a")
        #expect(error?.revisionID == first.revisionID)
        let saved = try stale.save(allowingConflict: true)
        #expect(document.isConflicted)
        #expect(try document.conflictingRevisions.contains(saved))
        #expect(try saved.parentRevision == first)
    }

    @Test func `a child of a revision that could not be read is saved with new properties only`()
        throws
    {
        let sandbox = Sandbox()
        let manager = try sandbox.manager()
        let database = try manager.database(named: "db")
        let document = try database["a"]
        try document.putExistingRevision(["n": 1, "title": "A"], history: ["2-b", "1-a"])
        let leaf = try #require(try document.leafRevisions.first)
        try manager.suspend()
        var child = leaf.makeRevision()
        try manager.resume()
        child["n"] = 2
        let edited = child
        let error = #expect(throws: DatabaseError.self) { try edited.save() }
        #expect(error?.code == .revisionNotFound && error?.revisionID == "2-b")
        #expect(code { try edited.save(allowingConflict: true) } == .revisionNotFound)
        child.userProperties = ["n": 2]
        child.isDeletion = true
        let deletion = child
        #expect(code { try deletion.save() } == .revisionNotFound)
        #expect(document.userProperties == ["n": 1, "title": "A"])
        // The revision can be read now, and so can a child of it be made.
        try leaf.load()
        var anew = leaf.makeRevision()
        anew["n"] = 3
        try anew.save()
        #expect(document.userProperties == ["n": 3, "title": "A"])
        // One whose body was compacted away gets all properties, or none.
        try database.compact()
        var branch = try #require(try document.revision(withID: "2-b")).makeRevision()
        branch["n"] = 4
        let lacking = branch
        #expect(code { try lacking.save(allowingConflict: true) } == .revisionNotFound)
        branch.properties = ["n": 4]
        let whole = branch
        #expect(try whole.save(allowingConflict: true).userProperties == ["n": 4])
    }

    @Test func `a losing leaf is continued or deleted when a conflict is allowed`() throws {
        try document.putExistingRevision(["side": "a"], history: ["2-aaa", "1-x"])
        try document.putExistingRevision(["side": "b"], history: ["2-bbb", "1-x"])
        let loser = try #require(try document.conflictingRevisions.last)
        #expect(loser["side"].string == "a")
        var edit = loser.makeRevision()
        edit["side"] = "c"
        let lost = edit
        #expect(code { try lost.save() } == .conflict)
        try lost.save(allowingConflict: true)
        // It is longer now, and wins.
        #expect(document["side"].string == "c")
        // Taking a leaf out of a conflict needs no permission.
        let other = try #require(try document.conflictingRevisions.last)
        #expect(try other.delete().isDeletion)
        #expect(!document.isConflicted && document["side"].string == "c")
    }

    @Test func `a conflict is resolved by a merged revision and tombstones in one batch`() throws {
        try document.putExistingRevision(["a": 1], history: ["2-aaa", "1-x"])
        try document.putExistingRevision(["b": 2], history: ["2-bbb", "1-x"])
        let conflicts = try document.conflictingRevisions
        #expect(conflicts.count == 2 && document.isConflicted)
        try database.inBatch {
            var merged: JSONObject = [:]
            for revision in conflicts {
                for (key, value) in revision.userProperties { merged[key] = value }
            }
            let current = document.currentRevision
            for revision in conflicts {
                var new = revision.makeRevision()
                if revision == current {
                    new.properties = merged
                } else {
                    new.isDeletion = true
                }
                try new.save(allowingConflict: true)
            }
        }
        #expect(!document.isConflicted)
        #expect(document.userProperties == ["a": 1, "b": 2])
        #expect(try !database.hasConflicts())
        #expect(try document.leafRevisions.map(\.isDeletion) == [false, true])
    }
}
