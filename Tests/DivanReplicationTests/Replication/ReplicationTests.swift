// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import DivanTestSupport
import Synchronization
import Testing

/// Replications between two databases of this process: all that does not depend on HTTP.
@Suite(.timeLimit(.minutes(10))) struct ReplicationTests {
    let here: Database
    let there: Database

    init() throws {
        here = try Database.inMemory(named: "here")
        there = try Database.inMemory(named: "there")
    }

    private func fill(_ database: Database, _ count: Int, prefix: String = "doc") throws {
        try database.inBatch {
            for n in 0..<count {
                try database.put("\(prefix)\(n)", ["n": .integer(Int64(n))], parent: nil)
            }
        }
    }

    @Test func `a push brings every document over and stops`() async throws {
        try fill(here, 2_500)
        try here.delete("doc7")
        let push = here.makePushReplication(to: there)
        push.start()
        await push.waitUntilEnded()
        #expect(push.activity == .stopped)
        #expect(push.lastError == nil)
        #expect(push.completedChangesCount == 2_500)
        #expect(push.changesCount == 2_500)
        #expect(try there.documentCount == 2_499)
        #expect(try there.revisionTree(of: "doc7") != nil)
        #expect(
            try there.document(withID: "doc8")?.revisionID
                == here.document(withID: "doc8")?.revisionID)
    }

    @Test func `a push of some documents leaves out what only looks like one of them`() async throws
    {
        // Composed and decomposed, two IDs that Swift calls equal.
        try here.put("\u{E9}", [:], parent: nil)
        try here.put("e\u{301}", [:], parent: nil)
        try await here.makePushReplication(to: there) { $0.documentIDs = ["\u{E9}"] }.run()
        #expect(try there.documentCount == 1)
        #expect(try there.contains("\u{E9}"))
    }

    @Test func `conflicts of two documents whose IDs look the same both end at arrival`()
        async throws
    {
        let ids = ["\u{E9}", "e\u{301}"]
        for id in ids {
            try here.putExistingRevision(DocumentID(id), ["n": 1], history: ["1-a"])
            try there.putExistingRevision(DocumentID(id), ["n": 2], history: ["1-b"])
        }
        try await here.makePullReplication(from: there) { $0.conflictResolver = .keepWinner }
            .run()
        for id in ids { #expect(try here.conflict(of: DocumentID(id)) == nil) }
    }

    @Test func `a live query fills as a pull goes on`() async throws {
        try fill(there, 1_200)
        let view = here.view(named: "numbers")
        view.setMap(version: "1", reduce: .count) { document, emit in emit(document["n"], nil) }
        let pull = here.makePullReplication(from: there)
        var counts: [Int64] = []
        for try await rows in view.query().live(interval: .zero) {
            counts.append(rows.first?.value?.int64 ?? 0)
            if counts.count == 1 { pull.start() }
            if counts.last == 1_200 { break }
        }
        await pull.waitUntilEnded()
        #expect(pull.lastError == nil)
        #expect(counts.first == 0 && counts == counts.sorted())
    }

    @Test func `a pull brings every leaf, and whole histories`() async throws {
        var parent: RevisionID?
        for n in 0..<4 {
            parent = try there.put("a", ["n": .integer(Int64(n))], parent: parent).revisionID
        }
        try there.put(
            "a", ["branch": true], parent: try there.revisionHistory(of: "a")[2],
            options: .allowConflict)
        let pull = here.makePullReplication(from: there)
        pull.start()
        await pull.waitUntilEnded()
        #expect(
            try here.leafRevisions(of: "a").map(\.revisionID)
                == there.leafRevisions(of: "a").map(\.revisionID))
        #expect(try here.revisionHistory(of: "a") == there.revisionHistory(of: "a"))
    }

    @Test func `a second run transfers nothing, also with objects made anew`() async throws {
        try fill(here, 50)
        let first = here.makePushReplication(to: there)
        first.start()
        await first.waitUntilEnded()
        let second = here.makePushReplication(to: there)
        second.start()
        await second.waitUntilEnded()
        #expect(second.status.examined == 0)
        try here.put("new", [:], parent: nil)
        second.start()
        await second.waitUntilEnded()
        #expect(second.changesCount == 1)
    }

    @Test(arguments: [false, true])
    func `a run that is reset begins at the beginning`(byOldName: Bool) async throws {
        try fill(here, 5)
        let push = here.makePushReplication(to: there)
        push.start()
        await push.waitUntilEnded()
        let summary = try await here.makePushReplication(to: there) {
            if byOldName {
                $0.customProperties["reset"] = true
            } else {
                $0.resetsCheckpoint = true
            }
        }.run()
        #expect(summary.examined == 5)
        #expect(summary.transferred == 0)
    }

    @Test func `attachments come along, and only those that changed the next time`() async throws {
        let big = [UInt8](repeating: 7, count: 700_000)
        try here.put(
            "a", [:], parent: nil, attachments: ["big": .bytes(big), "small": .bytes([1])])
        let push = here.makePushReplication(to: there)
        push.start()
        await push.waitUntilEnded()
        #expect(try there.document(withID: "a")?.attachment(named: "big")?.content() == big)
        let document = try #require(try here.document(withID: "a")).toMutable()
        document.setAttachment(named: "small", contentType: nil, .bytes([2]))
        try here.save(document)
        push.start()
        await push.waitUntilEnded()
        #expect(push.lastError == nil)
        #expect(try there.document(withID: "a")?.attachment(named: "small")?.content() == [2])
        #expect(try there.document(withID: "a")?.attachment(named: "big")?.content() == big)
    }

    @Test func `a document that the target refuses is told of, and the rest goes on`() async throws
    {
        try fill(here, 20)
        there.setValidation(named: "odd") { revision, context in
            if revision["n"].int == 13 { throw context.rejection("unlucky") }
        }
        let push = here.makePushReplication(to: there)
        let refused = Mutex<[String]>([])
        let token = push.addDocumentListener { event in
            if event.error != nil { refused.withLock { $0.append(event.id.text) } }
        }
        push.start()
        await push.waitUntilEnded()
        #expect(push.lastError?.code == .forbidden)
        #expect(push.lastError?.documentID == "doc13")
        #expect(try there.documentCount == 19)
        #expect(try await push.pendingDocumentIDs().isEmpty)
        // It is offered again when it changes.
        try here.update("doc13") { $0["n"] = 14 }
        push.start()
        await push.waitUntilEnded()
        #expect(try there.documentCount == 20)
        _ = token
    }

    @Test func `each revision gives an event`() async throws {
        try fill(here, 3)
        let push = here.makePushReplication(to: there)
        let events = push.documentEvents
        push.start()
        var ids: Set<String> = []
        for await event in events {
            #expect(event.isPush)
            #expect(event.error == nil)
            ids.insert(event.id.text)
        }
        #expect(ids == ["doc0", "doc1", "doc2"])
    }

    @Test func `changes that it makes have it as their source`() async throws {
        try fill(there, 1)
        let source = Mutex<ChangeSource?>(nil)
        let token = try here.addChangeListener { change in
            source.withLock { $0 = change.changes.first?.source }
        }
        let pull = here.makePullReplication(from: there)
        pull.start()
        await pull.waitUntilEnded()
        await eventually { source.withLock { $0 } != nil }
        #expect(source.withLock { $0 } == .replication("memory:there"))
        _ = token
    }

    @Test func `a filter of the database and its parameters decide what is pushed`() async throws {
        for (n, owner) in ["Waldo", "Ann", "Waldo"].enumerated() {
            try here.put("doc\(n)", ["owner": .string(owner)], parent: nil)
        }
        here.setFilter(named: "byOwner") { document, parameters in
            document["owner"].value == parameters["name"]
        }
        let push = here.makePushReplication(to: there) {
            $0.filter = "byOwner"
            $0.filterParameters = ["name": "Waldo"]
        }
        #expect(try await push.pendingDocumentIDs() == ["doc0", "doc2"])
        push.start()
        await push.waitUntilEnded()
        #expect(try there.documentCount == 2)
        #expect(try await push.pendingDocumentIDs().isEmpty)
    }

    @Test func `a filter that is not registered is an error`() async throws {
        let push = here.makePushReplication(to: there) { $0.filter = "none" }
        push.start()
        await push.waitUntilEnded()
        #expect(push.lastError?.code == .invalidSetting)
    }

    @Test func `a selector limits what is pushed`() async throws {
        try fill(here, 10)
        let push = here.makePushReplication(to: there) { $0.selector = ["n": ["$gte": 7]] }
        push.start()
        await push.waitUntilEnded()
        #expect(push.lastError == nil)
        #expect(try there.documentCount == 3)
        let wrong = here.push(to: there) { $0.selector = ["n": ["$none": 1]] }
        await wrong.waitUntilEnded()
        #expect(wrong.lastError?.code == .invalidSetting)
    }

    @Test func `a list of document IDs limits push and pull`() async throws {
        try fill(here, 10)
        let push = here.makePushReplication(to: there) {
            $0.documentIDs = ["doc3", "doc5", "nowhere"]
        }
        push.start()
        await push.waitUntilEnded()
        #expect(try there.documentCount == 2)
        let third = try Database.inMemory(named: "third")
        let pull = third.makePullReplication(from: here) { $0.documentIDs = ["doc9"] }
        pull.start()
        await pull.waitUntilEnded()
        #expect(try third.documentCount == 1)
    }

    @Test func `a transformer changes properties on their way and nothing else`() async throws {
        try here.put(
            "a", ["secret": "plain", "_attachments": ["t": ["data": "aGVsbG8="]]], parent: nil)
        let push = here.makePushReplication(to: there) {
            $0.propertyTransformer = { properties in
                var properties = properties
                #expect(properties["_id"] == "a")
                properties["secret"] = "coded"
                properties["_id"] = "b"
                properties["_attachments"] = nil
                return properties
            }
        }
        push.start()
        await push.waitUntilEnded()
        let arrived = try #require(try there.document(withID: "a"))
        #expect(arrived.string(forKey: "secret") == "coded")
        #expect(arrived.attachmentNames == ["t"])
        #expect(arrived.revisionID == (try here.document(withID: "a"))?.revisionID)
    }

    // MARK: - Conflicts and access

    @Test func `a resolver ends conflicts as they arrive, and leaves no note of them`() async throws
    {
        let first = try here.put("a", ["n": 1], parent: nil)
        let push = here.makePushReplication(to: there)
        push.start()
        await push.waitUntilEnded()
        try here.put("a", ["mine": 1, "n": 1], parent: first.revisionID)
        try there.put("a", ["theirs": 1, "n": 1], parent: first.revisionID)
        let pull = here.makePullReplication(from: there) { $0.conflictResolver = .mergeFields }
        pull.start()
        await pull.waitUntilEnded()
        #expect(pull.lastError == nil)
        #expect(try here.conflictCount == 0)
        let merged = try #require(try here.document(withID: "a"))
        #expect(merged["mine"].int == 1)
        #expect(merged["theirs"].int == 1)
    }

    @Test func `a conflict noted by a run that died is ended by the next one`() async throws {
        let first = try here.put("a", ["n": 1], parent: nil)
        try here.put("a", ["n": 2], parent: first.revisionID)
        try here.put("a", ["n": 3], parent: first.revisionID, options: .allowConflict)
        var reception = Reception(source: "there")
        reception.resolver = .keepWinner
        reception.noteID = "note"
        try here.putLocalDocument("note", ["ids": ["a", "gone"]])
        try await reception.resolveNoted(in: here)
        #expect(try here.conflictCount == 0)
        #expect(try here.localDocument("note") == nil)
    }

    // MARK: - For ever

    @Test func `a continuous replication becomes idle, and brings what comes later`() async throws {
        try fill(here, 10)
        let push = here.makePushReplication(to: there) { $0.isContinuous = true }
        push.start()
        await eventually { push.activity == .idle }
        #expect(try there.documentCount == 10)
        try here.put("later", [:], parent: nil)
        try await eventually { try there.document(withID: "later") != nil }
        // Counts begin anew when it gets to work after being idle.
        await eventually { push.completedChangesCount == 1 && push.activity == .idle }
        #expect(push.changesCount == 1)
        #expect(try await push.pendingDocumentIDs().isEmpty)
        await push.stopAndWait()
        #expect(push.activity == .stopped)
        let again = here.makePushReplication(to: there) { $0.isContinuous = true }
        again.start()
        await eventually { again.activity == .idle }
        #expect(again.status.examined == 0)
        await again.stopAndWait()
    }

    @Test func `a push and a pull keep two databases the same`() async throws {
        let (push, pull) = here.sync(with: there)
        try fill(here, 30, prefix: "h")
        try fill(there, 30, prefix: "t")
        try await eventually { try here.documentCount == 60 && there.documentCount == 60 }
        await push.stopAndWait()
        await pull.stopAndWait()
    }

    @Test func `three databases in a ring converge`() async throws {
        let third = try Database.inMemory(named: "third")
        let ring = [(here, there), (there, third), (third, here)]
        let pulls = ring.map { from, to in to.pull(from: from) { $0.isContinuous = true } }
        try fill(here, 5, prefix: "a")
        try fill(there, 5, prefix: "b")
        try fill(third, 5, prefix: "c")
        for database in [here, there, third] {
            try await eventually { try database.documentCount == 15 }
        }
        for pull in pulls { await pull.stopAndWait() }
    }

    @Test func `closing the database ends its replications`() async throws {
        let push = here.makePushReplication(to: there) { $0.isContinuous = true }
        push.start()
        await eventually { push.activity == .idle }
        here.close()
        await push.waitUntilEnded()
        #expect(push.activity == .stopped)
    }

    @Test func `suspending ends the traffic until it is resumed`() async throws {
        let push = here.makePushReplication(to: there) { $0.isContinuous = true }
        push.start()
        await eventually { push.activity == .idle }
        await push.suspend()
        #expect(push.activity == .offline)
        #expect(push.isSuspended)
        #expect(!push.isRunning && here.replications.isEmpty)
        try fill(here, 1)
        #expect(try there.documentCount == 0)
        push.resume()
        try await eventually { try there.documentCount == 1 }
        await push.restart()
        #expect(push.isRunning)
        await push.stopAndWait()
    }

    @Test func `starting twice, and stopping what is not started, do nothing`() async throws {
        let push = here.makePushReplication(to: there)
        push.stop()
        push.start()
        push.start()
        await push.waitUntilEnded()
        push.stop()
        #expect(push.activity == .stopped)
    }

    @Test func `the stream of statuses ends with the replication`() async throws {
        try fill(here, 200)
        let push = here.makePushReplication(to: there)
        push.start()
        var last: ReplicationStatus?
        for await status in push.statuses {
            #expect(status.transferred <= status.total)
            last = status
        }
        #expect(last?.activity == .stopped)
        var late: [ReplicationStatus] = []
        for await status in push.statuses { late.append(status) }
        #expect(late.map(\.activity) == [.stopped])
    }

    @Test func `retries wait ever longer, up to a limit`() {
        var policy = RetryPolicy()
        policy.longestDelay = .seconds(60)
        #expect(policy.delay(after: 1, random: 1) == .seconds(2))
        #expect(policy.delay(after: 1, random: 0) == .seconds(1))
        #expect(policy.delay(after: 4, random: 1) == .seconds(16))
        #expect(policy.delay(after: 1_000, random: 1) == .seconds(60))
    }

    @Test func `credentials are in no description`() {
        let push = here.makePushReplication(to: "http://ann:secret@host:5984/db?key=secret")
        #expect(!push.description.contains("secret"))
        #expect(push.description.contains("'http://host:5984/db'"))
        let split = here.makePushReplication(to: "http://ann:sec/ret@host:5984/db")
        #expect(split.description.contains("'http://host:5984/db'"))
        // A mark on a separator makes another character of it.
        for url in ["http://\u{301}ann:secret@host/db", "http://ann:secret@\u{301}host/db"] {
            #expect(!here.makePushReplication(to: url).description.contains("secret"))
        }
    }
}
