// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanLMDB
import DivanTestSupport
import FoundationEssentials
import Testing

@Suite struct DatabasePartitionTests {
    private let sandbox = Sandbox()

    private func partitioned(_ name: String = "db") throws -> Database {
        try sandbox.database(name) { $0.partitioned = true }
    }

    // MARK: - Kinds

    @Test func `a database stays of the kind that it was made as`() throws {
        for wanted in [true, false] {
            let name = wanted ? "parts" : "whole"
            let made = try sandbox.database(name) { $0.partitioned = wanted }
            #expect(made.isPartitioned == wanted)
            // Handles that share what is open are refused as well.
            #expect(
                code { try sandbox.database(name) { $0.partitioned = !wanted } } == .databaseExists)
            made.close()
            #expect(
                code { try sandbox.database(name) { $0.partitioned = !wanted } } == .databaseExists)
            for same in [nil, wanted] {
                let again = try sandbox.database(name) { $0.partitioned = same }
                #expect(again.isPartitioned == wanted)
                again.close()
            }
        }
        #expect(try !sandbox.database("usual").isPartitioned)
    }

    @Test func `a manager makes both kinds, and refuses one for the other`() throws {
        let manager = try sandbox.manager()
        let parts = try manager.database(named: "parts", partitioned: true)
        #expect(parts.isPartitioned)
        #expect(try manager.database(named: "parts") === parts)
        #expect(
            code { try manager.database(named: "parts", partitioned: false) } == .databaseExists)
        #expect(try !manager.database(named: "whole", partitioned: false).isPartitioned)
    }

    @Test func `the kind travels with copies, conversions and a salvage`() throws {
        let manager = try sandbox.manager()
        let source = try manager.database(named: "source", partitioned: true)
        try source.create("a:b", ["n": 1])
        try manager.copyDatabase(named: "source", to: "copy")
        let path = source.path
        source.close()
        let saved = sandbox.url("saved")
        _ = try Database.salvage(from: URL(filePath: path), to: saved)
        try manager.copyDatabase(named: "source", to: "other")
        try manager.convertDatabase(named: "other", to: .lmdb)
        // SQLite, since not every engine encrypts.
        let plain = try sandbox.database("plain") {
            ($0.partitioned, $0.storageEngine) = (true, .sqlite)
        }
        try plain.create("a:b", ["n": 1])
        let kept = sandbox.url("kept")
        try plain.backup(to: kept, encryption: .key(.password("secret")))
        plain.close()
        var options = DatabaseOptions()
        options.encryptionKey = .password("secret")
        for database in [
            try manager.database(named: "copy"), try Database.open(at: saved),
            try manager.database(named: "other"), try Database.open(at: kept, options: options),
        ] {
            #expect(database.isPartitioned)
            #expect(try database.contains("a:b"))
            #expect(code { try database.create("plain") } == .invalidID)
            #expect(try database.problems() == [])
        }
    }

    // MARK: - IDs

    @Test func `every way of writing refuses an ID without a partition`() throws {
        let database = try partitioned()
        try database.create("a:1", ["n": 1])
        let ways: [(String, (DocumentID) throws -> Void)] = [
            ("save", { try database.save(MutableDocument([:], id: $0)) }),
            ("put", { try database.put($0, [:], parent: nil) }),
            ("replicated", { try database.putExistingRevision($0, [:], history: ["1-a"]) }),
            (
                "replicated tombstone",
                { try database.putExistingRevision($0, [:], history: ["1-a"], isDeleted: true) }
            ),
            ("live document", { try database.liveDocument(withID: $0).putProperties([:]) }),
            (
                "batch",
                { id in _ = try database.inBatch { try database.save(MutableDocument([:], id: id)) }
                }
            ),
        ]
        for (name, write) in ways {
            for id: DocumentID in ["plain", ":x", "a:", "a:_x", "_a:x"] {
                #expect(code { try write(id) } == .invalidID, "\(name) \(id)")
            }
        }
        #expect(try database.allDocuments().map(\.id) == ["a:1"])
        for id: DocumentID in ["_design/d", "b:2"] { try database.create(id) }
        try database.putLocalDocument("_local/l", ["n": 1])
        #expect(try database.localDocument("_local/l") != nil)
    }

    @Test func `a refused document leaves the batch around it as it was`() throws {
        let database = try partitioned()
        try database.inBatch {
            try database.create("a:1")
            #expect(code { try database.create("plain") } == .invalidID)
            try database.create("a:2")
        }
        #expect(try database.allDocuments().map(\.id) == ["a:1", "a:2"])
    }

    @Test(arguments: ["", "x:y", "_x", "x:"])
    func `a partition with a name that is none makes IDs that are refused`(name: String) throws {
        for database in [try partitioned(), try Database.inMemory(named: "plain")] {
            let id = database.partition(name).id("1")
            #expect(id.partition?.hasSameBytes(as: "x") != true)
            // An ID that begins with a colon is one like others where there are no partitions.
            if name.isEmpty, !database.isPartitioned { continue }
            #expect(code { try database.create(id) } == .invalidID)
        }
    }

    @Test func `a generated ID is refused, since it names no partition`() throws {
        let database = try partitioned()
        #expect(code { try database.save(MutableDocument(["n": 1])) } == .invalidID)
    }

    // MARK: - Documents

    /// Names whose bytes lie beside each other, and some that Swift takes for equal.
    private static let names = ["a", "a-", "a;", "aa", "b", "e\u{301}", "\u{E9}", "12", "1234"]

    @Test func `a partition has the documents of its name and no others`() throws {
        let database = try partitioned()
        for name in Self.names {
            for rest in ["1", "2", ":"] {
                try database.create(DocumentID(partition: name, rest))
            }
        }
        try database.create("_design/d")
        for name in Self.names {
            let partition = database.partition(name)
            let rows = try partition.allDocuments()
            #expect(rows.map(\.id.text) == ["1", "2", ":"].map { "\(name):\($0)" })
            #expect(rows.allSatisfy { partition.owns($0.id) })
            var options = AllDocumentsOptions()
            options.descending = true
            #expect(try partition.allDocuments(options).map(\.id) == rows.map(\.id).reversed())
        }
        #expect(try database.partition("none").allDocuments().isEmpty)
    }

    @Test func `a range of IDs is narrowed to the partition`() throws {
        let database = try partitioned()
        for id: DocumentID in ["a:1", "b:1", "b:2", "b:3", "c:1"] { try database.create(id) }
        let partition = database.partition("b")
        for (start, end, ids) in [
            ("a:1", "c:1", ["b:1", "b:2", "b:3"]), ("b:2", nil, ["b:2", "b:3"]),
            (nil, "b:2", ["b:1", "b:2"]), ("c:1", nil, []), (nil, "a:1", []),
        ] as [(String?, String?, [String])] {
            var options = AllDocumentsOptions()
            (options.startID, options.endID) = (
                start.map { DocumentID($0) }, end.map { DocumentID($0) }
            )
            #expect(try partition.allDocuments(options).map(\.id.text) == ids)
            (options.startID, options.endID) = (options.endID, options.startID)
            options.descending = true
            #expect(try partition.allDocuments(options).map(\.id.text) == ids.reversed())
        }
    }

    @Test func `the counts of a partition follow its documents alone`() throws {
        let database = try partitioned()
        let (a, b) = (database.partition("a"), database.partition("b"))
        #expect(try a.info() == .none(in: b))
        let text = JSONValue.string(String(repeating: "x", count: 1_000))
        try database.create("a:1", ["text": text])
        let one = try a.info()
        #expect((one.documentCount, one.deletedDocumentCount) == (1, 0))
        #expect(one.contentBytes > 1_000 && one.storedBytes > one.contentBytes)
        #expect(try b.info().documentCount == 0)
        try database.create("b:1", ["text": text])
        try database.create("_design/d", ["text": text])
        #expect(try a.info() == one)
        try database.update("a:1") { $0["text"] = "short" }
        #expect(try a.info().contentBytes < one.contentBytes)
        try database.delete("a:1")
        let gone = try a.info()
        #expect((gone.documentCount, gone.deletedDocumentCount) == (0, 1))
        try database.purge("a:1")
        #expect(try a.info() == .none(in: database.partition("none")))
    }

    @Test func `attachments count where they are`() throws {
        let database = try partitioned()
        let document = MutableDocument([:], id: "a:1")
        document.setAttachment(
            named: "file", contentType: "text/plain", .bytes(Array(repeating: 7, count: 5_000)))
        try database.save(document)
        let info = try database.partition("a").info()
        #expect(info.contentBytes >= 5_000 && info.storedBytes >= 5_000)
    }

    @Test func `lengths that are made up make no sum trap`() throws {
        let database = try partitioned()
        let document = MutableDocument([:], id: "a:1")
        document.setAttachment(named: "file", contentType: nil, .bytes([1, 2, 3]))
        let saved = try database.save(document).document
        let digest = JSONValue.string(try #require(saved.attachments.first).digest)
        for n in 0..<4 {
            let stub: JSONValue = [
                "stub": true, "digest": digest, "revpos": 1, "encoding": "gzip",
                "encoded_length": 3, "length": .integer(.max),
            ]
            try database.putExistingRevision(
                "a:1", ["_attachments": ["file": stub]],
                history: [
                    RevisionID("2-\(n)aaa"), saved.revisionID,
                ])
        }
        let info = try database.partition("a").info()
        #expect(info.contentBytes >= 3 && info.storedBytes >= 3)
    }

    @Test func `an earlier release refuses a partitioned database`() throws {
        for (wanted, format) in [(true, 5), (false, 3)] {
            let database = try sandbox.database("of\(format)") { $0.partitioned = wanted }
            let manifest = try String(
                contentsOf: URL(filePath: database.path + "/manifest"), encoding: .utf8)
            #expect(manifest.contains("\"format\":\(format)"))
            #expect(manifest.contains("partitioned") == wanted)
            database.close()
        }
    }

    @Test func `options that make databases partitioned open those of both kinds`() throws {
        let plain = try sandbox.manager()
        try plain.database(named: "whole", partitioned: false).close()
        plain.close()
        var options = ManagerOptions()
        options.databaseOptions.partitioned = true
        let manager = try sandbox.manager(options)
        #expect(try manager.existingDatabase(named: "whole")?.isPartitioned == false)
        #expect(try manager.database(named: "new").isPartitioned)
    }

    @Test func `a database without partitions, and a name that is none, are refused`() throws {
        let whole = try sandbox.database("whole")
        #expect(code { try whole.partition("a").allDocuments() } == .invalidQuery)
        #expect(code { try whole.partition("a").info() } == .invalidQuery)
        #expect(
            code { try whole.partition("a").find(selector: [:]).run() } == .invalidQuery)
        #expect(
            code { try whole.partition("a").allDocumentsQuery().run() } == .invalidQuery)
        let database = try partitioned()
        for name in ["", "_a", "a:b"] {
            #expect(code { try database.partition(name).allDocuments() } == .invalidID)
            #expect(code { try database.partition(name).info() } == .invalidID)
            #expect(code { try database.partition(name).find(selector: [:]).run() } == .invalidID)
        }
    }
}

extension PartitionInfo {
    /// What a partition without documents has.
    fileprivate static func none(in partition: DatabasePartition) throws -> PartitionInfo {
        let info = try partition.info()
        #expect((info.documentCount, info.deletedDocumentCount) == (0, 0))
        #expect((info.contentBytes, info.storedBytes) == (0, 0))
        return info
    }
}
