// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
import DivanJSON
import DivanMaintenance
import DivanModel
import DivanStorage
import DivanTestChild
import DivanTestSupport
import FoundationEssentials
import Testing

/// Files that are cut off, emptied, full of garbage, left over or missing.
@Suite struct DamagedFileTests {
    @Test func `a file cut off anywhere alters no answer unnoticed`() async throws {
        try await judge { directory in
            let length = try directory.contents("closed/data-1/\(TestEngine.mainFile)").count
            for cut in [0, 1, 99, 100, 4_096, 8_191, 8_192, 24_576, length / 2, length - 1] {
                let data = try directory.damage("cut-\(cut)", "data-1/\(TestEngine.mainFile)")
                try data.contents.prefix(cut).write(to: data.url)
            }
            for name in ["manifest", "changes"] {
                for cut in [0, 1, 20] {
                    let data = try directory.damage("\(name)-\(cut)", name)
                    try data.contents.prefix(cut).write(to: data.url)
                }
            }
        }
    }

    @Test func `garbage in a file alters no answer unnoticed`() async throws {
        try await judge { directory in
            var random = Soak.random(round: 0, salt: 0x6761_7262)
            for name in ["manifest", "changes", "data-1/\(TestEngine.mainFile)"] {
                let data = try directory.damage("garbage-\(directory.nameCount)", name)
                try Data(data.contents.map { _ in UInt8(random.below(256)) }).write(to: data.url)
            }
            // LMDB trusts its pages: what DivanLMDBTests flips in them is chosen by a map of the file.
            for page in 0..<(TestEngine.isSQLite ? Soak.count(test: 8, soak: 90) : 0) {
                // A page of zeroes, as file systems leave after a crash.
                let data = try directory.damage("zeroes-\(page)", "data-1/main.sqlite3")
                var bytes = data.contents
                let start = page * 4_096
                guard start + 4_096 <= bytes.count else { continue }
                bytes.replaceSubrange(start..<start + 4_096, with: Data(count: 8_192))
                try bytes.write(to: data.url)
            }
        }
    }

    @Test(.enabled(if: TestEngine.isSQLite, "LMDB has no log."))
    func `a log left over or full of garbage alters nothing`() async throws {
        let outcomes = try await judge { directory in
            let log = try directory.contents("crashed/data-1/main.sqlite3-wal")
            for suffix in ["-wal", "-shm"] {
                let path =
                    try directory.damage("empty\(suffix)", "data-1/main.sqlite3").path + suffix
                try Data().write(to: URL(filePath: path))
                let other =
                    try directory.damage("noise\(suffix)", "data-1/main.sqlite3").path + suffix
                try Data((0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
                    .write(to: URL(filePath: other))
            }
            // A log whose beginning was never written.
            let hole = try directory.damage("hole", "data-1/main.sqlite3").path + "-wal"
            try (Data(count: 32) + log.dropFirst(32)).write(to: URL(filePath: hole))
        }
        #expect(outcomes.allSatisfy { $0 == "end same" })
    }

    @Test func `a database directory copied while closed is that database`() async throws {
        let outcomes = try await judge { directory in
            _ = try directory.damage("copied", "manifest")
        }
        #expect(outcomes == ["end same"])
    }

    @Test func `a manifest of a newer format is refused as such`() throws {
        let directory = try TestDirectory("newer")
        try directory.makeDatabase("app.divan")
        let newer = Manifest(engine: TestEngine.name).bytes(
            provenBy: nil, format: Manifest.currentFormat + 1)
        try Data(newer).write(to: directory.url("app.divan/manifest"))
        let error = #expect(throws: DatabaseError.self) {
            try Database.forTest(at: directory.path("app.divan"))
        }
        #expect(error?.code == .unsupportedVersion)
    }

    @Test(arguments: [false, true])
    func `a database that has lost its manifest is refused, and nothing of it goes`(
        _ isCreating: Bool
    ) throws {
        let directory = try TestDirectory("lost")
        try directory.makeDatabase("app.divan")
        let path = directory.path("app.divan")
        let manifest = try Data(contentsOf: directory.url("app.divan/manifest"))
        try FileManager.default.removeItem(atPath: path + "/manifest")
        let before = try directory.bytes(of: "app.divan")
        let error = #expect(throws: DatabaseError.self) {
            try Database.forTest(at: path, create: isCreating)
        }
        #expect(error?.code == .corrupted)
        #expect(error?.message.contains("manifest") == true)
        #expect(try directory.bytes(of: "app.divan") == before)
        try manifest.write(to: directory.url("app.divan/manifest"))
        let database = try Database.forTest(at: path)
        #expect(try database.documentCount == 20)
        database.close()
    }

