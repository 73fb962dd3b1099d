// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestChild
import FoundationEssentials
import Testing

@Suite struct AttachmentTests {
    private let sandbox = Sandbox()
    private let database: Database

    init() throws { database = try sandbox.database() }

    // MARK: - Reading

    @Test func `an attachment reads back with its name, type, length and digest`() throws {
        try database.create("a", ["n": 1], attachments: ["x": Sample.hello])
        let attachment = try #require(try database.existing("a").attachment(named: "x"))
        #expect(attachment.name == "x")
        #expect(attachment.contentType == "text/plain")
        #expect(attachment.length == 5)
        #expect(attachment.digest == Sample.helloDigest)
        #expect(attachment.revisionPosition == 1)
        #expect(attachment.isContentAvailable)
        #expect(try attachment.content() == Sample.hello)
        #expect(JSONValue.object(attachment.metadata) == Sample.stub())
        try attachment.verify()
        #expect(try database.problems() == [])
    }

    @Test func `content comes as bytes, in ranges, by a reader, in chunks and as a file`()
        async throws
    {
        let bytes = Sample.bytes(600_000)
        try database.create("a", attachments: ["x": bytes])
        let attachment = try #require(try database.existing("a").attachment(named: "x"))
        #expect(try attachment.content() == bytes)
        #expect(try attachment.content(in: 10..<20) == Array(bytes[10..<20]))
        #expect(try attachment.content(in: 599_990..<700_000) == Array(bytes[599_990...]))
        #expect(try attachment.content(in: 700_000..<700_001) == [])
        #expect(try attachment.makeReader().readAll() == bytes)
        #expect(try attachment.makeReader(in: 5..<9).readAll() == Array(bytes[5..<9]))
        var joined: [UInt8] = []
        for try await piece in attachment.chunks(ofSize: 100_000) {
            #expect(piece.count <= 100_000)
            joined += piece
        }
        #expect(joined == bytes)
        // An encrypted file is of no use to another program.
        #expect((attachment.fileURL == nil) == TestEncryption.isOn)
        if let url = attachment.fileURL { #expect(Array(try Data(contentsOf: url)) == bytes) }
    }

    @Test func `names are sorted and a missing one is nil`() throws {
        try database.create("a", attachments: ["b": [1], "a": [2], "c": [3]])
        let document = try database.existing("a")
        #expect(document.attachmentNames == ["a", "b", "c"])
        #expect(document.attachments.map(\.name) == ["a", "b", "c"])
        #expect(document.attachment(named: "d") == nil)
        #expect(try database.create("plain").attachmentNames == [])
    }

    @Test func `attachments are no properties`() throws {
        try database.create("a", ["n": 1], attachments: ["x": [1]])
        let document = try database.existing("a")
        #expect(document.keys == ["n"])
        #expect(document.count == 1)
        #expect(document.properties == ["n": 1])
        #expect(!document["_attachments"].exists)
        #expect(document.toJSON() == #"{"n":1}"#)
        let copy = document.toMutable()
        #expect(copy.keys == ["n"])
        #expect(copy.count == 1)
        #expect(copy.properties == ["n": 1])
        #expect(!copy["_attachments"].exists)
        copy["m"] = 2
        #expect(copy.keys.sorted() == ["m", "n"])
        #expect(copy.count == 2)
    }

    @Test func `a document may have a thousand attachments`() throws {
        let document = MutableDocument(id: "a")
        for number in 0..<1_000 {
            document.setAttachment(
                named: "\(number)", contentType: nil, .bytes(Array("content \(number % 500)".utf8)))
        }
        try database.save(document)
        let stored = try database.existing("a")
        #expect(stored.attachmentNames.count == 1_000)
        #expect(
            try stored.attachment(named: "777")?.content() == Array("content 277".utf8))
        #expect(stored.attachment(named: "777")?.contentType == nil)
        #expect(try database.attachmentFiles().count == 500)
        #expect(try database.problems() == [])
    }

