// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanLogging
import DivanReplication
import DivanTestSupport
import Synchronization
import Testing

/// A document that an end could not read or take for a while is passed by the checkpoint, and comes all the same.
@Suite(.timeLimit(.minutes(10))) struct PostponedDocumentTests {
    let here: Database
    let there: Database
    let stand: CouchStandIn
    let isIll = Switch()

    /// Whether the server fails over the document.
    final class Switch: Sendable {
        private let state = Mutex(true)
        var isOn: Bool { state.withLock { $0 } }
        func turnOff() { state.withLock { $0 = false } }
    }

    init() throws {
        here = try Database.inMemory(named: "here")
        there = try Database.inMemory(named: "there")
        stand = CouchStandIn(there)
    }

    /// A server that fails over what names "bad", while it is ill.
    private func serve() throws -> LoopbackServer {
        try stand.serve { [isIll] request, connection in
            let isAsked =
                request.target.contains("/bad")
                || request.target.contains("_bulk_")
                    && text(request.body).contains(#""bad""#)
            guard isIll.isOn, isAsked else { return false }
            connection.respond(
                status: 500, headers: [("Content-Type", "application/json")],
                body: Array(#"{"error":"unknown_error","reason":"odd"}"#.utf8))
            return true
        }
    }

    private func quick(_ settings: inout ReplicationConfiguration) {
        settings.retry.firstDelay = .milliseconds(1)
        settings.retry.longestDelay = .milliseconds(1)
        settings.checkpointInterval = .milliseconds(20)
        settings.timeToStop = .seconds(600)
    }

    private func fill(_ database: Database) throws {
        for n in 0..<5 { try database.put("d\(n)", [:], parent: nil) }
        try database.put("bad", [:], parent: nil)
        try database.put("e", [:], parent: nil)
    }

    @Test(arguments: [false, true])
    func `the next run brings it once the server is well again`(isPush: Bool) async throws {
        let server = try serve()
        defer { server.stop() }
        let (source, target) = isPush ? (here, there) : (there, here)
        try fill(source)
        func make() -> Replication {
            isPush
                ? here.makePushReplication(to: server.databaseURL, configure: quick)
                : here.makePullReplication(from: server.databaseURL, configure: quick)
        }
        let first = try await make().run()
        #expect(first.refused == 1 && first.transferred == 6)
        #expect(first.documentErrors.map(\.documentID) == ["bad"])
        // Another run fails over it no more than once, and ends well.
        let second = try await make().run()
        #expect(second.refused == 1 && second.examined <= 1)
        if isPush { #expect(try await make().pendingDocumentIDs() == ["bad"]) }
        isIll.turnOff()
        let third = try await make().run()
        #expect(third.transferred == 1 && third.refused == 0)
        #expect(try target.contains("bad"))
        // And then it is done.
        #expect(try await make().run().examined == 0)
        #expect(try await make().pendingDocumentIDs().isEmpty)
    }

    @Test(arguments: [false, true])
    func `a continuous replication tries it again by itself`(isPush: Bool) async throws {
        let server = try serve()
        defer { server.stop() }
        let (source, target) = isPush ? (here, there) : (there, here)
        try fill(source)
        let settings = { @Sendable (settings: inout ReplicationConfiguration) in
            quick(&settings)
            settings.isContinuous = true
        }
        let replication =
            isPush
            ? here.push(to: server.databaseURL, configure: settings)
            : here.pull(from: server.databaseURL, configure: settings)
        try await eventually {
            try target.documentCount == 6 && replication.summary.refused > 0
                && replication.activity == .idle
        }
        let runs = replication.runCount
        isIll.turnOff()
        try await eventually { try target.contains("bad") }
        #expect(replication.runCount == runs)
        await replication.stopAndWait()
    }

    @Test(arguments: [
        #""error":"os_process_error""#, #""error":"all_workers_died""#, #""error":"enospc""#,
        #""error":"busy","status":503"#,
    ])
    func `an error that _bulk_docs tells of a document is no refusal unless it is known as one`(
        error: String
    ) async throws {
        let server = try stand.serve { [isIll] request, connection in
            guard isIll.isOn, request.target.contains("_bulk_docs") else { return false }
            isIll.turnOff()
            connection.respond(
                status: 201, headers: [("Content-Type", "application/json")],
                body: Array(
                    #"[{"id":"bad",\#(error),"reason":"odd"},{"id":"e",\#(error),"reason":"odd"}]"#
                        .utf8))
            return true
        }
        defer { server.stop() }
        try here.put("bad", [:], parent: nil)
        try here.put("e", [:], parent: nil)
        let push = here.makePushReplication(to: server.databaseURL, configure: quick)
        let summary = try await push.run()
        #expect(summary.transferred == 2 && summary.refused == 0)
        #expect(try there.documentCount == 2)
    }

    @Test(arguments: [
        #""error":"doc_validation""#, #""error":"TypeError""#, #""error":"odd","status":403"#,
    ])
    func `a refusal that _bulk_docs tells of a document is one at once`(error: String) async throws
    {
        let server = try stand.serve { request, connection in
            guard request.target.contains("_bulk_docs") else { return false }
            connection.respond(
                status: 201, headers: [("Content-Type", "application/json")],
                body: Array(#"[{"id":"bad",\#(error),"reason":"odd"}]"#.utf8))
            return true
        }
        defer { server.stop() }
        try here.put("bad", [:], parent: nil)
        try here.put("e", [:], parent: nil)
        let push = here.makePushReplication(to: server.databaseURL, configure: quick)
        #expect(try await push.run().refused == 1)
        #expect(push.runCount == 1)
        #expect(try await push.run().examined == 0)
    }

    @Test func `what has come by another way, or is gone, is no longer asked for`() async throws {
        let server = try serve()
        defer { server.stop() }
        try fill(there)
        let pull = here.makePullReplication(from: server.databaseURL, configure: quick)
        #expect(try await pull.run().refused == 1)
        try there.purge("bad")
        isIll.turnOff()
        #expect(try await pull.run().refused == 0)
        #expect(try await pull.run().examined == 0)
    }

    @Test func `what was edited meanwhile takes its place`() async throws {
        let server = try serve()
        defer { server.stop() }
        try fill(here)
        let push = here.makePushReplication(to: server.databaseURL, configure: quick)
        #expect(try await push.run().refused == 1)
        try here.delete("bad")
        isIll.turnOff()
        #expect(try await push.run().examined == 1)
        #expect(try there.leafRevisions(of: "bad").map(\.isDeleted) == [true])
        #expect(try await push.run().examined == 0)
    }

    @Test func `what a server has said of a document that is postponed is not logged`()
        async throws
    {
        let server = try serve()
        defer { server.stop() }
        try fill(here)
        let errors = try await here.makePushReplication(to: server.databaseURL, configure: quick)
            .run().documentErrors
        #expect(errors.first?.message.contains("odd") == true)
        #expect(errors.first.map { Log.words(of: $0).contains("odd") } == false)
    }

    @Test func `a transformer that cannot work for now loses no document`() async throws {
        try there.put("a", ["v": 1], parent: nil)
        let settings = { @Sendable [isIll] (settings: inout ReplicationConfiguration) in
            settings.propertyTransformer = { properties in
                struct Locked: Error {}
                if isIll.isOn { throw Locked() }
                return properties
            }
        }
        let first = try await here.makePullReplication(from: there, configure: settings).run()
        #expect(first.refused == 1)
        isIll.turnOff()
        let second = try await here.makePullReplication(from: there, configure: settings).run()
        #expect(second.transferred == 1)
        #expect(try here.contains("a"))
    }

    @Test(arguments: [false, true])
    func `a document over which a validation function crashes holds up no other, and comes later`(
        isPush: Bool
    ) async throws {
        let (source, target) = isPush ? (here, there) : (there, here)
        target.setValidation(named: "odd") { [isIll] revision, _ in
            guard revision.id == "bad", isIll.isOn else { return }
            throw DatabaseError(.scriptFailed, "The process ended.")
        }
        try fill(source)
        func make() -> Replication {
            isPush
                ? here.makePushReplication(to: there, configure: quick)
                : here.makePullReplication(from: there, configure: quick)
        }
        #expect(try await make().run().transferred == 6)
        #expect(try target.documentCount == 6)
        isIll.turnOff()
        #expect(try await make().run().transferred == 1)
        #expect(try target.contains("bad"))
    }

    @Test func `validation that never works holds everything, and nothing is passed`()
        async throws
    {
        here.setValidation(named: "odd") { [isIll] _, _ in
            if isIll.isOn { throw DatabaseError(.scriptFailed, "No process starts.") }
        }
        try fill(there)
        await #expect(throws: ReplicationError.self) {
            try await here.makePullReplication(from: there, configure: quick).run()
        }
        isIll.turnOff()
        #expect(
            try await here.makePullReplication(from: there, configure: quick).run().transferred
                == 7)
    }
}
