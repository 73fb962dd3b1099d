// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanModel
import Testing

@testable import DivanDatabase

/// Storing revisions that were made elsewhere, as replication does.
@Suite struct ExistingRevisionTests {
    private let database: Database

    init() throws { database = try Database.inMemory() }

    @Test func `a revision is stored under its own ID with its history`() throws {
        let isNew = try database.putExistingRevision(
            "a", ["n": 3], history: ["3-c", "2-b", "1-a"])
        #expect(isNew)
        #expect(try database.existing("a").revisionID == "3-c")
        #expect(try database.existing("a")["n"].int == 3)
        #expect(try database.revisionHistory(of: "a") == ["3-c", "2-b", "1-a"])
        #expect(try database.lastSequence == 1)
    }

    @Test func `storing a revision twice changes nothing`() throws {
        try database.putExistingRevision("a", ["n": 2], history: ["2-b", "1-a"])
        #expect(try !database.putExistingRevision("a", ["n": 9], history: ["2-b", "1-a"]))
        #expect(try !database.putExistingRevision("a", ["n": 9], history: ["1-a"]))
        #expect(try database.lastSequence == 1)
        #expect(try database.existing("a")["n"].int == 2)
    }

    @Test func `a known revision that comes with content which is missing gets it`() async throws {
        let stub: JSONObject = [
            "stub": true, "digest": "sha1-qvTGHdzF6KLavt4PO0gs2a6pQ00=", "length": 5,
        ]
        let history: [RevisionID] = ["2-b", "1-a"]
        var revision = try ExistingRevision(
            id: "a", history: RevisionHistory(history), isDeleted: false,
            body: PackedValue(["_attachments": ["x": .object(stub)]]))
        revision.isDeferring = true
        let stubs = revision
        #expect(try database.write { try $0.insert(stubs) })
        let bytes = Array("hello".utf8)
        #expect(
            try !database.putExistingRevision(
                "a", ["_attachments": ["x": .object(stub)]], history: history,
                attachments: ["x": .bytes(bytes)]))
        #expect(try database.existing("a").attachment(named: "x")?.content() == bytes)
        // A replication that could not send the document tries again.
        #expect(try database.lastSequence == 2)
        #expect(try database.revisionHistory(of: "a") == history)
        #expect(try database.problems() == [])
    }

    @Test func `an ancestor that came as history only has no body`() throws {
        try database.putExistingRevision("a", ["n": 2], history: ["2-b", "1-a"])
        #expect(code { try database.document(withID: "a", revision: "1-a") } == .revisionNotFound)
    }

    @Test func `a revision on top of the current one becomes current`() throws {
        let mine = try database.create("a", ["n": 1])
        try database.putExistingRevision("a", ["n": 2], history: ["2-b", mine.revisionID])
        #expect(try database.existing("a").revisionID == "2-b")
        #expect(try !database.hasConflicts())
    }

    @Test func `a revision of another branch makes a conflict and both bodies stay`() throws {
        let first = try database.create("a", ["n": 1])
        let mine = try database.update("a") { $0["n"] = 2 }
        try database.putExistingRevision("a", ["n": 20], history: ["2-0", first.revisionID])
        #expect(try database.existing("a").revisionID == mine.revisionID)
        #expect(
            try database.conflictingRevisions(of: "a").map { $0["n"].int } == [2, 20])
        #expect(try database.hasConflicts())
    }

    @Test func `a revision without common history becomes a second root`() throws {
        try database.create("a", ["n": 1])
        try database.putExistingRevision("a", ["n": 7], history: ["7-g", "6-f"])
        #expect(try database.existing("a").revisionID == "7-g")
        #expect(try database.leafRevisions(of: "a").count == 2)
        #expect(try database.revisionHistory(of: "a") == ["7-g", "6-f"])
    }

    @Test func `a tombstone from elsewhere deletes the document`() throws {
        let mine = try database.create("a", ["n": 1])
        try database.putExistingRevision(
            "a", ["why": "old"], history: ["2-b", mine.revisionID], isDeleted: true)
        #expect(try database.document(withID: "a") == nil)
        #expect(try database.document(withID: "a", revision: "2-b")?["why"].string == "old")
        #expect(try database.documentCount == 0)
    }

    @Test func `a document can arrive deleted`() throws {
        try database.putExistingRevision("a", [:], history: ["2-b", "1-a"], isDeleted: true)
        #expect(try database.document(withID: "a") == nil)
        #expect(try database.documentCount == 0)
        #expect(try database.changes().changes.map(\.isDeleted) == [true])
    }

    @Test func `digests of other systems are opaque`() throws {
        let digests = ["x", "ABCDEF", "\u{E9}", "1-2-3", String(repeating: "y", count: 255)]
        for digest in digests {
            try database.putExistingRevision("a", ["d": .string(digest)], history: ["1-\(digest)"])
            let read = try database.document(withID: "a", revision: "1-\(digest)")
            #expect(read?["d"].string == digest)
        }
        #expect(try database.leafRevisions(of: "a").count == digests.count)
        #expect(try database.problems() == [])
    }

    static let malformed: [[RevisionID]] = [
        [], ["1"], ["x-a"], ["0-a"], ["-1-a"], ["1-"], ["3-c", "1-a"], ["1-a", "2-b"], ["1-a", ""],
        ["9007199254740993-a"], [RevisionID("1-" + String(repeating: "x", count: 256))],
    ]

    @Test(arguments: malformed)
    func `a malformed history is refused`(history: [RevisionID]) throws {
        #expect(
            code { try database.putExistingRevision("a", [:], history: history) } == .invalidID)
        #expect(try database.lastSequence == 0)
    }

    @Test func `a long history is pruned as it is stored`() throws {
        let history: [RevisionID] = (1...1_100).reversed().map { "\($0)-a" }
        try database.putExistingRevision("a", ["n": 1], history: history)
        #expect(try database.revisionHistory(of: "a") == Array(history.prefix(1_000)))
    }
}