    @Test func `odd names are names, never paths`() throws {
        let names = [
            "a/b", "../../../escape", "..", ".", "a b\tc", "/etc/passwd", "x_", "\u{1F600}\u{0301}",
            String(repeating: "\u{00E9}\u{4E2D}", count: 820),
        ]
        let before = try sandbox.contents().keys.count
        try database.create(
            "a", attachments: Dictionary(uniqueKeysWithValues: names.map { ($0, Sample.hello) }))
        let document = try database.existing("a")
        #expect(Set(document.attachmentNames) == Set(names))
        for name in names {
            #expect(try document.attachment(named: name)?.content() == Sample.hello)
        }
        #expect(try sandbox.contents().keys.count == before + 1)
        #expect(try database.attachmentFiles().count == 1)
    }

    @Test func `an empty attachment is stored`() throws {
        try database.create("a", attachments: ["x": []])
        let attachment = try #require(try database.existing("a").attachment(named: "x"))
        #expect(attachment.length == 0)
        #expect(try attachment.content() == [])
        #expect(try attachment.makeReader().readAll() == [])
    }

    @Test func `a database in memory has attachments, too`() throws {
        let memory = try Database.inMemory()
        try memory.create("a", attachments: ["x": Sample.hello])
        let attachment = try #require(try memory.existing("a").attachment(named: "x"))
        #expect(try attachment.content() == Sample.hello)
        let file = try #require(attachment.fileURL).path(percentEncoded: false)
        #expect(try memory.problems() == [])
        memory.close()
        #expect(!FileManager.default.fileExists(atPath: file))
        #expect(code { try attachment.content() } == .databaseClosed)
    }

    // MARK: - Writing

    @Test func `content is set from a file, which may go after the save, and from a stream`() throws
    {
        let bytes = Sample.bytes(300_000)
        let file = sandbox.folder.appending(path: "source")
        try Data(bytes).write(to: file)
        let document = MutableDocument(id: "a")
        document.setAttachment(named: "file", contentType: nil, .file(file))
        document.setAttachment(
            named: "stream", contentType: nil, .stream(MadeStream(length: 700_000)))
        try database.save(document)
        try FileManager.default.removeItem(at: file)
        let stored = try database.existing("a")
        #expect(try stored.attachment(named: "file")?.content() == bytes)
        let streamed = try #require(try stored.attachment(named: "stream")?.content())
        #expect(streamed.count == 700_000)
        #expect(streamed.indices.allSatisfy { streamed[$0] == MadeStream.byte(at: $0) })
        #expect(try database.temporaryFiles() == [])
    }

    @Test func `properties and attachments change in one revision`() throws {
        try database.create("a", ["n": 1], attachments: ["x": Sample.hello])
        let copy = try database.existing("a").toMutable()
        copy["n"] = 2
        copy.setAttachment(named: "y", contentType: "image/png", .bytes([1, 2]))
        copy.removeAttachment(named: "x")
        #expect(copy.attachmentNames == ["y"])
        let saved = try database.save(copy).document
        #expect(saved.generation == 2)
        #expect(saved.attachmentNames == ["y"])
        #expect(saved.properties == ["n": 2])
        #expect(copy.attachment(named: "y")?.contentType == "image/png")
    }

