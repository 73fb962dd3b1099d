// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import FoundationEssentials
import Testing

/// The import of a database that Couchbase Lite 1.4.4 has made.
@Suite(.enabled(if: CouchbaseLiteFixture.isThere, "It needs ../shared/fixtures."))
struct CouchbaseLiteFixtureTests {
    private let directory: TestDirectory
    private let source: String
    private let manager: Manager

    init() throws {
        directory = try TestDirectory("cblite")
        source = try CouchbaseLiteFixture.unpack(in: directory.path)
        manager = try Manager(directory: directory.url("new"))
    }

    @Test func `every document of a real database comes over with its winner`() throws {
        let result = try manager.importCouchbaseLite(at: URL(filePath: source))
        #expect(result.problems.map(\.message) == [])
        #expect(result.name == "shop")
        #expect(result.attachments == 4)
        #expect(result.checkpoints == 1)
        let database = try manager.database(named: "shop")
        let lines = try #require(SharedFolder.lines(of: "fixtures/cbl14-sample/documents.txt"))
        #expect(result.documents == lines.count && lines.count > 200)
        for line in lines {
            let (id, revision, isDeleted) = try #require(Self.parse(line))
            let tree = try #require(try database.revisionTree(of: DocumentID(id)), "\(id)")
            #expect(tree.winner?.id.description == revision, "\(id)")
            #expect(tree.isDeleted == isDeleted, "\(id)")
        }
        #expect(try database.problems() == [])
    }

    /// `ID revision {…}`, where the ID may have spaces.
    private static func parse(_ line: String) -> (String, String, Bool)? {
        guard let brace = line.firstIndex(of: "{"), brace > line.startIndex,
            let value = try? JSONParser.parse(Array(line[brace...].utf8))
        else { return nil }
        let head = line[..<line.index(before: brace)]
        guard let space = head.lastIndex(of: " ") else { return nil }
        return (
            String(head[..<space]), String(head[head.index(after: space)...]),
            value["deleted"]?.bool == true
        )
    }

    @Test func `bodies of a real database are what its library says`() throws {
        try manager.importCouchbaseLite(at: URL(filePath: source))
        let database = try manager.database(named: "shop")
        let lines = try #require(SharedFolder.lines(of: "fixtures/cbl14-sample/bodies.jsonl"))
        #expect(lines.count >= 8)
        for line in lines {
            guard case .object(var expected) = try JSONParser.parse(Array(line.utf8)) else {
                Issue.record("Not an object: \(line)")
                continue
            }
            let id = try #require(expected.removeValue(forKey: "_id")?.string)
            let revision = try #require(expected.removeValue(forKey: "_rev")?.string)
            let document = try database.existing(DocumentID(id))
            #expect(document.revisionID.description == revision)
            #expect(document.body.jsonValue() == .object(expected), "\(id)")
        }
    }

    @Test func `attachments of a real database are whole`() throws {
        try manager.importCouchbaseLite(at: URL(filePath: source))
        let database = try manager.database(named: "shop")
        let picture = try database.existing("pic")
        #expect(picture.attachmentNames.sorted() == ["näme with space.txt", "photo.bin"])
        for (id, name, length) in [
            ("pic", "photo.bin", 5_000), ("pic", "näme with space.txt", 22),
            ("a", "big.bin", 90_000),
            ("b", "small.txt", 11),
        ] {
            let attachment = try #require(
                try database.existing(DocumentID(id)).attachment(named: name))
            try attachment.verify()
            #expect(try attachment.content().count == length, "\(name)")
        }
    }

    @Test func `trees, conflicts, tombstones and old bodies of a real database come over`() throws {
        try manager.importCouchbaseLite(at: URL(filePath: source))
        let database = try manager.database(named: "shop")
        let conflict = try database.conflictingRevisions(of: "conf")
        #expect(conflict.map(\.revisionID) == ["2-bbb", "2-aaa"])
        #expect(try database.revisionTree(of: "conf")?.nodes.count == 3)
        #expect(try database.document(withID: "gone") == nil)
        #expect(
            try database.revisionHistory(of: "gone") == [
                "2-6abaca8d90b5b1b26d9e025e70da857d", "1-6fd599f3af6135c9f801e899c08d1582",
            ])
        let history = try database.revisionHistory(of: "multi")
        #expect(history.count == 3)
        for (index, revision) in history.enumerated() {
            let document = try #require(try database.document(withID: "multi", revision: revision))
            #expect(document.int(forKey: "v") == 3 - index)
        }
    }

    @Test func `sequences, identity and checkpoints of a real database come over`() throws {
        try manager.importCouchbaseLite(at: URL(filePath: source))
        let database = try manager.database(named: "shop")
        #expect(database.privateUUID == "fbb7def9-d2f1-400c-893a-8c618396d150")
        #expect(database.publicUUID == "50febd0d-b0a4-4461-bffb-03a84963e6f5")
        #expect(try database.lastSequence == 219)
        #expect(try database.existing("multi").sequence == 204)
        let changes = try database.changes(since: 216).changes
        #expect(changes.map(\.sequence) == [218, 219])
        let checkpoint = try #require(
            try database.localDocument("abb96b99cff19f03b84fe6baca212d91d2880f6c"))
        #expect(checkpoint["lastSequence"]?.string?.hasPrefix("8-g1AAAACneJz") == true)
        #expect(checkpoint["incarnation"]?.string == database.incarnation)
        // Going on: the same edit makes the revision that the old library would have made.
        let saved = try database.update("multi") { $0["v"] = 4 }
        #expect(saved.sequence == 220)
        #expect(saved.revisionID.generation == 4)
    }

    @Test func `not a byte of a real source is touched`() throws {
        let before = try filesBelow(source)
        #expect(before.count == 5)
        try manager.importCouchbaseLite(at: URL(filePath: source))
        #expect(try filesBelow(source) == before)
    }
}
