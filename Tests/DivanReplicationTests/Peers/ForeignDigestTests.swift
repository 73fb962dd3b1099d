// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanReplication
import DivanTestSupport
import FoundationEssentials
import Synchronization
import Testing

/// Content that a server names by MD5, as CouchDB does, and that comes after its document.
@Suite(.timeLimit(.minutes(10))) struct ForeignDigestTests {
    private static let text = Array("hello, hello, hello".utf8)
    private static let textDigest = "md5-Eg1cKmoI4+3aK3H3D8s3yg=="

    private let folder = FileManager.default.temporaryDirectory
        .appending(path: "divan-foreign-\(UUID().uuidString)")

    /// A server with one document, whose attachment is `content`.
    private func stand(_ stub: JSONObject) throws -> CouchStandIn {
        let there = try Database.inMemory(named: "there")
        let saved = try there.put("a", ["n": 1], parent: nil)
        let stand = CouchStandIn(there)
        let document: JSONObject = [
            "_id": "a", "_rev": .string(saved.revisionID.description), "n": 1,
            "_attachments": ["note": .object(stub)],
        ]
        let answer: JSONObject = [
            "results": [["id": "a", "docs": [["ok": .object(document)]]]]
        ]
        stand.manner.withLock {
            $0.answers = [("_bulk_get", 200, JSONWriter.string(.object(answer)))]
        }
        return stand
    }

    private static func stub(_ digest: String, _ length: Int, _ more: JSONObject = [:])
        -> JSONObject
    {
        var stub: JSONObject = [
            "stub": true, "digest": .string(digest), "length": .integer(Int64(length)),
            "revpos": 1, "content_type": "text/plain",
        ]
        for (key, value) in more { stub[key] = value }
        return stub
    }

    private func pulled(_ here: Database, _ server: LoopbackServer) async throws -> (
        Replication, DocumentAttachment
    ) {
        let pull = here.makePullReplication(from: server.databaseURL) {
            $0.downloadsAttachments = false
            $0.retry.firstDelay = .milliseconds(1)
        }
        try await pull.run()
        return (
            pull, try #require(try here.document(withID: "a")?.attachment(named: "note"))
        )
    }

    private func open(_ name: String, key: UInt8?, create: Bool = true) throws -> Database {
        var options = DatabaseOptions()
        options.create = create
        options.encryptionKey = try key.map { try self.key($0) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return try Database.open(at: folder.appending(path: "\(name).divan"), options: options)
    }

    @Test func `content named by MD5 is downloaded, kept and sent on`() async throws {
        let server = try stand(Self.stub(Self.textDigest, Self.text.count)).serve { request, wire in
            guard request.target.hasPrefix("/db/a/note") else { return false }
            return wire.respond(status: 200, body: Self.text)
        }
        defer { server.stop() }
        let here = try Database.inMemory(named: "here")
        let (pull, note) = try await pulled(here, server)
        #expect(!note.isContentAvailable)
        #expect(note.digest == Self.textDigest)
        #expect(try here.verify().isEmpty)
        try await pull.downloadAttachment(note)
        #expect(try note.content() == Self.text)
        try note.verify()
        try here.compact()
        #expect(try note.content() == Self.text)
        #expect(try here.verify().isEmpty)
        // To where content is named by SHA-1, it goes whole.
        let third = try Database.inMemory(named: "third")
        try await here.makePushReplication(to: third).run()
        let sent = try third.document(withID: "a")?.attachment(named: "note")
        #expect(try sent?.content() == Self.text)
        #expect(sent?.digest.hasPrefix("sha1-") == true)
        // With its document it goes.
        try here.purge("a")
        #expect(try here.unusedAttachments().files == 1)
        try here.compact()
        #expect(try here.unusedAttachments().files == 0)
    }

    @Test func `content that has another MD5 is refused`() async throws {
        let server = try stand(Self.stub(Self.textDigest, Self.text.count)).serve { request, wire in
            guard request.target.hasPrefix("/db/a/note") else { return false }
            return wire.respond(status: 200, body: Self.text.reversed())
        }
        defer { server.stop() }
        let here = try Database.inMemory(named: "here")
        let (pull, note) = try await pulled(here, server)
        await #expect(throws: ReplicationError.self) { try await pull.downloadAttachment(note) }
        #expect(!note.isContentAvailable)
    }

    @Test func `coded content is downloaded as it is stored, and decoded when it is read`()
        async throws
    {
        let plain = [UInt8](repeating: 0x61, count: 50_000)
        let coded = try #require(GzipCoding.encode(plain))
        let sha1 = Blob(contentType: nil, coded).digest
        let stub = Self.stub(
            sha1, plain.count,
            ["encoding": "gzip", "encoded_length": .integer(Int64(coded.count))])
        let isDecoding = Mutex(true)
        let server = try stand(stub).serve { request, wire in
            guard request.target.hasPrefix("/db/a/note") else { return false }
            #expect(request.headers["accept-encoding"] == "gzip")
            guard !isDecoding.withLock({ $0 }) else {
                return wire.respond(status: 200, body: plain)
            }
            return wire.respond(
                status: 200, headers: [("Content-Encoding", "gzip")], body: coded)
        }
        defer { server.stop() }
        let here = try Database.inMemory(named: "here")
        let (pull, note) = try await pulled(here, server)
        // Something between has decoded it, so its digest tells nothing.
        await #expect(throws: ReplicationError.self) { try await pull.downloadAttachment(note) }
        isDecoding.withLock { $0 = false }
        try await pull.downloadAttachment(note) { #expect($0.total == coded.count) }
        #expect(try note.content() == plain)
        #expect(try here.verify().isEmpty)
    }

    @Test func `a stub that nobody could check later comes with its content at once`()
        async throws
    {
        let stand = try stand(Self.stub("crc-1", Self.text.count))
        let revision = try #require(try stand.database.document(withID: "a")).revisionID
        var inline = Self.stub("crc-1", Self.text.count, ["data": "aGk="])
        for key in ["stub", "digest", "length"] { inline[key] = nil }
        let whole: JSONObject = [
            "_id": "a", "_rev": .string(revision.description), "n": 1,
            "_revisions": [
                "start": 1, "ids": [.string(String(revision.description.dropFirst(2)))],
            ],
            "_attachments": ["note": .object(inline)],
        ]
        let server = try stand.serve { request, wire in
            guard request.method == "GET", request.target.hasPrefix("/db/a?"),
                request.target.contains("attachments=true")
            else { return false }
            return wire.respond(
                status: 200, headers: [("Content-Type", "application/json")],
                body: Array(JSONWriter.string(.object(whole)).utf8))
        }
        defer { server.stop() }
        let here = try Database.inMemory(named: "here")
        let (_, note) = try await pulled(here, server)
        #expect(try note.content() == Array("hi".utf8))
    }

    @Test(
        .enabled(if: TestEngine.isSQLite, "Only SQLite's databases are encrypted."),
        arguments: [nil, 5] as [UInt8?])
    func `content named by MD5 goes along with copies, other encryption and salvage`(key: UInt8?)
        async throws
    {
        defer { try? FileManager.default.removeItem(at: folder) }
        let server = try stand(Self.stub(Self.textDigest, Self.text.count)).serve { request, wire in
            guard request.target.hasPrefix("/db/a/note") else { return false }
            return wire.respond(status: 200, body: Self.text)
        }
        defer { server.stop() }
        let here = try open("here", key: key)
        let (pull, note) = try await pulled(here, server)
        // Without the content, too.
        try here.backup(to: folder.appending(path: "without.divan"))
        try await pull.downloadAttachment(note)
        #expect(try note.content() == Self.text)
        do {
            try here.backup(to: folder.appending(path: "copy.divan"))
            let copy = try open("copy", key: key, create: false)
            #expect(try copy.document(withID: "a")?.attachments[0].content() == Self.text)
            #expect(try copy.verify().isEmpty)
            copy.close()
            let without = try open("without", key: key, create: false)
            #expect(
                try without.document(withID: "a")?.attachments[0].isContentAvailable == false)
            #expect(try without.verify().isEmpty)
            without.close()
        }
        #expect(try here.verify().isEmpty)
        here.close()
        do {
            let place = folder.appending(path: "here.divan")
            let old = try key.map { try self.key($0) }
            try Database.changeEncryptionKey(at: place, from: old, to: self.key(9))
            let result = try Database.salvage(
                from: place, to: folder.appending(path: "saved.divan"),
                encryptionKey: self.key(9))
            #expect(result.problems.isEmpty)
            #expect(result.attachmentsCopied == 1)
            let saved = try open("saved", key: 9, create: false)
            #expect(try saved.document(withID: "a")?.attachments[0].content() == Self.text)
            #expect(try saved.verify().isEmpty)
            saved.close()
        }
    }

    private func key(_ byte: UInt8) throws -> EncryptionKey {
        try EncryptionKey(rawBytes: [UInt8](repeating: byte, count: 32))
    }
}