    @Test func `an edit of properties carries attachments over unchanged`() throws {
        try database.create("a", ["n": 1], attachments: ["x": Sample.hello])
        try database.update("a") { $0["n"] = 2 }
        try database.update("a") { $0.setProperties(["whole": true]) }
        try database.update("a") { try $0.setJSON(#"{"json":1}"#) }
        let document = try database.existing("a")
        #expect(document.properties == ["json": 1])
        let attachment = try #require(document.attachment(named: "x"))
        #expect(attachment.revisionPosition == 1)
        #expect(try attachment.content() == Sample.hello)
        #expect(try database.problems() == [])
    }

    @Test func `setting a name again replaces the content or the type`() throws {
        let first = try database.create("a", attachments: ["x": Sample.hello])
        let other = try database.existing("a").toMutable()
        other.setAttachment(named: "x", contentType: "text/html", .bytes([9]))
        let second = try database.save(other).document
        #expect(try second.attachment(named: "x")?.content() == [9])
        #expect(second.attachment(named: "x")?.contentType == "text/html")
        #expect(second.attachment(named: "x")?.revisionPosition == 2)
        // The former revision keeps its own.
        let former = try #require(try database.document(withID: "a", revision: first.revisionID))
        #expect(try former.attachment(named: "x")?.content() == Sample.hello)
    }

    @Test func `setting what is there already keeps its position`() throws {
        try database.create("a", attachments: ["x": Sample.hello])
        let copy = try database.existing("a").toMutable()
        copy["n"] = 1
        copy.setAttachment(named: "x", contentType: "text/plain", .bytes(Sample.hello))
        #expect(try database.save(copy).document.attachment(named: "x")?.revisionPosition == 1)
    }

    @Test func `a position is that of the revision that brought the content on its branch`() throws
    {
        let first = try database.create("a", ["n": 1])
        try database.update("a") { $0["n"] = 2 }
        let mine = first.toMutable()
        mine.setAttachment(named: "x", contentType: nil, .bytes(Sample.hello))
        // The edit of revision 1 is placed on revision 2, so it makes revision 3.
        let saved = try database.save(mine)
        #expect(saved.overrode)
        #expect(saved.document.attachment(named: "x")?.revisionPosition == 3)
    }

    @Test func `a document created anew over a tombstone has new positions`() throws {
        try database.create("a", attachments: ["x": Sample.hello])
        try database.delete("a")
        let again = try database.create("a", attachments: ["x": Sample.hello])
        #expect(again.generation == 3)
        #expect(again.attachment(named: "x")?.revisionPosition == 3)
        try database.delete("a")
        let stub: JSONObject = ["_attachments": ["x": Sample.stub(position: 1)]]
        let put = try database.put("a", stub, parent: nil)
        #expect(put.attachment(named: "x")?.revisionPosition == 5)
    }

    @Test func `what a batch undoes can be saved again`() throws {
        let document = MutableDocument(id: "a")
        document.setAttachment(named: "x", contentType: nil, .stream(MadeStream(length: 1_000)))
        #expect(throws: Whim.self) {
            try database.inBatch {
                try database.save(document)
                throw Whim()
            }
        }
        #expect(try database.document(withID: "a") == nil)
        try database.compact()
        #expect(try database.attachmentFiles() == [])
        try database.save(document)
        #expect(try database.existing("a").attachment(named: "x")?.length == 1_000)
        #expect(try database.problems() == [])
    }

    @Test func `the suspending save stages and stores`() async throws {
        let document = MutableDocument(id: "a")
        document.setAttachment(named: "x", contentType: nil, .stream(MadeStream(length: 1_000)))
        _ = try database.save(document)
        #expect(try database.document(withID: "a")?.attachment(named: "x")?.length == 1_000)
    }

    @Test func `content passes from one database to another`() throws {
        let other = try sandbox.database("other")
        try database.create("a", attachments: ["x": Sample.bytes(400_000)])
        let source = try #require(try database.existing("a").attachment(named: "x"))
        let copy = MutableDocument(id: "b")
        copy.setAttachment(named: "y", contentType: nil, .stream(try source.makeReader()))
        try other.save(copy)
        #expect(try other.existing("b").attachment(named: "y")?.digest == source.digest)
    }

    // MARK: - Coded content

    @Test func `gzip is stored as it is and decoded when it is read`() throws {
        let document = MutableDocument(id: "a")
        document.setAttachment(
            named: "x", contentType: "text/plain",
            .bytes(Sample.helloGzip).gzipped(decodedLength: 5))
        try database.save(document)
        let attachment = try #require(try database.existing("a").attachment(named: "x"))
        #expect(attachment.encoding == "gzip")
        #expect(attachment.length == 5)
        #expect(attachment.encodedLength == Sample.helloGzip.count)
        #expect(try attachment.content() == Sample.hello)
        #expect(try attachment.content(in: 1..<3) == Array("el".utf8))
        #expect(try attachment.makeReader().readAll(by: 2) == Sample.hello)
        #expect(attachment.fileURL == nil)
        try attachment.verify()
        #expect(try database.problems() == [])
    }
}
