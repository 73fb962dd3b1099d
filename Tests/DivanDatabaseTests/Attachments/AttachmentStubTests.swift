// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

/// `_attachments` in a body: stubs, inline data, content that follows; and the IDs made of them.
@Suite struct AttachmentStubTests {
    private let sandbox = Sandbox()
    private let database: Database

    init() throws { database = try sandbox.database() }

    private func inline(_ extra: JSONObject = [:]) -> JSONObject {
        var entry: JSONObject = ["content_type": "text/plain", "data": "aGVsbG8="]
        for (key, value) in extra { entry[key] = value }
        return ["_attachments": ["t": .object(entry)]]
    }

    @Test func `inline data becomes a stub, and the revision's ID is that of other systems`() throws
    {
        let document = try database.put("a", inline(), parent: nil)
        #expect(document.revisionID == "1-cbc950ab8ffd729d3944dcfa1db8972b")
        #expect(document.body["_attachments"]?["t"]?.jsonValue() == Sample.stub())
        #expect(try document.attachment(named: "t")?.content() == Sample.hello)
        let stub = MutableDocument(id: "b")
        stub.setAttachment(named: "t", contentType: "text/plain", .bytes(Sample.hello))
        #expect(try database.save(stub).document.revisionID == document.revisionID)
    }

    @Test func `an empty object of attachments is kept, since IDs are made of it`() throws {
        let document = try database.put(
            "a", ["b": 1, "a": 2, "C": 3, "_attachments": [:]], parent: nil)
        #expect(document.revisionID == "1-c871d25c55960707f129bf00a270284e")
    }

