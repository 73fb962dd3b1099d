// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import DivanTestSupport
import FoundationEssentials
import Testing

/// Purging and expiring concern one database only.
@Suite(.timeLimit(.minutes(10))) struct PurgeReplicationTests {
    let here: Database
    let there: Database
    let push: Replication
    let pull: Replication

    init() async throws {
        here = try Database.inMemory(named: "here")
        there = try Database.inMemory(named: "there")
        push = here.makePushReplication(to: there)
        pull = here.makePullReplication(from: there)
        try here.put("a", ["n": 1], parent: nil)
        try here.put("b", ["n": 1], parent: nil)
        try await push.run()
    }

    @Test func `a purge is told to nobody, and the other end keeps the document`() async throws {
        try here.purge("a")
        try await push.run()
        #expect(push.status.examined == 0)
        #expect(try there.document(withID: "a")?["n"].int == 1)
        // What is written after it is pushed as ever.
        try here.put("c", [:], parent: nil)
        try await push.run()
        #expect(push.status.examined == 1)
        #expect(try there.documentCount == 3)
    }

    @Test func `a purged document comes back when it is updated at the other end`() async throws {
        try await pull.run()
        try here.purge("a")
        // Nothing brings back what the other end has not changed.
        try await pull.run()
        #expect(try here.document(withID: "a") == nil)
        try there.update("a") { $0["n"] = 2 }
        try await pull.run()
        #expect(try here.document(withID: "a")?["n"].int == 2)
        #expect(try here.revisionHistory(of: "a") == there.revisionHistory(of: "a"))
    }

    @Test func `a date of expiration stays where it was set`() async throws {
        let date = Date(timeIntervalSince1970: 4_000_000_000)
        try here.setExpiration(of: "a", at: date)
        try await push.run()
        #expect(push.status.examined == 0)
        try here.update("a") { $0["n"] = 2 }
        try await push.run()
        #expect(try there.document(withID: "a")?["n"].int == 2)
        #expect(try here.expirationDate(of: "a") == date)
        #expect(try there.expirationDate(of: "a") == nil)
        let third = try Database.inMemory(named: "third")
        try await third.makePullReplication(from: here).run()
        #expect(try third.documentsExpiring().isEmpty)
    }

    @Test func `a document that expires here stays at the other end`() async throws {
        try here.setExpiration(of: "a", at: Date(timeIntervalSince1970: 1))
        try await eventually { try here.document(withID: "a") == nil }
        try await push.run()
        #expect(push.status.examined == 0)
        #expect(try there.document(withID: "a") != nil)
    }

    @Test func `a document that expired comes back when its next revision is pulled`() async throws
    {
        try await pull.run()
        try here.setExpiration(of: "a", at: Date(timeIntervalSince1970: 1))
        try await eventually { try here.revisionTree(of: "a") == nil }
        // Nothing brings back what the other end has not changed.
        try await pull.run()
        #expect(try here.document(withID: "a") == nil)
        try there.update("a") { $0["n"] = 2 }
        try await pull.run()
        #expect(try here.document(withID: "a")?["n"].int == 2)
        #expect(try here.expirationDate(of: "a") == nil)
        #expect(
            try here.revisionHistory(of: "a") == there.revisionHistory(of: "a"))
    }
}
