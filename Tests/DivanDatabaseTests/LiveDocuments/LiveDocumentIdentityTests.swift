// SPDX-License-Identifier: Apache-2.0

import Divan
@testable import DivanDatabase
import DivanTestSupport
import Testing

/// One object for each ID as long as the app holds it, and none after that.
@Suite struct LiveDocumentIdentityTests {
    private let sandbox = Sandbox()
    private let database: Database

    init() throws { database = try sandbox.database() }

    @Test func `an ID gives the same live document each time`() throws {
        let first = try database.liveDocument(withID: "a")
        #expect(try database.liveDocument(withID: "a") === first)
        #expect(try database["a"] === first)
        #expect(try database["a"] == first)
        #expect(try database["b"] != first)
        #expect(try Set([database["a"], first, database["b"]]).count == 2)
        try first.putProperties(["n": 1])
        #expect(try database.existingLiveDocument(withID: "a") === first)
        #expect(first.currentRevision?.document === first)
        #expect(first.makeRevision().document === first)
    }

    @Test func `a thousand lookups at once give one object`() async throws {
        try database.create("a", ["n": 1])
        for _ in 0..<Soak.count(test: 20, soak: 1_000) {
            let objects = await withTaskGroup(of: LiveDocument?.self) { group in
                for _ in 0..<50 {
                    group.addTask { [database] in
                        let document = try? database["a"]
                        return document?["n"].int == 1 ? document : nil
                    }
                }
                var objects: [LiveDocument?] = []
                for await object in group { objects.append(object) }
                return objects
            }
            #expect(Set(objects).count == 1 && objects[0] != nil)
        }
        // The last task may just be letting go of its own.
        await eventually { database.live.count == 0 }
    }

    @Test func `objects that come and go at once are never two at a time`() async throws {
        // Each task asks, holds for a moment and lets go, so that lookups meet dying objects.
        let rounds = Soak.count(test: 2_000, soak: 100_000)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { [database] in
                    for _ in 0..<rounds {
                        guard let one = try? database["a"], let other = try? database["a"] else {
                            Issue.record("no object")
                            return
                        }
                        if one !== other { Issue.record("two objects of one ID") }
                    }
                }
            }
        }
        await eventually { database.live.count == 0 }
    }

    @Test func `a live document is released when nobody holds it`() throws {
        weak var released: LiveDocument?
        do {
            let document = try database["a"]
            try document.putProperties(["n": 1])
            #expect(document["n"].int == 1)
            released = document
            #expect(database.live.count == 1)
        }
        // The announcement of the commit may still hold it for a moment.
        eventually { released == nil && database.live.count == 0 }
        #expect(try database["a"]["n"].int == 1)
    }

    @Test func `documents that nobody holds take no memory`() throws {
        for number in 0..<Soak.count(test: 2_000, soak: 100_000) {
            #expect(!(try database["document-\(number)"].exists))
        }
        #expect(database.live.count == 0)
        // A revision holds its database, but no document.
        try database.create("a", ["n": 1])
        let revision = try database["a"].currentRevision
        eventually { database.live.count == 0 }
        #expect(revision?["n"].int == 1)
    }

    @Test func `each handle on a directory has its own live documents`() throws {
        let other = try sandbox.database()
        let (mine, theirs) = (try database["a"], try other["a"])
        #expect(mine !== theirs)
        try mine.putProperties(["n": 1])
        #expect(theirs["n"].int == 1)
        other.close()
        #expect(mine["n"].int == 1)
        #expect(code { try theirs.putProperties(["n": 2]) } == .databaseClosed)
    }

    @Test func `an ID that no document may have has no live document`() throws {
        for id: DocumentID in [
            "", "_x", "_local/a", "a\0b", "\(String(repeating: "x", count: 4_097))",
        ] {
            #expect(code { try database.liveDocument(withID: id) } == .invalidID)
            #expect(code { try database.existingLiveDocument(withID: id) } == .invalidID)
            #expect(code { try database[id] } == .invalidID)
        }
        #expect(try database["_design/x"].id == "_design/x")
    }

    @Test func `IDs are told apart by their bytes`() throws {
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        #expect(try database[DocumentID(composed)] !== database[DocumentID(decomposed)])
        try database[DocumentID(composed)].putProperties(["n": 1])
        #expect(try database[DocumentID(decomposed)].exists == false)
    }

    @Test func `a created document has an ID of its own and touches no file until it is saved`()
        throws
    {
        let before = try sandbox.contents()
        let documents = (0..<100).map { _ in database.makeDocument() }
        #expect(Set(documents.map(\.id)).count == 100)
        #expect(documents.allSatisfy { !$0.exists && $0.currentRevision == nil })
        #expect(try database.liveDocument(withID: "mine").properties == [:])
        // Reading may make the engine's own files, but nothing is written to the database.
        #expect(try database.lastSequence == 0)
        #expect(try sandbox.contents()["db.divan/changes"] == before["db.divan/changes"])
        let revision = try documents[0].putProperties(["type": "list"])
        #expect(revision.revisionID.generation == 1)
        #expect(try database.documentCount == 1)
        #expect(try database.document(withID: documents[0].id)?["type"].string == "list")
    }

    @Test func `descriptions name the document and never its content`() throws {
        let document = try database["a-rather-long-name"]
        #expect(document.abbreviatedID == "a-ra..name")
        #expect(try database["short"].abbreviatedID == "short")
        #expect("\(document)" == "LiveDocument(a-rather-long-name)")
        #expect(document.debugDescription == "LiveDocument(a-ra..name not loaded)")
        let revision = try document.putProperties(["secret": "x"])
        _ = document.exists
        #expect(document.debugDescription == "LiveDocument(a-ra..name \(revision.revisionID))")
        #expect("\(revision)" == "SavedRevision(a-rather-long-name \(revision.revisionID))")
        #expect(
            "\(document.makeRevision())"
                == "UnsavedRevision(a-rather-long-name, child of \(revision.revisionID))")
    }

    @Test func `a database stays open as long as one of its documents is held`() throws {
        var other: Database? = try sandbox.database("other")
        let document = try #require(try other?["a"])
        other = nil
        try document.putProperties(["n": 1])
        #expect(document["n"].int == 1)
        document.database.close()
        // What is in memory stays readable.
        #expect(document["n"].int == 1)
        #expect(code { try document.update { $0["n"] = 2 } } == .databaseClosed)
    }

    @Test func `a closed database has no documents to load`() throws {
        let document = try database["a"]
        try database.create("a", ["n": 1])
        let created = database.makeDocument()
        database.close()
        #expect(code { try document.load() } == .databaseClosed)
        #expect(code { try database["a"] } == .databaseClosed)
        #expect(!document.exists)
        #expect(document.loadFailure?.code == .databaseClosed)
        #expect(code { try created.putProperties([:]) } == .databaseClosed)
        #expect(code { try document.delete() } == .databaseClosed)
        #expect(code { try document.purge() } == .databaseClosed)
        #expect(code { try document.leafRevisions } == .databaseClosed)
        #expect(code { try document.revisionHistory } == .databaseClosed)
    }
}
