// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import FoundationEssentials
import Testing

/// The import of databases in the layouts of Couchbase Lite 1.x, made here by SQL.
@Suite struct CouchbaseLiteImportTests {
    private let directory: TestDirectory
    private let manager: Manager

    init() throws {
        directory = try TestDirectory("cblite")
        manager = try Manager(directory: directory.url("new"))
    }

    /// Four documents: an edited one, one in conflict, a deleted one, one with an attachment.
    private func makeSample(_ layout: CouchbaseLiteSample.Layout = .package) throws
        -> CouchbaseLiteSample
    {
        let sample = try CouchbaseLiteSample(directory.path, layout: layout)
        try sample.info("publicUUID", "public")
        try sample.info("privateUUID", "private")
        try sample.document(1, "edited")
        try sample.revision(1, of: 1, "1-a", leaf: false, nil)
        try sample.revision(2, of: 1, "2-b", parent: 1, leaf: false, #"{"n":2}"#)
        try sample.revision(5, of: 1, "3-c", parent: 2, #"{"n":3}"#)
        try sample.document(2, "torn")
        try sample.revision(6, of: 2, "1-a", leaf: false, #"{"n":1}"#)
        try sample.revision(7, of: 2, "2-x", parent: 6, #"{"n":"x"}"#)
        try sample.revision(8, of: 2, "2-y", parent: 6, #"{"n":"y"}"#)
        try sample.document(3, "gone")
        try sample.revision(9, of: 3, "1-a", leaf: false, #"{"n":1}"#)
        try sample.revision(10, of: 3, "2-d", parent: 9, deleted: true, nil)
        try sample.document(4, "pic")
        let stub = CouchbaseLiteSample.stub(CouchbaseLiteSample.helloDigest, length: 5)
        try sample.content(CouchbaseLiteSample.helloDigest, CouchbaseLiteSample.hello)
        if layout == .package {
            try sample.revision(11, of: 4, "1-a", #"{"_attachments":{"note":\#(stub)}}"#)
        } else {
            try sample.revision(11, of: 4, "1-a", "{}")
            let key = CouchbaseLiteSample.hexadecimal(CouchbaseLiteSample.helloDigest)
            try sample.run(
                "INSERT INTO attachments VALUES (11, 'note', X'\(key)', 'text/plain', 5, 1, 0, NULL)"
            )
        }
        return sample
    }

    private func check(_ database: Database) throws {
        #expect(try database.documentCount == 3)
        #expect(try database.lastSequence == 11)
        #expect(try database.revisionHistory(of: "edited") == ["3-c", "2-b", "1-a"])
        #expect(try database.existing("edited").int(forKey: "n") == 3)
        #expect(try database.document(withID: "edited", revision: "2-b")?.int(forKey: "n") == 2)
        #expect(
            code { try database.document(withID: "edited", revision: "1-a") } == .revisionNotFound)
        #expect(try database.conflictingRevisions(of: "torn").map(\.revisionID) == ["2-y", "2-x"])
        #expect(try database.revisionTree(of: "gone")?.isDeleted == true)
        let note = try #require(try database.existing("pic").attachment(named: "note"))
        #expect(try note.content() == CouchbaseLiteSample.hello)
        #expect(note.contentType == "text/plain")
        #expect(try database.problems() == [])
    }

    @Test func `a package of version 1.1 and later comes over`() throws {
        let sample = try makeSample()
        sample.close()
        let before = try filesBelow(sample.path)
        let result = try manager.importCouchbaseLite(at: URL(filePath: sample.path))
        #expect(result.problems.isEmpty)
        #expect((result.documents, result.revisions, result.attachments) == (4, 8, 1))
        try check(manager.database(named: "shop"))
        #expect(try filesBelow(sample.path) == before)
    }

    @Test func `a file of version 1.0 with its folder of attachments comes over`() throws {
        let sample = try makeSample(.version10)
        try sample.run("INSERT INTO replicators VALUES ('abc', 1, '11')")
        sample.close()
        let result = try manager.importCouchbaseLite(at: URL(filePath: sample.path), named: "old")
        #expect(result.problems.isEmpty)
        #expect(result.name == "old")
        let database = try manager.database(named: "old")
        try check(database)
        #expect(try database.localDocument("abc")?["lastSequence"] == "11")
    }

    @Test func `what is only in the log comes over and the log stays as it is`() throws {
        let sample = try makeSample()
        let killed = try sample.copyOfKilled(to: directory.path("killed"))
        let before = try filesBelow(killed)
        #expect((before["db.sqlite3-wal"]?.count ?? 0) > 0)
        let result = try manager.importCouchbaseLite(at: URL(filePath: killed))
        #expect(result.problems.isEmpty)
        try check(manager.database(named: "shop"))
        #expect(try filesBelow(killed) == before)
        let names = try FileManager.default.subpathsOfDirectory(atPath: directory.path("new"))
        #expect(!names.contains { $0.contains("db.sqlite3") })
    }

    @Test func `local documents, settings and expirations come over`() throws {
        let sample = try makeSample()
        let future = 4_000_000_000
        try sample.document(5, "mortal", expires: future)
        try sample.revision(12, of: 5, "1-a", "{}")
        try sample.document(6, "late", expires: 1_000)
        try sample.revision(13, of: 6, "1-a", "{}")
        try sample.local("_local/settings", revision: "3-local", #"{"theme":"dark"}"#)
        try sample.info("max_revs", "7")
        try sample.info("checkpoint/0123", "42")
        try sample.run("UPDATE sqlite_sequence SET seq = 30 WHERE name = 'revs'")
        sample.close()
        let result = try manager.importCouchbaseLite(at: URL(filePath: sample.path))
        #expect((result.localDocuments, result.expirations, result.checkpoints) == (1, 2, 1))
        let database = try manager.database(named: "shop")
        #expect(try database.localDocument("settings") == ["theme": "dark"])
        #expect(try database.localDocument("0123")?["lastSequence"] == "42")
        #expect(try database.revisionBodyLimit == 7)
        #expect((database.publicUUID, database.privateUUID) == ("public", "private"))
        #expect(
            try database.expirationDate(of: "mortal")
                == Date(timeIntervalSince1970: Double(future)))
        // What had expired while the app was away goes as soon as the database is open.
        _ = try database.purgeExpired()
        #expect(try !database.contains("late"))
        // Sequences of revisions that were purged are not given out again.
        #expect(try database.lastSequence == 31 || database.lastSequence == 30)
        #expect(try database.create("new").sequence > 30)
    }

    @Test func `a tree deeper than the limit comes over whole`() throws {
        let sample = try CouchbaseLiteSample(directory.path)
        try sample.document(1, "deep")
        for n in 1...60 {
            try sample.revision(
                n, of: 1, "\(n)-a", parent: n > 1 ? n - 1 : nil, leaf: n == 60, #"{"n":\#(n)}"#)
        }
        sample.close()
        try manager.importCouchbaseLite(at: URL(filePath: sample.path))
        let database = try manager.database(named: "shop")
        #expect(try database.revisionHistory(of: "deep").count == 60)
        #expect(try database.revisionBodyLimit == 20)
        try database.update("deep") { $0["n"] = 61 }
        let tree = try database.revisionTree(of: "deep")
        #expect(tree?.nodes.count == 61)
        #expect(tree?.nodes.filter { $0.sequence != nil }.count == 20)
        #expect(try database.revisionLimit == 1_000)
        #expect(try database.problems() == [])
    }

    @Test func `a name with a colon is one with a slash`() throws {
        let sample = try CouchbaseLiteSample(directory.path, name: "a:b")
        sample.close()
        #expect(try manager.importCouchbaseLite(at: URL(filePath: sample.path)).name == "a/b")
        #expect(manager.databaseExists(named: "a/b"))
    }

    // MARK: - Stopping

    @Test func `an import that is stopped leaves nothing`() async throws {
        let sample = try makeSample()
        sample.close()
        let url = URL(filePath: sample.path)
        #expect(throws: Whim.self) {
            try manager.importCouchbaseLite(at: url) { _ in throw Whim() }
        }
        #expect(throws: Whim.self) {
            try manager.importCouchbaseLite(at: url) { report in
                if report.completed > 0 { throw Whim() }
            }
        }
        #expect(!manager.databaseExists(named: "shop"))
        let (began, goOn) = (Gate(), Gate())
        let task = Task { [manager] in
            try await manager.perform { manager in
                began.open()
                goOn.wait()
                return try manager.importCouchbaseLite(at: url)
            }
        }
        await began.passed()
        task.cancel()
        goOn.open()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path("new")) == [])
        try manager.importCouchbaseLite(at: url)
        try check(manager.database(named: "shop"))
    }

    @Test func `progress counts the revisions`() throws {
        let sample = try makeSample()
        sample.close()
        var reports: [String] = []
        try manager.importCouchbaseLite(at: URL(filePath: sample.path)) { report in
            reports.append("\(report.phase) \(report.completed)/\(report.total ?? -1)")
        }
        #expect(reports.contains("importing revisions 0/9"))
        #expect(reports.contains("importing revisions 9/9"))
    }

    // MARK: - Refusals

    @Test func `what is no database of Couchbase Lite 1 is refused`() throws {
        let path = directory.path
        func refusal(_ name: String) -> DatabaseError.Code? {
            code { try manager.importCouchbaseLite(at: URL(filePath: path + "/" + name)) }
        }
        #expect(refusal("nowhere.cblite2") == .databaseNotFound)
        try FileManager.default.createDirectory(
            atPath: path + "/forest.cblite2", withIntermediateDirectories: true)
        #expect(refusal("forest.cblite2") == .databaseNotFound)
        try Data().write(to: directory.url("forest.cblite2/db.forest"))
        #expect(refusal("forest.cblite2") == .unsupportedVersion)
        try FileManager.default.createDirectory(
            atPath: path + "/sealed.cblite2", withIntermediateDirectories: true)
        try Data((0..<8_192).map { UInt8(truncatingIfNeeded: $0 &* 31) })
            .write(to: directory.url("sealed.cblite2/db.sqlite3"))
        #expect(refusal("sealed.cblite2") == .corrupted)
        let other = try CouchbaseLiteSample(path, name: "two")
        try other.run("DROP TABLE revs")
        try other.run("CREATE TABLE kv_default (key TEXT PRIMARY KEY, body BLOB)")
        other.close()
        #expect(refusal("two.cblite2") == .unsupportedVersion)
        let locked = try CouchbaseLiteSample(path, name: "locked")
        locked.close()
        try Data().write(to: directory.url("locked.cblite2/attachments/_encryption"))
        #expect(refusal("locked.cblite2") == .unsupportedVersion)
        let odd = try CouchbaseLiteSample(path, name: "Odd Name")
        odd.close()
        #expect(refusal("Odd Name.cblite2") == .invalidName)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path("new")) == [])
    }

    @Test func `an import replaces nothing`() throws {
        let sample = try makeSample()
        sample.close()
        try manager.database(named: "shop").create("mine")
        #expect(
            code { try manager.importCouchbaseLite(at: URL(filePath: sample.path)) }
                == .databaseExists)
        #expect(try manager.database(named: "shop").contains("mine"))
    }

    @Test func `a source that is written meanwhile is refused`() throws {
        let sample = try makeSample()
        sample.close()
        var count = 0
        let refused = code {
            try manager.importCouchbaseLite(at: URL(filePath: sample.path)) { _ in
                count += 1
                guard count == 2 else { return }
                let file = self.directory.url("shop.cblite2/db.sqlite3")
                try Data(contentsOf: file).write(to: file)
            }
        }
        #expect(refused == .databaseBusy)
        #expect(!manager.databaseExists(named: "shop"))
    }
}
