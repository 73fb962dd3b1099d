// SPDX-License-Identifier: Apache-2.0

import Divan
@testable import DivanDatabase
import DivanTestSupport
import Testing

/// A live document shows every commit of every writer, and nothing that was rolled back.
@Suite struct LiveDocumentFollowingTests {
    private let sandbox = Sandbox()
    private let database: Database
    private let document: LiveDocument

    init() throws {
        (database, document) = try sandbox.liveDocument(["n": 0])
        #expect(document["n"].int == 0)
    }

    @Test func `a commit is shown as soon as it has returned`() throws {
        for number in 1...50 {
            try database.update("a") { $0.set(number, forKey: "n") }
            #expect(document["n"].int == number)
        }
        try database.inBatch {
            try database.update("a") { $0["n"] = 51 }
            try database.update("a") { $0["n"] = 52 }
        }
        #expect(document["n"].int == 52)
    }

    @Test func `every kind of change is followed`() throws {
        try database.delete("a")
        #expect(document.isDeleted)
        try database.save(MutableDocument(["n": 1], id: "a"))
        #expect(document.exists && document["n"].int == 1)
        try database.put("a", ["n": 2], parent: document.currentRevisionID)
        #expect(document["n"].int == 2)
        try database.putExistingRevision("a", ["n": 9], history: ["9-z"])
        #expect(document["n"].int == 9 && document.isConflicted)
        try database.putExistingRevision("a", ["n": 2], history: ["2-z"])
        #expect(document["n"].int == 9)
        #expect(try document.conflictingRevisions.count == 3)
        try database.purge("a", revisions: ["9-z"])
        #expect(document["n"].int == 2)
        try database.purge("a")
        #expect(!document.exists && document.properties == [:])
        try database.compact()
        #expect(!document.exists)
    }

    @Test func `another handle's commits are followed as one's own`() throws {
        let other = try sandbox.database()
        for number in 1...50 {
            try other.update("a") { $0.set(number, forKey: "n") }
            #expect(document["n"].int == number)
        }
        try other.purge("a")
        #expect(!document.exists)
    }

    @Test func `the thread of a batch sees its work and all others what is committed`() throws {
        try database.inBatch {
            try document.update { $0["n"] = 1 }
            #expect(document["n"].int == 1 && document.currentRevision?.generation == 2)
            #expect(try document.revisionHistory.count == 2)
            let other = Running { [document] in (document["n"].int, document.sequence) }
            let seen = try #require(try other.value())
            #expect(seen == (0, 1))
            try document.delete()
            #expect(document.isDeleted)
            try document.purge()
            #expect(!document.exists && !document.isDeleted)
            try document.putProperties(["n": 7])
            #expect(document["n"].int == 7)
        }
        #expect(document["n"].int == 7)
    }

    @Test func `a batch that is rolled back leaves no trace`() throws {
        #expect(throws: Whim()) {
            try database.inBatch {
                try document.update { $0["n"] = 1 }
                #expect(document["n"].int == 1)
                throw Whim()
            }
        }
        #expect(document["n"].int == 0 && document.currentRevision?.generation == 1)
        #expect(throws: Whim()) {
            try database.inBatch {
                try document.purge()
                #expect(!document.exists)
                throw Whim()
            }
        }
        #expect(document["n"].int == 0)
        try document.update { $0["n"] = 2 }
        #expect(document["n"].int == 2)
    }

    @Test func `an inner batch that is rolled back is forgotten within the outer one`() throws {
        try database.inBatch {
            try document.update { $0["n"] = 1 }
            for number in 2...5 {
                #expect(throws: Whim()) {
                    try database.inBatch {
                        try document.update { $0.set(number, forKey: "n") }
                        #expect(document["n"].int == number)
                        throw Whim()
                    }
                }
                // The sequence that was undone is given out again; the content must not be.
                #expect(document["n"].int == 1)
            }
            try document.update { $0["n"] = 6 }
            #expect(document["n"].int == 6)
        }
        #expect(document["n"].int == 6 && document.currentRevision?.generation == 3)
    }

    @Test func `an operation that is refused leaves the document as it was`() throws {
        try database.inBatch {
            try document.update { $0["n"] = 1 }
            #expect(code { try document.putProperties(["n": 2]) } == .conflict)
            #expect(document["n"].int == 1)
        }
        #expect(document["n"].int == 1)
    }

    @Test func `what a live document shows never goes back`() async throws {
        let rounds = Soak.count(test: 150, soak: 10_000)
        let isOver = Flag()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask { [document] in
                    var last = 0
                    while !isOver.isSet {
                        let now = document.int(forKey: "n")
                        if now < last { Issue.record("\(now) was shown after \(last)") }
                        last = now
                        await Task.yield()
                    }
                }
            }
            group.addTask { [database] in
                for number in 1...rounds {
                    try database.inBatch {
                        try database.update("a") { $0.set(number, forKey: "n") }
                    }
                }
                isOver.set()
            }
            try await group.waitForAll()
        }
        #expect(document["n"].int == rounds)
    }

    @Test func `a database without live documents is not followed for long`() async throws {
        #expect(database.live.isFollowing)
        let other = try sandbox.database("other")
        try other.save(MutableDocument(id: "a"))
        #expect(!other.live.isFollowing)
        do {
            let held = try other["a"]
            #expect(held.exists && other.live.isFollowing)
        }
        for number in 0..<200 {
            try other.inBatch { try other.update("a") { $0.set(number, forKey: "n") } }
        }
        await eventually { !other.live.isFollowing }
        // And again when there is one.
        let again = try other["a"]
        #expect(other.live.isFollowing)
        try other.update("a") { $0["n"] = -1 }
        #expect(again["n"].int == -1)
    }
}
