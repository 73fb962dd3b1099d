// SPDX-License-Identifier: Apache-2.0

import Divan
import FoundationEssentials
import Synchronization
import Testing

/// Content that is not as declared, files that vanish, disks that are full: nothing is lost or half done.
@Suite struct AttachmentBadInputTests {
    private let sandbox = Sandbox()
    private let database: Database

    init() throws { database = try sandbox.database() }

    private func save(_ content: AttachmentContent, named name: String = "x") throws {
        let document = MutableDocument(id: "a")
        document.setAttachment(named: name, contentType: nil, content)
        try database.save(document)
    }

    /// Nothing was stored, and nothing is left over.
    private func expectNothing() throws {
        #expect(try database.document(withID: "a") == nil)
        #expect(try database.lastSequence == 0)
        #expect(try database.temporaryFiles() == [])
        #expect(try database.problems() == [])
    }

    @Test(arguments: [4, 6, 0, 1_000_000])
    func `content shorter or longer than declared is refused`(_ declared: Int) throws {
        let error = #expect(throws: DatabaseError.self) {
            try save(.stream(MadeStream(length: 5)).expecting(length: declared))
        }
        #expect(error?.code == .invalidDocument)
        #expect(error?.documentID == "a")
        #expect(error?.message.contains("'x'") == true)
        #expect(error?.message.contains("\(declared) were declared") == true)
        try expectNothing()
    }

    @Test(arguments: [
        "sha1-AAAAAAAAAAAAAAAAAAAAAAAAAAA=", "md5-AAAAAAAAAAAAAAAAAAAAAA==", "sha9-x", "",
    ])
    func `content with another digest than declared is refused`(_ digest: String) throws {
        #expect(
            code { try save(.bytes(Sample.hello).expecting(digest: digest)) } == .invalidDocument)
        try expectNothing()
    }

    @Test(arguments: [Sample.helloDigest, Sample.helloMD5])
    func `content with the declared digest is taken`(_ digest: String) throws {
        try save(.bytes(Sample.hello).expecting(length: 5, digest: digest))
        #expect(
            try database.existing("a").attachment(named: "x")?.digest == Sample.helloDigest)
    }

    @Test(arguments: [
        Array("hello".utf8), Array(Sample.helloGzip.dropLast()), Sample.helloGzip + [1, 2, 3],
    ])
    func `what is said to be gzip and is not is refused`(_ bytes: [UInt8]) throws {
        #expect(code { try save(.bytes(bytes).gzipped()) } == .invalidDocument)
        try expectNothing()
    }

    @Test func `gzip that decodes to another length is refused`() throws {
        #expect(
            code { try save(.bytes(Sample.helloGzip).gzipped(decodedLength: 6)) }
                == .invalidDocument)
        try expectNothing()
    }

    /// Gives one piece, and fails when more is asked for.
    private final class OnePiece: AttachmentReader {
        private let piece: Mutex<[UInt8]?>

        init(_ piece: [UInt8]) { self.piece = Mutex(piece) }

        func read(upTo count: Int) throws -> [UInt8] {
            try piece.withLock { piece in
                defer { piece = nil }
                guard let piece else { throw Whim() }
                return piece
            }
        }
    }

    @Test func `gzip is not decoded further than its declared length`() throws {
        #expect(
            code {
                try save(.stream(OnePiece(Sample.helloGzip)).gzipped(decodedLength: 4))
            } == .invalidDocument)
        try expectNothing()
    }

    @Test(arguments: [0, 4, 6])
    func `stored gzip whose stub tells another length is damage, and nothing of it is read`(
        _ length: Int
    ) throws {
        try database.create("a", attachments: ["x": Sample.helloGzip])
        let plain = try #require(try database.existing("a").attachment(named: "x"))
        let stub: JSONObject = [
            "stub": true, "digest": .string(plain.digest), "encoding": "gzip",
            "length": .integer(Int64(length)), "revpos": 1,
        ]
        try database.putExistingRevision(
            "b", ["_attachments": ["y": .object(stub)]], history: ["1-b"])
        let coded = try #require(try database.existing("b").attachment(named: "y"))
        #expect(coded.encodedLength == Sample.helloGzip.count)
        #expect(code { try coded.content() } == .corrupted)
        // What ends too early is known at its end only.
        guard length < Sample.hello.count else { return }
        #expect(code { try coded.makeReader().read(upTo: 1) } == .corrupted)
        #expect(code { try coded.content(in: 0..<1) } == .corrupted)
    }

    @Test(arguments: ["", "a\u{0}b", "_", "_x"]) func `names that others do not take are refused`(
        _ name: String
    ) throws {
        #expect(code { try save(.bytes([1]), named: name) } == .invalidDocument)
        try expectNothing()
    }

    @Test func `a stream that fails leaves nothing, and says so when it is used again`() throws {
        let document = MutableDocument(id: "a")
        document.setAttachment(
            named: "x", contentType: nil, .stream(MadeStream(length: 500_000, failure: Whim())))
        #expect(throws: Whim.self) { try database.save(document) }
        try expectNothing()
        #expect(code { try database.save(document) } == .invalidDocument)
        document.setAttachment(named: "x", contentType: nil, .bytes([1]))
        try database.save(document)
        #expect(try database.existing("a").attachment(named: "x")?.content() == [1])
    }

    @Test func `a file that is not there is an input error`() throws {
        let missing = sandbox.folder.appending(path: "missing")
        #expect(code { try save(.file(missing)) } == .io)
        #expect(code { try save(.file(sandbox.folder)) } == .io)
        try expectNothing()
    }

    @Test func `a vanished file is an error with the document and the name`() throws {
        let document = try database.create("a", attachments: ["photo": Sample.hello])
        let attachment = try #require(document.attachment(named: "photo"))
        try FileManager.default.removeItem(at: #require(attachment.fileURL))
        for read in [{ try attachment.content() }, { try attachment.makeReader().readAll() }] {
            let error = #expect(throws: DatabaseError.self) { _ = try read() }
            #expect(error?.code == .attachmentNotFound)
            #expect(error?.documentID == "a")
            #expect(error?.revisionID == document.revisionID)
            #expect(error?.message.contains("'photo'") == true)
        }
        #expect(!attachment.isContentAvailable)
        #expect(attachment.fileURL == nil)
        // The document itself is as good as before.
        try database.update("a") { $0["n"] = 1 }
        #expect(try database.existing("a").attachmentNames == ["photo"])
        #expect(try database.problems().contains { $0.contains("has no file") })
    }

    @Test func `a file of another length is damage, and so is one of other bytes`() throws {
        let document = try database.create("a", attachments: ["x": Sample.hello])
        let attachment = try #require(document.attachment(named: "x"))
        let file = try #require(attachment.fileURL)
        try Data("hellO".utf8).write(to: file)
        #expect(try attachment.content() == Array("hellO".utf8))
        #expect(code { try attachment.verify() } == .corrupted)
        #expect(try database.problems().count == 1)
        #expect(try database.verify(readsAttachments: false).isEmpty)
        try Data("hell".utf8).write(to: file)
        #expect(code { try attachment.content() } == .corrupted)
        #expect(try database.verify(readsAttachments: false).count == 1)
        // Storing the content again mends the file.
        try database.create("b", attachments: ["x": Sample.hello])
        #expect(try attachment.content() == Sample.hello)
        #expect(try database.problems() == [])
    }

    @Test func `a disk that gets full midway leaves the database as it was`() throws {
        let folder = sandbox.folder.path(percentEncoded: false)
        try FileManager.default.createDirectory(
            atPath: folder + "/small", withIntermediateDirectories: true)
        guard try Mounting.memory(at: folder + "/small", bytes: 3_000_000) else { return }
        defer { Mounting.unmount(folder + "/small") }
        var options = DatabaseOptions()
        options.create = true
        let small = try Database.open(
            at: sandbox.folder.appending(path: "small/db.divan"), options: options)
        defer { small.close() }
        try small.create("first", attachments: ["x": Sample.hello])
        let document = MutableDocument(id: "a")
        document.setAttachment(named: "x", contentType: nil, .stream(MadeStream(length: 9_000_000)))
        #expect(code { try small.save(document) } == .storageFull)
        #expect(try small.temporaryFiles() == [])
        #expect(try small.document(withID: "a") == nil)
        #expect(try small.problems() == [])
        try small.create("second", attachments: ["x": Sample.bytes(10_000)])
        #expect(try small.existing("second").attachment(named: "x")?.length == 10_000)
    }

    @Test func `a read-only database refuses attachments and reads them`() throws {
        try database.create("a", attachments: ["x": Sample.hello])
        database.close()
        let reader = try sandbox.database { $0.readOnly = true }
        defer { reader.close() }
        #expect(try reader.existing("a").attachment(named: "x")?.content() == Sample.hello)
        #expect(code { try reader.create("b", attachments: ["x": [1]]) } == .readOnly)
    }

    @Test func `reading after closing is an error`() throws {
        let document = try database.create("a", attachments: ["x": Sample.hello])
        database.close()
        let attachment = try #require(document.attachment(named: "x"))
        #expect(code { try attachment.content() } == .databaseClosed)
    }
}
