// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanReplication
import DivanTestSupport
import Synchronization
import Testing

/// What of attachments goes over the wire, counted in bytes at the server.
@Suite(.timeLimit(.minutes(10))) struct AttachmentTrafficTests {
    private static let size = 400_000
    private static let large = [UInt8](repeating: 0x5A, count: size)

    let here: Database
    let there: Database
    let stand: CouchStandIn
    let traffic = Traffic()

    init() throws {
        here = try Database.inMemory(named: "here")
        there = try Database.inMemory(named: "there")
        stand = CouchStandIn(there)
    }

    private func attach(_ id: DocumentID, to database: Database, _ contents: [String: [UInt8]])
        throws
    {
        let document = MutableDocument(["n": 1], id: id)
        for (name, bytes) in contents {
            document.setAttachment(named: name, contentType: "x/y", .bytes(bytes))
        }
        try database.save(document)
    }

    private func content(_ database: Database, _ id: DocumentID, _ name: String = "large") throws
        -> [UInt8]?
    {
        try database.document(withID: id)?.attachment(named: name)?.content()
    }

    @Test func `a push of edited properties sends no byte of the attachments`() async throws {
        let server = try stand.serve(traffic: traffic)
        defer { server.stop() }
        try attach("a", to: here, ["large": Self.large, "small": [1, 2]])
        let push = here.makePushReplication(to: server.databaseURL)
        try await push.run()
        #expect(traffic.received > Self.size)
        traffic.reset()
        for n in Int64(2)...4 {
            try here.update("a") { $0["n"] = Fragment(.integer(n)) }
            try await push.run()
        }
        #expect(traffic.received < 20_000)
        // Of two attachments only the one that changed goes.
        let edited = try #require(try here.document(withID: "a")).toMutable()
        edited.setAttachment(named: "small", contentType: "x/y", .bytes([3]))
        try here.save(edited)
        try await push.run()
        #expect(traffic.received < 40_000)
        #expect(try content(there, "a") == Self.large)
        #expect(try content(there, "a", "small") == [3])
        #expect(try there.document(withID: "a")?["n"].int == 4)
    }

    @Test func `a pull of edited properties fetches no byte of the attachments`() async throws {
        let server = try stand.serve(traffic: traffic)
        defer { server.stop() }
        try attach("a", to: there, ["large": Self.large])
        let pull = here.makePullReplication(from: server.databaseURL)
        try await pull.run()
        #expect(traffic.sent > Self.size)
        traffic.reset()
        for n in Int64(2)...4 {
            try there.update("a") { $0["n"] = Fragment(.integer(n)) }
            try await pull.run()
        }
        #expect(traffic.sent < 20_000)
        #expect(try content(here, "a") == Self.large)
        #expect(try here.document(withID: "a")?["n"].int == 4)
    }

    @Test func `an attachment without a type is pushed, and has none there`() async throws {
        let server = try stand.serve()
        defer { server.stop() }
        let document = MutableDocument(id: "a")
        document.setAttachment(named: "large", contentType: nil, .bytes(Self.large))
        document.setAttachment(named: "small", contentType: nil, .bytes([7]))
        try here.save(document)
        try await here.makePushReplication(to: server.databaseURL).run()
        #expect(try content(there, "a") == Self.large)
        #expect(try content(there, "a", "small") == [7])
        #expect(
            try there.document(withID: "a")?.attachment(named: "large")?.contentType == nil)
    }

    @Test func `header fields go with the upload of an attachment, too`() async throws {
        let uploads = Mutex<[[String: String]]>([])
        let server = try stand.serve { request, _ in
            if request.method == "PUT", request.target.hasPrefix("/db/a") {
                uploads.withLock { $0.append(request.headers) }
            }
            return false
        }
        defer { server.stop() }
        try attach("a", to: here, ["large": Self.large])
        let push = here.makePushReplication(to: server.databaseURL) {
            $0.headers = ["X-App": "notes", "X-Other": "1"]
        }
        try await push.run()
        let headers = uploads.withLock { $0 }
        #expect(headers.count == 1)
        #expect(headers.allSatisfy { $0["x-app"] == "notes" && $0["x-other"] == "1" })
    }

    @Test func `what may no longer be seen takes no other document's attachment along`()
        async throws
    {
        for id: DocumentID in ["gone", "kept"] { try attach(id, to: there, ["large": Self.large]) }
        let pull = here.makePullReplication(from: there) { $0.accessRemoval = .purge }
        try await pull.run()
        let gone = try #require(try there.document(withID: "gone"))
        try there.putExistingRevision(
            "gone", ["_removed": true], history: ["2-gone", gone.revisionID])
        try await pull.run()
        #expect(try here.document(withID: "gone") == nil)
        try here.compact()
        #expect(try content(here, "kept") == Self.large)
        // With the other policy the document stays, and its attachment with it.
        let keeping = try Database.inMemory(named: "keeping")
        let other = try Database.inMemory(named: "other")
        try attach("gone", to: other, ["large": Self.large])
        let second = keeping.makePullReplication(from: other) { $0.accessRemoval = .keep }
        try await second.run()
        let revision = try #require(try other.document(withID: "gone")).revisionID
        try other.putExistingRevision(
            "gone", ["_removed": true], history: ["2-gone", revision])
        try await second.run()
        try keeping.compact()
        #expect(try content(keeping, "gone") == Self.large)
        #expect(try keeping.verify().isEmpty)
    }

    @Test func `attachments stay while a continuous pull brings edits and compaction runs`()
        async throws
    {
        for n in 0..<20 {
            try attach("d\(n)", to: there, ["large": [UInt8](repeating: UInt8(n), count: 40_000)])
        }
        let server = try stand.serve()
        defer { server.stop() }
        let pull = here.makePullReplication(from: server.databaseURL) { $0.isContinuous = true }
        pull.start()
        for round in Int64(2)...6 {
            for n in 0..<20 {
                try there.update("d\(n)") { $0["n"] = Fragment(.integer(round)) }
            }
            if round == 4 { try there.compact() }
            try await eventually {
                try (0..<20).allSatisfy { n in
                    try here.document(withID: "d\(n)")?["n"].int64 == round
                }
            }
            try here.compact()
            for n in 0..<20 {
                #expect(
                    try content(here, "d\(n)") == [UInt8](repeating: UInt8(n), count: 40_000))
            }
        }
        await pull.stopAndWait()
        #expect(pull.lastError == nil)
        #expect(try here.verify().isEmpty)
    }
}
