// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import FoundationEssentials
import Testing

/// `update { }` and its loop.
@Suite struct LiveDocumentUpdateTests {
    private let sandbox = Sandbox()
    private let database: Database
    private let document: LiveDocument

    init() throws {
        database = try sandbox.database()
        document = try database["counter"]
    }

    @Test func `update edits the current properties and saves them`() throws {
        try document.putProperties(["title": "old", "keep": true])
        let saved = try document.update { revision in
            #expect(revision["title"].string == "old")
            revision["title"] = "new"
            revision.set([1, 2], forKey: "notes")
        }
        #expect(saved.generation == 2 && document.currentRevision == saved)
        #expect(document.userProperties == ["title": "new", "keep": true, "notes": [1, 2]])
    }

    @Test func `update creates a document that is not there`() throws {
        try document.update { revision in
            #expect(revision.properties == ["_id": "counter"])
            #expect(revision.parentRevisionID == nil)
            revision["n"] = 1
        }
        #expect(document.currentRevision?.generation == 1 && document["n"].int == 1)
    }

    @Test func `an update that gives up leaves the document as it is`() throws {
        try document.putProperties(["n": 1])
        let given = try document.update { revision in
            revision["n"] = 2
            return false
        }
        #expect(given == nil && document["n"].int == 1)
        let saved = try document.update { revision in
            revision["n"] = 2
            return true
        }
        #expect(saved?.generation == 2 && document["n"].int == 2)
        #expect(throws: Whim()) {
            try document.update { revision in
                revision["n"] = 3
                throw Whim()
            }
        }
        #expect(document["n"].int == 2)
    }

    @Test func `update calls its closure again until nobody else was faster`() throws {
        try document.putProperties(["n": 0, "mine": 0])
        var calls = 0
        try document.update { revision in
            calls += 1
            // Three times another writer saves while this edit is under way.
            if calls <= 3 { try database.update("counter") { $0.set(calls, forKey: "n") } }
            revision.set(revision.int(forKey: "mine") + 1, forKey: "mine")
        }
        #expect(calls == 4)
        #expect(document.userProperties == ["n": 3, "mine": 1])
        #expect(document.currentRevision?.generation == 5)
        #expect(try document.leafRevisions.count == 1)
    }

    @Test func `updates of many threads and tasks are all counted`() async throws {
        let rounds = Soak.count(test: 25, soak: 1_000)
        let other = try sandbox.database()
        let theirs = try other["counter"]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<4 {
                group.addTask { [document] in
                    for _ in 0..<rounds {
                        let edited = worker % 2 == 0 ? document : theirs
                        try edited.update { revision in
                            revision.set(revision.int(forKey: "n") + 1, forKey: "n")
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(document.int(forKey: "n") == 4 * rounds)
        #expect(theirs.currentRevision?.generation == UInt64(4 * rounds))
        #expect(try document.leafRevisions.count == 1)
        #expect(try database.problems() == [])
    }

    @Test func `updates of several processes are all counted`() async throws {
        let batches = Soak.count(test: 60, soak: 1_000)
        let path = sandbox.url().path(percentEncoded: false)
        let document = document
        try await offPool {
            let child = try TestChild("count", path, "child", "\(batches)")
            for _ in 0..<batches {
                try document.update { revision in
                    revision.set(revision.int(forKey: "count") + 1, forKey: "count")
                }
            }
            #expect(child.finish() == 0)
        }
        // The child's last commit may not have been noticed yet; an edit that needs it finds out.
        try document.update { _ in }
        #expect(document["count"].int == 2 * batches)
        #expect(try database.problems() == [])
    }

    @Test func `an update in a batch is part of the batch`() throws {
        try document.putProperties(["n": 0])
        try database.inBatch {
            for number in 1...3 {
                try document.update { $0.set(number, forKey: "n") }
                #expect(document["n"].int == number)
            }
        }
        #expect(document["n"].int == 3 && document.currentRevision?.generation == 4)
    }
}
