// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanReplication
import DivanTestSupport
import FoundationEssentials
import Synchronization
import Testing

/// Single contents that are brought when they are wanted, from servers that do what they like.
@Suite(.timeLimit(.minutes(10))) struct AttachmentDownloadTests {
    private static let size = 900_000
    private static let content = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 5) }

    let here: Database
    let there: Database

    init() throws {
        here = try Database.inMemory(named: "here")
        there = try Database.inMemory(named: "there")
    }

    /// A document here whose attachment's content is only there.
    private func deferred(_ id: DocumentID = "a") async throws -> DocumentAttachment {
        let document = MutableDocument(["n": 1], id: id)
        document.setAttachment(named: "photo", contentType: "x/y", .bytes(Self.content))
        try there.save(document)
        let pull = here.makePullReplication(from: there) { $0.downloadsAttachments = false }
        try await pull.run()
        return try await photo(id)
    }

    private func photo(_ id: DocumentID = "a") async throws -> DocumentAttachment {
        try #require(try here.document(withID: id)?.attachment(named: "photo"))
    }

    /// A replication to a server that answers as it is told.
    private func pull(_ server: LoopbackServer) -> Replication {
        here.makePullReplication(from: server.databaseURL) {
            $0.retry.firstDelay = .milliseconds(1)
            $0.retry.longestDelay = .milliseconds(2)
        }
    }

    private func failure(_ pull: Replication, _ attachment: DocumentAttachment) async
        -> ReplicationError?
    {
        do {
            try await pull.downloadAttachment(attachment)
            return nil
        } catch { return error as? ReplicationError }
    }

    private func expectNothingKept() async throws {
        #expect(try await !photo().isContentAvailable)
        #expect(try here.verify().isEmpty)
        #expect(try here.unusedAttachments().files == 0)
    }

    @Test func `a connection that breaks is taken up where it broke`() async throws {
        let attachment = try await deferred()
        let ranges = Mutex<[String?]>([])
        let server = try LoopbackServer { request, connection in
            let range = request.headers["range"]
            ranges.withLock { $0.append(range) }
            let start = range.flatMap { Int($0.dropFirst(6).dropLast()) } ?? 0
            let end = min(start + 400_000, Self.size)
            let status =
                start == 0
                ? "200 OK"
                : "206 Partial\nContent-Range: bytes \(start)-\(Self.size - 1)/\(Self.size)"
            connection.write(
                lines: "HTTP/1.1 \(status)\nContent-Length: \(Self.size - start)\n\n")
            connection.write(Self.content[start..<end])
            if end < Self.size { connection.interrupt() }
        }
        defer { server.stop() }
        let seen = Mutex<[Int]>([])
        try await pull(server).downloadAttachment(attachment) { progress in
            #expect(progress.total == Self.size)
            seen.withLock { $0.append(progress.completed) }
        }
        #expect(try attachment.content() == Self.content)
        let asked = ranges.withLock { $0 }
        #expect(asked.first == .some(nil))
        #expect(asked.count >= 3)
        #expect(asked.dropFirst().allSatisfy { $0?.hasPrefix("bytes=") ?? false })
        let told = seen.withLock { $0 }
        #expect(told == told.sorted())
        #expect(told.last == Self.size)
        // What is here is not asked for again.
        try await pull(server).downloadAttachment(attachment)
        #expect(ranges.withLock { $0.count } == asked.count)
    }

    @Test func `a server without ranges is asked again from the beginning`() async throws {
        let attachment = try await deferred()
        let asked = Mutex(0)
        let server = try LoopbackServer { _, connection in
            let count = asked.withLock { asked in
                asked += 1
                return asked
            }
            connection.write(lines: "HTTP/1.1 200 OK\nContent-Length: \(Self.size)\n\n")
            connection.write(Self.content[..<(count == 1 ? 300_000 : Self.size)])
            if count == 1 { connection.interrupt() }
        }
        defer { server.stop() }
        try await pull(server).downloadAttachment(attachment)
        #expect(try attachment.content() == Self.content)
        #expect(asked.withLock { $0 } == 2)
    }

    @Test func `other bytes than the digest says are refused, and not asked for again`()
        async throws
    {
        let attachment = try await deferred()
        let asked = Mutex(0)
        let server = try LoopbackServer { _, connection in
            asked.withLock { $0 += 1 }
            var other = Self.content
            other[450_000] ^= 1
            connection.respond(status: 200, body: other)
        }
        defer { server.stop() }
        let error = await failure(pull(server), attachment)
        #expect(error?.code == .invalidAnswer)
        #expect(error?.isTransient == false)
        #expect(error?.documentID == "a")
        #expect(asked.withLock { $0 } == 1)
        try await expectNothingKept()
    }

    @Test(arguments: [0, 17, size + 5])
    func `an answer of another length is refused`(length: Int) async throws {
        let attachment = try await deferred()
        for isChunked in [false, true] {
            let server = try LoopbackServer { _, connection in
                let body = [UInt8](repeating: 0x3C, count: length)
                guard isChunked else { return _ = connection.respond(status: 200, body: body) }
                connection.write(lines: "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n")
                if !body.isEmpty { connection.write(chunk: body) }
                connection.write(chunk: [])
            }
            defer { server.stop() }
            let error = await failure(pull(server), attachment)
            #expect(error?.code == .invalidAnswer)
            try await expectNothingKept()
        }
    }

    @Test func `a server that is gone is tried as often as the policy says`() async throws {
        let attachment = try await deferred()
        let server = try LoopbackServer()
        server.stop()
        defer { withExtendedLifetime(server) {} }
        #expect(await failure(pull(server), attachment)?.code == .unreachable)
        // And one that is busy, as often.
        let asked = Mutex(0)
        let busy = try LoopbackServer { _, connection in
            asked.withLock { $0 += 1 }
            connection.respond(status: 503, headers: [("Retry-After", "0")])
        }
        defer { busy.stop() }
        #expect(await failure(pull(busy), attachment)?.code == .server)
        #expect(asked.withLock { $0 } == RetryPolicy().maximumAttempts)
        try await expectNothingKept()
    }

    @Test
    func `an attachment that is gone there is told, and so is a revision that may not be seen`()
        async throws
    {
        let attachment = try await deferred()
        let targets = Mutex<[String]>([])
        let server = try LoopbackServer { request, connection in
            targets.withLock { $0.append(request.target) }
            connection.respond(status: 404, body: Array(#"{"error":"not_found"}"#.utf8))
        }
        defer { server.stop() }
        #expect(await failure(pull(server), attachment)?.code == .notFound)
        // The current revision was asked for, too.
        #expect(targets.withLock { $0.map { $0.contains("rev=") } } == [true, false])
        let strict = try LoopbackServer { _, connection in connection.respond(status: 403) }
        defer { strict.stop() }
        #expect(await failure(pull(strict), attachment)?.code == .forbidden)
        try await expectNothingKept()
    }

    @Test
    func `a revision that is gone there gives way to the current one, if its content is the same`()
        async throws
    {
        let attachment = try await deferred()
        let tag = String(attachment.digest.dropFirst(5))
        for (tag, isSame) in [
            (tag, true), (String(tag.reversed().drop { $0 == "=" }) + "=", false),
        ] {
            let server = try LoopbackServer { request, connection in
                guard !request.target.contains("rev=") else {
                    return _ = connection.respond(status: 404)
                }
                connection.respond(
                    status: 200, headers: [("ETag", "\"\(tag)\"")], body: Self.content)
            }
            defer { server.stop() }
            if !isSame {
                try here.purge("a")
                try here.compact()
                let again = here.makePullReplication(from: there) {
                    $0.downloadsAttachments = false
                    $0.usesCheckpoints = false
                }
                try await again.run()
            }
            let error = await failure(pull(server), try await photo())
            #expect(error?.code == (isSame ? nil : .notFound))
        }
    }

    @Test func `a document that is purged meanwhile keeps nothing`() async throws {
        let attachment = try await deferred()
        let here = here
        do {
            try await here.makePullReplication(from: there).downloadAttachment(attachment) {
                if $0.completed == $0.total { try here.purge("a") }
            }
            Issue.record("Nobody waited for it.")
        } catch let error as ReplicationError {
            #expect(error.code == .database)
            #expect((error.underlying as? DatabaseError)?.code == .documentNotFound)
        }
        #expect(try here.verify().isEmpty)
        #expect(try here.unusedAttachments().files == 0)
    }

    @Test func `a database that is closed meanwhile ends it with an error`() async throws {
        let attachment = try await deferred()
        let here = here
        do {
            try await here.makePullReplication(from: there).downloadAttachment(attachment) {
                if $0.completed > 0 { here.close() }
            }
            Issue.record("A closed database took content.")
        } catch let error as ReplicationError {
            #expect((error.underlying as? DatabaseError)?.code == .databaseClosed)
        }
    }

    @Test func `cancelling the task ends it midway and keeps nothing`() async throws {
        let attachment = try await deferred()
        let server = try LoopbackServer { _, connection in
            connection.write(lines: "HTTP/1.1 200 OK\nContent-Length: \(Self.size)\n\n")
            connection.write(Self.content[..<200_000])
            // And then nothing more.
            connection.waitForClose()
        }
        defer { server.stop() }
        let hasBegun = Mutex(false)
        let pull = pull(server)
        let task = Task {
            try await pull.downloadAttachment(attachment) { progress in
                if progress.completed > 0 { hasBegun.withLock { $0 = true } }
            }
        }
        await eventually { hasBegun.withLock { $0 } }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await expectNothingKept()
    }

    @Test func `what the app throws from its closure ends it`() async throws {
        struct Enough: Error {}
        let attachment = try await deferred()
        await #expect(throws: Enough.self) {
            try await here.makePullReplication(from: there).downloadAttachment(attachment) {
                if $0.completed > 0 { throw Enough() }
            }
        }
        try await expectNothingKept()
    }

    @Test func `an attachment of another database is refused`() async throws {
        _ = try await deferred()
        let other = try #require(try there.document(withID: "a")).attachments[0]
        let error = await failure(here.makePullReplication(from: there), other)
        #expect(error?.code == .invalidSetting)
    }

    @Test func `a revision whose content is not here is told of by a push, and goes once it is`()
        async throws
    {
        let attachment = try await deferred()
        try here.put("other", [:], parent: nil)
        let third = try Database.inMemory(named: "third")
        let stand = CouchStandIn(third)
        let server = try stand.serve()
        defer { server.stop() }
        let push = here.makePushReplication(to: server.databaseURL) { $0.isContinuous = true }
        let errors = Mutex<[ReplicationError]>([])
        let token = push.addDocumentListener { event in
            if let error = event.error { errors.withLock { $0.append(error) } }
        }
        push.start()
        try await eventually { try third.contains("other") && push.activity == .idle }
        #expect(try !third.contains("a"))
        await eventually { errors.withLock { $0.count } == 1 }
        #expect(errors.withLock { $0.first?.code } == .contentMissing)
        #expect(errors.withLock { $0.first?.documentID } == "a")
        // No request carried half of it.
        #expect(stand.count("PUT a") == 0)
        try await here.makePullReplication(from: there).downloadAttachment(attachment)
        try await eventually { try third.contains("a") }
        #expect(
            try third.document(withID: "a")?.attachment(named: "photo")?.content()
                == Self.content)
        await push.stopAndWait()
        withExtendedLifetime(token) {}
        #expect(try here.verify().isEmpty)
    }

    @Test func `an edit goes back without the content, which the other end has`() async throws {
        _ = try await deferred()
        try here.update("a") { $0["n"] = 2 }
        try await here.makePushReplication(to: there).run()
        #expect(try there.document(withID: "a")?["n"].int == 2)
        #expect(
            try there.document(withID: "a")?.attachment(named: "photo")?.content()
                == Self.content)
        // The content serves both revisions here.
        try await here.makePullReplication(from: there).downloadAttachment(try await photo())
        #expect(try await photo().content() == Self.content)
        try here.compact()
        #expect(try await photo().content() == Self.content)
        #expect(try here.verify().isEmpty)
    }

    @Test func `a merge may take what is not here`() async throws {
        _ = try await deferred()
        let theirs = MutableDocument(["n": 5], id: "a")
        theirs.setAttachment(named: "photo", contentType: "x/y", .bytes([9, 9, 9]))
        let other = try Database.inMemory(named: "other")
        try other.save(theirs)
        let pull = here.makePullReplication(from: other) { $0.downloadsAttachments = false }
        try await pull.run()
        let revisions = try here.conflictingRevisions(of: "a")
        #expect(revisions.count == 2)
        let loser = try #require(revisions.last?.attachments.first)
        try here.resolveConflicts(of: "a") { _ in
            .save(["n": 7, "_attachments": ["photo": .object(loser.metadata)]])
        }
        #expect(try await photo().digest == loser.digest)
        #expect(try here.verify().isEmpty)
    }
}