    @Test func `data without manifest and changes are not made anew either`() throws {
        let directory = try TestDirectory("partial")
        try directory.makeDatabase("app.divan", documents: 1_000)
        let path = directory.path("app.divan")
        for name in ["manifest", "changes", "lock"] {
            try? FileManager.default.removeItem(atPath: path + "/" + name)
        }
        let before = try directory.bytes(of: "app.divan")
        let error = #expect(throws: DatabaseError.self) {
            try Database.forTest(at: path, create: true)
        }
        #expect(error?.code == .corrupted)
        #expect(try directory.bytes(of: "app.divan") == before)
        let salvaged = try Database.salvage(
            from: directory.url("app.divan"), to: directory.url("salvaged"))
        #expect(salvaged.documentsCopied == 1_000)
    }

    @Test func `a creation that did not finish is no database until it is created anew`() throws {
        let directory = try TestDirectory("unfinished")
        let path = directory.path("app.divan")
        try Database.forTest(at: path, create: true).close()
        try FileManager.default.removeItem(atPath: path + "/manifest")
        for isMarked in [true, false] {
            if !isMarked { try FileManager.default.removeItem(atPath: path + "/changes") }
            let error = #expect(throws: DatabaseError.self) { try Database.forTest(at: path) }
            #expect(error?.code == .databaseNotFound)
            let database = try Database.forTest(at: path, create: true)
            #expect(try database.documentCount == 0)
            #expect(try database.verify().isEmpty)
            database.close()
            try FileManager.default.removeItem(atPath: path + "/manifest")
        }
    }

    @Test func `a directory that cannot be looked into is an error of its own`() throws {
        let directory = try TestDirectory("unseen")
        try directory.makeDatabase("app.divan")
        let manifest = directory.path("app.divan/manifest")
        try FileManager.default.removeItem(atPath: manifest)
        // A link to itself: the system says neither that there is a file nor that there is none.
        try FileManager.default.createSymbolicLink(
            atPath: manifest, withDestinationPath: manifest)
        for isCreating in [false, true] {
            let error = #expect(throws: DatabaseError.self) {
                try Database.forTest(at: directory.path("app.divan"), create: isCreating)
            }
            #expect(error?.code == .io)
        }
    }

    @Test func `rows under keys that are no sequences are reported and trap nowhere`() throws {
        let directory = try TestDirectory("keys")
        try directory.makeDatabase("app.divan", documents: 3)
        let database = try Database.forTest(at: directory.path("app.divan"))
        try database.core.write { context in
            let (writer, snapshot) = try context.transaction()
            let stores = snapshot.core.stores
            for store in [stores.revisions, stores.superseded] {
                for key in [Int64.min, -1, 0] { try writer.set([0].span, forKey: key, in: store) }
            }
            try writer.set([0].span, forKey: Int64.max, in: stores.superseded)
            guard var record = try snapshot.record(DocumentID("document-1")) else {
                throw TestChild.Failure(description: "There is no document.")
            }
            record.updateSequence = .max
            var row: [UInt8] = []
            record.encode(into: &row)
            try writer.set(row.span, forKey: Array("document-1".utf8).span, in: stores.documents)
        }
        let problems = try database.verify()
        #expect(problems.count { $0.message.contains("is no sequence") } == 6)
        #expect(problems.contains { $0.documentID == "document-1" })
        try database.compact { _ in }
        database.close()
        let result = try Database.salvage(
            from: directory.url("app.divan"), to: directory.url("copy"))
        #expect(result.documentsCopied == 3)
    }

    @Test func `a row of another document or kind and a stray large body are reported`() throws {
        let directory = try TestDirectory("rows")
        try directory.makeDatabase("app.divan", documents: 3)
        let database = try Database.forTest(at: directory.path("app.divan"))
        defer { database.close() }
        #expect(try database.verify().isEmpty)
        try database.core.write { context in
            let (writer, snapshot) = try context.transaction()
            let stores = snapshot.core.stores
            guard let head = try snapshot.head(DocumentID("document-1")),
                let sequence = head.winner.sequence,
                let body = try snapshot.body(
                    DocumentID("document-1"), sequence, expecting: head.winner.id)
            else { throw TestChild.Failure(description: "There is no document.") }
            var row: [UInt8] = []
            RevisionRow.appendHead(
                flags: .tombstone, id: DocumentID("other"), revision: head.winner.id,
                to: &row)
            row += body.bytes
            try writer.set(row.span, forKey: Int64(sequence), in: stores.revisions)
            try writer.set(
                [1].span, forKey: LargeBody.key(sequence, chunk: 0).span, in: stores.largeBodies)
        }
        let messages = try database.verify().map(\.message)
        #expect(messages.count == 3)
        for part in ["is that of 'other'", "in only one of its row", "belongs to no stored"] {
            #expect(messages.contains { $0.contains(part) })
        }
    }

    /// Makes damaged copies and has a child judge them; returns its verdicts.
    @discardableResult
    private func judge(
        _ damage: @escaping @Sendable (DamageDirectory) throws -> Void
    ) async throws
        -> [String]
    {
        try await offPool {
            let directory = try DamageDirectory()
            try damage(directory)
            let child = try TestChild("judge", arguments: [directory.root.path] + directory.copies)
            var outcomes: [String] = []
            var last = "nothing"
            while let line = child.readLine() {
                if line.hasPrefix("begin ") { last = line } else { outcomes.append(line) }
                if line.contains("WRONG") { Issue.record("\(last): \(line)") }
            }
            child.kill()
            let code = child.wait()
            if code != 0 { Issue.record("The child ended with \(code) in: \(last)") }
            #expect(outcomes.count == directory.copies.count)
            return outcomes
        }
    }
}