    @Test func `a stub of known content is taken, one of unknown content refused`() throws {
        try database.create("a", attachments: ["x": Sample.hello])
        let known = try database.put(
            "b", ["_attachments": ["y": Sample.stub(position: 7)]], parent: nil)
        #expect(try known.attachment(named: "y")?.content() == Sample.hello)
        #expect(known.attachment(named: "y")?.revisionPosition == 1)
        let unknown = Sample.stub("sha1-AAAAAAAAAAAAAAAAAAAAAAAAAAA=")
        let error = #expect(throws: DatabaseError.self) {
            try database.put("c", ["_attachments": ["photo": unknown]], parent: nil)
        }
        #expect(error?.code == .attachmentNotFound)
        #expect(error?.documentID == "c")
        #expect(error?.message.contains("'photo'") == true)
        #expect(
            code {
                try database.putExistingRevision(
                    "c", ["_attachments": ["photo": unknown]], history: ["1-a"])
            } == .attachmentNotFound)
        #expect(try database.document(withID: "c") == nil)
    }

    @Test func `a bare stub means what the parent has under that name`() throws {
        let first = try database.create("a", attachments: ["x": Sample.hello])
        let second = try database.put(
            "a", ["n": 1, "_attachments": ["x": ["stub": true]]], parent: first.revisionID)
        #expect(second.body["_attachments"]?["x"]?.jsonValue() == Sample.stub())
        #expect(
            code {
                try database.put(
                    "a", ["_attachments": ["y": ["stub": true]]], parent: second.revisionID)
            } == .attachmentNotFound)
    }

    @Test func `a stub with a wrong length is refused`() throws {
        try database.create("a", attachments: ["x": Sample.hello])
        #expect(
            code {
                try database.put("b", ["_attachments": ["x": Sample.stub(length: 6)]], parent: nil)
            } == .invalidDocument)
    }

    @Test(
        arguments: [
            ["length": 6], ["digest": "sha1-AAAAAAAAAAAAAAAAAAAAAAAAAAA="], ["data": "aGVsbG8"],
            ["data": 5], ["length": -1], ["length": "5"], ["encoding": "brotli"],
            ["encoding": "gzip"],
        ] as [JSONObject])
    func `inline data that is not as declared is refused of a revision made elsewhere`(
        _ extra: JSONObject
    ) throws {
        #expect(
            code { try database.putExistingRevision("a", inline(extra), history: ["1-a"]) }
                == .invalidDocument)
        #expect(try database.lastSequence == 0)
    }

    @Test(arguments: [["data": "aGVsbG8"], ["data": 5], ["data": .null]] as [JSONObject])
    func `inline data that is no base64 is refused`(_ extra: JSONObject) throws {
        #expect(code { try database.put("a", inline(extra), parent: nil) } == .invalidDocument)
    }

    @Test(arguments: [1, [], ["x": 1], ["x": "data"]] as [JSONValue])
    func `attachments that are no objects are refused`(_ value: JSONValue) throws {
        #expect(
            code { try database.put("a", ["_attachments": value], parent: nil) }
                == .invalidDocument)
    }

    @Test func `a received revision keeps its positions, and its digests become ours`() throws {
        let entry: JSONObject = [
            "content_type": "text/plain", "data": "aGVsbG8=", "digest": .string(Sample.helloMD5),
            "revpos": 2,
        ]
        try database.putExistingRevision(
            "a", ["_attachments": ["t": .object(entry)]], history: ["3-c", "2-b", "1-a"])
        let third = try #require(try database.existing("a").attachment(named: "t"))
        #expect(third.digest == Sample.helloDigest)
        #expect(third.revisionPosition == 2)
        // The next one says by MD5 that nothing changed.
        let stub: JSONValue = [
            "stub": true, "digest": .string(Sample.helloMD5), "length": 5, "revpos": 2,
        ]
        try database.putExistingRevision(
            "a", ["n": 1, "_attachments": ["t": stub]], history: ["4-d", "3-c"])
        let fourth = try #require(try database.existing("a").attachment(named: "t"))
        #expect(fourth.digest == Sample.helloDigest)
        #expect(fourth.revisionPosition == 2)
        #expect(fourth.contentType == "text/plain")
        #expect(try database.problems() == [])
    }

    @Test func `a received stub that tells of gzip leaves content that is kept plain as it is`()
        throws
    {
        let first = try database.create("a", attachments: ["t": Sample.hello])
        // CouchDB keeps texts coded, names them by the MD5 of that, and says both with each stub.
        let stub: JSONValue = [
            "stub": true, "digest": .string(Sample.helloMD5), "length": 5, "revpos": 1,
            "encoding": "gzip", "encoded_length": .integer(Int64(Sample.helloGzip.count)),
        ]
        try database.putExistingRevision(
            "a", ["n": 1, "_attachments": ["t": stub]], history: ["2-b", first.revisionID])
        let second = try #require(try database.existing("a").attachment(named: "t"))
        #expect(second.encoding == nil)
        #expect(try second.content() == Sample.hello)
        #expect(try database.problems() == [])
    }

    @Test func `content that follows is taken by name`() throws {
        let entry: JSONValue = [
            "follows": true, "content_type": "text/plain", "length": 5,
            "digest": .string(Sample.helloDigest),
        ]
        let document = try database.put(
            "a", ["_attachments": ["t": entry]], parent: nil,
            attachments: ["t": .stream(try helloReader())])
        #expect(document.revisionID == "1-cbc950ab8ffd729d3944dcfa1db8972b")
        #expect(
            code {
                try database.put(
                    "b", ["_attachments": ["t": entry]], parent: nil,
                    attachments: ["t": .bytes([1, 2, 3, 4, 5])])
            } == .invalidDocument)
        try database.putExistingRevision(
            "c", ["_attachments": ["t": entry]], history: ["1-a"],
            attachments: ["t": .bytes(Sample.hello)])
        #expect(try database.existing("c").attachment(named: "t")?.length == 5)
    }

    @Test func `the suspending put takes attachments, too`() async throws {
        let document = try database.put(
            "a", [:], parent: nil, attachments: ["t": .bytes(Sample.hello)])
        #expect(document.attachment(named: "t")?.digest == Sample.helloDigest)
        let entry: JSONObject = ["_attachments": ["t": ["follows": true]]]
        let isNew = try database.putExistingRevision(
            "b", entry, history: ["1-a"], attachments: ["t": .bytes(Sample.hello)])
        #expect(isNew)
    }

    private func helloReader() throws -> any AttachmentReader {
        try Blob(contentType: nil, Sample.hello).makeReader()
    }

    @Test func `properties of a received stub that mean nothing here are kept`() throws {
        try database.putExistingRevision("a", inline(["extra": [1]]), history: ["1-a"])
        let document = try database.existing("a")
        #expect(document.attachment(named: "t")?.metadata["extra"] == [1])
    }

    @Test func `an attachment twice in one revision is stored once`() throws {
        let both: JSONValue = [
            "x": ["data": "aGVsbG8="], "y": ["data": "aGVsbG8=", "content_type": "a/b"],
        ]
        try database.put("a", ["_attachments": both], parent: nil)
        #expect(try database.attachmentFiles().count == 1)
        #expect(try database.references() == ["\(Sample.helloFile) 1"])
        #expect(try database.problems() == [])
    }
}
