// SPDX-License-Identifier: Apache-2.0

import Divan
import FoundationEssentials
import Testing

@Suite struct BlobTests {
    private let sandbox = Sandbox()
    private let database: Database

    init() throws { database = try sandbox.database() }

    @Test func `a blob is an object that names its content`() {
        let blob = Blob(contentType: "text/plain", Sample.hello)
        #expect(blob.digest == Sample.helloDigest)
        #expect(blob.length == 5)
        #expect(
            blob.properties == [
                "@type": "blob", "content_type": "text/plain",
                "digest": .string(Sample.helloDigest), "length": 5,
            ])
        #expect(Blob(contentType: nil, []).properties["content_type"] == nil)
    }

    @Test func `a blob is saved with its document and reads back`() async throws {
        let document = MutableDocument(["n": 1], id: "a")
        document["avatar"] = Blob(contentType: "image/png", Sample.hello)
        #expect(try document.blob(forKey: "avatar")?.content() == Sample.hello)
        _ = try database.save(document)
        let blob = try #require(try database.existing("a").blob(forKey: "avatar"))
        #expect(blob.contentType == "image/png")
        #expect(blob.isContentAvailable)
        #expect(try blob.content() == Sample.hello)
        #expect(try blob.content(in: 1..<2) == Array("e".utf8))
        #expect(try blob.makeReader().readAll() == Sample.hello)
        var joined: [UInt8] = []
        for try await piece in blob.chunks(ofSize: 2) { joined += piece }
        #expect(joined == Sample.hello)
        try blob.verify()
        #expect(try #require(blob.fileURL).lastPathComponent == Sample.helloFile)
        #expect(try database.existing("a")["n"].blob == nil)
        #expect(try document.blob(forKey: "avatar")?.content() == Sample.hello)
        #expect(try database.problems() == [])
    }

    @Test func `blobs stand in arrays and objects, at any depth`() throws {
        let document = MutableDocument(id: "a")
        document.set([Blob(contentType: nil, [1]), Blob(contentType: nil, [2])], forKey: "list")
        document.set(["one": Blob(contentType: nil, [3])], forKey: "object")
        document["deep"]["deeper"] = Fragment(Blob(contentType: nil, [4]))
        document["deep"]["other"] = Blob(contentType: nil, [5])
        try database.save(document)
        let stored = try database.existing("a")
        #expect(try stored["list"][0].blob?.content() == [1])
        #expect(try stored["list"][1].blob?.content() == [2])
        #expect(try stored["object"]["one"].blob?.content() == [3])
        #expect(try stored["deep"]["deeper"].blob?.content() == [4])
        #expect(try stored["deep"]["other"].blob?.content() == [5])
        #expect(try stored.dictionary(forKey: "deep")?.blob(forKey: "other")?.content() == [5])
        #expect(try database.attachmentFiles().count == 5)
        #expect(try database.problems() == [])
    }

    @Test func `blobs and attachments share files`() throws {
        let document = MutableDocument(id: "a")
        document["blob"] = Blob(contentType: nil, Sample.hello)
        document.setAttachment(named: "x", contentType: nil, .bytes(Sample.hello))
        try database.save(document)
        #expect(try database.attachmentFiles() == [Sample.helloFile])
        #expect(try database.references() == ["\(Sample.helloFile) 1"])
        try database.update("a") { $0.removeAttachment(named: "x") }
        try database.compact()
        #expect(try database.existing("a").blob(forKey: "blob")?.content() == Sample.hello)
        try database.update("a") { $0["blob"] = nil }
        #expect(try database.compact().attachmentsRemoved == 1)
    }

    @Test func `an edit of other properties carries a blob over`() throws {
        let document = MutableDocument(id: "a")
        document["blob"] = Blob(contentType: nil, Sample.hello)
        try database.save(document)
        try database.update("a") { $0["n"] = 1 }
        try database.compact()
        #expect(try database.existing("a").blob(forKey: "blob")?.content() == Sample.hello)
    }

    @Test func `a blob of one document is set in another`() throws {
        let document = MutableDocument(id: "a")
        document["blob"] = Blob(contentType: "a/b", Sample.hello)
        try database.save(document)
        let other = MutableDocument(id: "b")
        other["copy"] = try database.existing("a").blob(forKey: "blob")
        try database.save(other)
        try database.purge("a")
        try database.compact()
        #expect(try database.existing("b").blob(forKey: "copy")?.content() == Sample.hello)
    }

    @Test func `a blob comes from a file or a stream`() throws {
        let file = sandbox.folder.appending(path: "source")
        try Data(Sample.bytes(300_000)).write(to: file)
        let document = MutableDocument(id: "a")
        document["file"] = try Blob(contentType: nil, file: file)
        document["stream"] = try Blob(contentType: nil, stream: MadeStream(length: 400_000))
        try database.save(document)
        try FileManager.default.removeItem(at: file)
        let stored = try database.existing("a")
        #expect(try stored.blob(forKey: "file")?.content() == Sample.bytes(300_000))
        #expect(stored.blob(forKey: "stream")?.length == 400_000)
        try stored.blob(forKey: "stream")?.verify()
    }

    @Test func `a file that changes before its blob is saved is refused`() throws {
        let file = sandbox.folder.appending(path: "source")
        try Data([1, 2, 3]).write(to: file)
        let document = MutableDocument(id: "a")
        document["file"] = try Blob(contentType: nil, file: file)
        try Data([1, 2, 4]).write(to: file)
        #expect(code { try database.save(document) } == .invalidDocument)
        #expect(try database.document(withID: "a") == nil)
        #expect(code { try Blob(contentType: nil, file: sandbox.folder) } == .io)
    }

    @Test func `a blob without content here is kept, and says so`() throws {
        let properties: JSONObject = [
            "photo": ["@type": "blob", "digest": .string(Sample.helloDigest), "length": 5]
        ]
        try database.create("a", properties)
        let blob = try #require(try database.existing("a").blob(forKey: "photo"))
        #expect(!blob.isContentAvailable)
        #expect(code { try blob.content() } == .attachmentNotFound)
        #expect(try database.problems() == [])
        // Once another document brings the content, it stays as long as the blob does.
        try database.create("b", attachments: ["x": Sample.hello])
        try database.purge("b")
        try database.compact()
        #expect(try blob.content() == Sample.hello)
    }

    @Test func `an object that only resembles a blob is an object`() throws {
        let document = try database.create(
            "a", ["x": ["@type": "blob"], "y": ["@type": "photo", "digest": "sha1-x"]])
        #expect(document["x"].blob == nil)
        #expect(document["y"].blob == nil)
        #expect(try database.references() == [])
        #expect(try database.problems() == [])
    }

    @Test(arguments: [nil, "5"] as [JSONValue?])
    func `a blob whose object tells no length has that of its content`(length: JSONValue?) throws {
        var object: JSONObject = ["@type": "blob", "digest": .string(Sample.helloDigest)]
        object["length"] = length
        try database.create("a", ["photo": .object(object)])
        let blob = try #require(try database.existing("a").blob(forKey: "photo"))
        #expect(!blob.isContentAvailable)
        #expect(blob.length == 0)
        #expect(database.blob(for: object) == nil)
        try database.create("b", attachments: ["x": Sample.hello])
        #expect(blob.isContentAvailable)
        #expect(blob.length == 5)
        #expect(try blob.content() == Sample.hello)
        #expect(try blob.content(in: 1..<2) == Array("e".utf8))
        #expect(try database.blob(for: object)?.content() == Sample.hello)
        let other = try sandbox.database("other")
        let copy = MutableDocument(id: "c")
        copy["photo"] = blob
        try other.save(copy)
        #expect(try other.existing("c").blob(forKey: "photo")?.content() == Sample.hello)
        #expect(try other.saveBlob(blob).isContentAvailable)
        #expect(try database.problems() == [])
        #expect(try other.problems() == [])
    }
}
