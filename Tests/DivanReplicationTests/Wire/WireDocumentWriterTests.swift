// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import Testing

struct WireDocumentWriterTests {
    let database: Database

    init() throws { database = try Database.inMemory() }

    private func written(
        _ id: DocumentID, revision: RevisionID? = nil,
        _ change: (inout WireDocumentOptions) -> Void = { _ in }
    ) throws -> (value: PackedValue, following: [DocumentAttachment]) {
        var options = WireDocumentOptions()
        change(&options)
        let tree = try #require(try database.revisionTree(of: id))
        let newest = try revision ?? #require(tree.winner).id
        let document = try #require(
            try database.read { try $0.document(withID: id, revision: newest) })
        var bytes: [UInt8] = []
        let following = try WireDocumentWriter(options).append(document, tree: tree, to: &bytes)
        return (try PackedValue(parsing: bytes), following)
    }

    @Test func `a revision is written with its ID and body, and nothing that was not asked for`()
        throws
    {
        let saved = try database.put("a\"b\n", ["n": 1, "e": [:]], parent: nil)
        let (value, _) = try written(saved.id)
        #expect(value.keys == ["_id", "_rev", "e", "n"])
        #expect(value["_id"]?.string == "a\"b\n")
        #expect(value["_rev"]?.string == saved.revisionID.description)
    }

    @Test func `an empty body and a tombstone are written`() throws {
        let first = try database.put("a", [:], parent: nil)
        #expect(try written("a").value.keys == ["_id", "_rev"])
        try database.put("a", [:], parent: first.revisionID, options: .tombstone)
        let (value, _) = try written("a")
        #expect(value["_deleted"]?.bool == true)
    }

    @Test func `what is written with its history is read back as the same revision`() throws {
        let first = try database.put("a", ["n": 1.0, "s": "ü\u{1F600}/"], parent: nil)
        try database.put(
            "a", ["n": -0.0, "big": .unsigned(.max)], parent: first.revisionID)
        let (value, _) = try written("a") { $0.includesHistory = true }
        let read = try WireDocument(value)
        #expect(
            read.history?.ids == (try database.revisionHistory(of: "a")))
        #expect(read.body == (try database.document(withID: "a"))?.body)
    }

    @Test func `a history ends at its limit, or at what the receiver knows`() throws {
        var parent: RevisionID?
        for n in 1...5 {
            parent = try database.put("a", ["n": .integer(Int64(n))], parent: parent).revisionID
        }
        let history = try #require(try database.revisionTree(of: "a")).nodes.map(\.id)
        let limited = try written("a") {
            $0.includesHistory = true
            $0.historyLimit = 2
        }
        #expect(limited.value["_revisions"]?["ids"]?.count == 2)
        let known = try written("a") {
            $0.includesHistory = true
            $0.knownRevisions = [history[2]]
        }
        #expect(known.value["_revisions"]?["ids"]?.count == 3)
    }

    @Test func `conflicts and the fate of each revision are told when asked for`() throws {
        let first = try database.put("a", ["n": 1], parent: nil)
        try database.putExistingRevision("a", ["n": 2], history: ["2-b", first.revisionID])
        try database.putExistingRevision("a", ["n": 3], history: ["2-c", first.revisionID])
        try database.putExistingRevision(
            "a", [:], history: ["2-d", first.revisionID], isDeleted: true)
        try database.compact()
        let (value, _) = try written("a") {
            $0.includesConflicts = true
            $0.includesDeletedConflicts = true
            $0.includesRevisionInfo = true
            $0.includesLocalSequence = true
        }
        #expect(value["_conflicts"]?.jsonText == #"["2-b"]"#)
        #expect(value["_deleted_conflicts"]?.jsonText == #"["2-d"]"#)
        #expect(value["_revs_info"]?[0]?.jsonText == #"{"rev":"2-c","status":"available"}"#)
        #expect(value["_revs_info"]?[1]?["status"]?.string == "missing")
        #expect(value["_local_seq"]?.int64 == 3)
    }

    @Test func `attachments are stubs, in place, or follow`() throws {
        try database.put(
            "a", ["_attachments": ["t": ["content_type": "text/plain", "data": "aGVsbG8="]]],
            parent: nil)
        let stub = try written("a").value["_attachments"]?["t"]
        #expect(stub?["stub"]?.bool == true)
        #expect(stub?["length"]?.int64 == 5)
        let inline = try written("a") { $0.contents = .inline }
        #expect(inline.value["_attachments"]?["t"]?["data"]?.string == "aGVsbG8=")
        #expect(inline.value["_attachments"]?["t"]?["stub"] == nil)
        #expect(inline.following.isEmpty)
        let follows = try written("a") { $0.contents = .follows }
        #expect(follows.value["_attachments"]?["t"]?["follows"]?.bool == true)
        #expect(follows.following.map(\.name) == ["t"])
        let small = try written("a") {
            $0.contents = .follows
            $0.inlineLimit = 5
        }
        #expect(small.value["_attachments"]?["t"]?["data"] != nil)
    }

    @Test func `only attachments that changed since a known revision carry content`() throws {
        let first = try database.put(
            "a", ["_attachments": ["old": ["data": "aGVsbG8="]]], parent: nil)
        let stubs = try #require(try database.document(withID: "a")).body["_attachments"]
        try database.put(
            "a",
            [
                "_attachments": [
                    "old": try #require(stubs?["old"]).jsonValue(), "new": ["data": "aGk="],
                ]
            ],
            parent: first.revisionID)
        let known = first.revisionID
        let (value, following) = try written("a") {
            $0.contents = .follows
            $0.attachmentsSince = [known]
        }
        #expect(following.map(\.name) == ["new"])
        #expect(value["_attachments"]?["old"]?["stub"]?.bool == true)
        let unknown = [RevisionID("1-unknown")]
        let all = try written("a") {
            $0.contents = .follows
            $0.attachmentsSince = unknown
        }
        #expect(all.following.map(\.name) == ["new", "old"])
    }

    @Test func `a coded attachment goes in place decoded, and follows as it is stored`() throws {
        let coded: [UInt8] = [
            31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 203, 72, 205, 201, 201, 7, 0, 134, 166, 16, 54, 5, 0,
            0, 0,
        ]
        try database.put(
            "a", [:], parent: nil, attachments: ["z": AttachmentContent.bytes(coded).gzipped()])
        let inline = try written("a") { $0.contents = .inline }.value["_attachments"]?["z"]
        #expect(inline?["data"]?.string == "aGVsbG8=")
        #expect(inline?["digest"] == nil)
        let follows = try written("a") {
            $0.contents = .follows
            $0.includesEncoding = true
        }
        #expect(follows.value["_attachments"]?["z"]?["encoding"]?.string == "gzip")
        let attachment = try #require(follows.following.first)
        #expect(attachment.storedLength == coded.count)
        #expect(try attachment.makeStoredReader().read(upTo: 100) == coded)
    }
}