/// The databases of `DamageFixture` and damaged copies of the closed one.
final class DamageDirectory {
    let root: TestDirectory
    private(set) var copies: [String] = []
    var nameCount: Int { copies.count }

    init() throws {
        root = try TestDirectory("damage")
        try DamageFixture.make(in: root.path)
    }

    /// Copies the closed database and says where one of its files is.
    func damage(_ copy: String, _ file: String) throws -> (path: String, url: URL, contents: Data) {
        try root.copy("closed", to: copy)
        copies.append(root.path(copy))
        let path = root.path(copy + "/" + file)
        return (path, URL(filePath: path), try Data(contentsOf: URL(filePath: path)))
    }

    func contents(_ name: String) throws -> Data { try Data(contentsOf: root.url(name)) }

    @Test func `a missing engine file is damage and no empty database`() throws {
        let directory = try TestDirectory("missing-engine")
        let path = directory.path("app.divan")
        let database = try Database.forTest(at: path, create: true)
        try database.save(MutableDocument(id: "a"))
        database.close()
        let file = path + "/data-1/\(TestEngine.mainFile)"
        for empty in [false, true] {
            try FileManager.default.removeItem(atPath: file)
            if empty { #expect(FileManager.default.createFile(atPath: file, contents: nil)) }
            do {
                _ = try Database.forTest(at: path)
                Issue.record("It opened.")
            } catch let error as DatabaseError {
                #expect([.corrupted, .databaseNotFound].contains(error.code))
            }
            if !empty { #expect(FileManager.default.createFile(atPath: file, contents: nil)) }
        }
    }
}
