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

/// `Manager.replaceDatabase(named:from:)` and `copyDatabase(named:to:)`.
@Suite struct ReplacementTests {
    private let sandbox = Sandbox()
    private let elsewhere = Sandbox()

    @Test func `a prebuilt database is installed under a new name`() throws {
        let (source, uuids) = try makeSource()
        let before = try elsewhere.contents()
        let manager = try sandbox.manager()
        try manager.replaceDatabase(named: "app", from: source)
        #expect(try manager.allDatabaseNames() == ["app"])
        let database = try manager.database(named: "app")
        #expect(try database.documentCount == 20)
        #expect(try database.existing("document-3")["n"].int == 3)
        #expect(try database.existing("document-3").generation == 1)
        #expect(try database.localDocument("l") == ["n": 1])
        #expect(try database.revisionBodyLimit == 7)
        let new = [database.publicUUID, database.privateUUID, database.incarnation]
        #expect(Set(new + uuids).count == 6)
        #expect(try database.problems() == [])
        try database.create("mine")
        #expect(try database.lastSequence == 21)
        #expect(try elsewhere.contents() == before)
    }

    @Test func `an existing database is replaced whole and its old data go`() throws {
        let (source, _) = try makeSource()
        let manager = try sandbox.manager()
        let old = try manager.database(named: "app")
        for n in 0..<50 { try old.create("old-\(n)") }
        let uuid = old.publicUUID
        let incarnation = old.incarnation
        old.close()
        for generation in 2...3 {
            try manager.replaceDatabase(named: "app", from: source)
            #expect(try names("app") == ["changes", "data-\(generation)", "lock", "manifest"])
            let new = try manager.database(named: "app")
            #expect(try new.documentCount == 20)
            #expect(try new.document(withID: "old-1") == nil)
            #expect(new.publicUUID != uuid)
            #expect(new.incarnation != incarnation)
            #expect(try new.problems() == [])
            #expect(code { try old.documentCount } == .databaseClosed)
            new.close()
        }
    }

    @Test func `a database that is open here is not replaced and goes on`() throws {
        let (source, _) = try makeSource()
        let manager = try sandbox.manager()
        let database = try manager.database(named: "app")
        try database.create("a")
        #expect(code { try manager.replaceDatabase(named: "app", from: source) } == .databaseBusy)
        try database.create("b")
        #expect(try database.documentCount == 2)
        #expect(try names("app") == ["changes", "data-1", "lock", "manifest"])
        database.close()
        try manager.replaceDatabase(named: "app", from: source)
        #expect(try manager.database(named: "app").documentCount == 20)
    }

    @Test func `a database that another process has open is not replaced and goes on`() async throws
    {
        let (source, _) = try makeSource()
        try await offPool { [self] in
            let manager = try sandbox.manager()
            let path = sandbox.url("app").path(percentEncoded: false)
            let child = try TestChild("serve", path)
            #expect(child.readLine() == "ready")
            #expect(try child.ask("save a 1")?.hasPrefix("saved") == true)
            #expect(
                code { try manager.replaceDatabase(named: "app", from: source) } == .databaseBusy)
            #expect(try child.ask("save b 2")?.hasPrefix("saved") == true)
            #expect(try child.ask("count") == "2")
            #expect(try names("app") == ["changes", "data-1", "lock", "manifest"])
            #expect(try child.ask("close") == "closed")
            try manager.replaceDatabase(named: "app", from: source)
            #expect(try manager.database(named: "app").documentCount == 20)
            #expect(child.finish() == 0)
        }
    }

    @Test func `a source that is open, here or elsewhere, gives what it has committed`()
        async throws
    {
        try await offPool { [self] in
            let manager = try sandbox.manager()
            let here = try elsewhere.database("here")
            try here.create("a")
            try here.inBatch {
                try here.create("uncommitted")
                try manager.replaceDatabase(named: "one", from: elsewhere.url("here"))
            }
            #expect(try manager.database(named: "one").allDocuments().map(\.id) == ["a"])
            let path = elsewhere.url("there").path(percentEncoded: false)
            let child = try TestChild("serve", path)
            #expect(child.readLine() == "ready")
            #expect(try child.ask("save b 1")?.hasPrefix("saved") == true)
            try manager.replaceDatabase(named: "two", from: elsewhere.url("there"))
            #expect(try manager.database(named: "two").allDocuments().map(\.id) == ["b"])
            #expect(try child.ask("save c 1")?.hasPrefix("saved") == true)
            #expect(child.finish() == 0)
        }
    }

    @Test func `a source that was not closed well is installed with its log`() async throws {
        try await offPool { [self] in
            let path = elsewhere.url("killed").path(percentEncoded: false)
            let child = try TestChild("serve", path)
            #expect(child.readLine() == "ready")
            for n in 0..<5 { #expect(try child.ask("save d\(n) \(n)")?.hasPrefix("saved") == true) }
            child.kill()
            #expect(child.wait() == -9)
            let manager = try sandbox.manager()
            try manager.replaceDatabase(named: "app", from: elsewhere.url("killed"))
            #expect(try manager.database(named: "app").documentCount == 5)
        }
    }

    @Test func `a backup is put back in the place of its original`() throws {
        let manager = try sandbox.manager()
        let database = try manager.database(named: "app")
        try database.create("a", ["n": 1])
        try database.backup(to: elsewhere.url("backup"))
        try database.update("a") { $0["n"] = 2 }
        database.close()
        try manager.replaceDatabase(named: "app", from: elsewhere.url("backup"))
        #expect(try manager.database(named: "app").existing("a")["n"].int == 1)
    }

    @Test
    func `a source that is missing, newer or damaged is refused before anything is touched`()
        throws
    {
        let manager = try sandbox.manager()
        let database = try manager.database(named: "app")
        try database.create("a")
        database.close()
        let before = try sandbox.contents()
        let (source, _) = try makeSource()
        let sound = try elsewhere.contents()
        func refused(_ expected: DatabaseError.Code, _ sourceLocation: SourceLocation) throws {
            #expect(
                code { try manager.replaceDatabase(named: "app", from: source) } == expected,
                sourceLocation: sourceLocation)
            #expect(
                code { try manager.replaceDatabase(named: "new", from: source) } == expected,
                sourceLocation: sourceLocation)
            #expect(try sandbox.contents() == before, sourceLocation: sourceLocation)
            for (path, bytes) in sound {
                try bytes.write(to: elsewhere.folder.appending(path: path))
            }
        }
        let manifest = source.appending(path: "manifest")
        let text = String(decoding: try Data(contentsOf: manifest), as: UTF8.self)
        let line = try #require(text.split(separator: "\n").first)
            .replacing(/"format":[34]/, with: "\"format\":99")
        let sum = String(ValueChecksum.continued(0, over: Array(line.utf8).span), radix: 16)
        let padding = String(repeating: "0", count: 8 - sum.count)
        try Data("\(line)\n\(padding)\(sum)\n".utf8).write(to: manifest)
        try refused(.unsupportedVersion, #_sourceLocation)
        try Data("garbage".utf8).write(to: manifest)
        try refused(.corrupted, #_sourceLocation)
        try FileManager.default.removeItem(at: manifest)
        try refused(.corrupted, #_sourceLocation)
        let file = source.appending(path: "data-1/\(TestEngine.mainFile)")
        try Data().write(to: file)
        try refused(.corrupted, #_sourceLocation)
        // A flipped bit in some document, which opening does not notice.
        var data = try Data(contentsOf: file)
        let word = Array("document-7 ".utf8)
        // LMDB may have copies of the page that are not used any more.
        let found = data.indices.filter { data[$0...].prefix(word.count).elementsEqual(word) }
        #expect(!found.isEmpty)
        for place in found { data[place + word.count] ^= 1 }
        try data.write(to: file)
        try refused(.corrupted, #_sourceLocation)
        #expect(
            code { try manager.replaceDatabase(named: "app", from: elsewhere.url("nowhere")) }
                == .databaseNotFound)
        // Sound again, it is installed.
        try manager.replaceDatabase(named: "app", from: source)
        #expect(try manager.database(named: "app").documentCount == 20)
    }

    @Test func `a damaged database is replaced by a sound one`() throws {
        let (source, _) = try makeSource()
        let manager = try sandbox.manager()
        try manager.database(named: "app").close()
        try Data("garbage".utf8).write(to: sandbox.url("app").appending(path: "manifest"))
        #expect(code { try manager.database(named: "app") } == .corrupted)
        try manager.replaceDatabase(named: "app", from: source)
        #expect(try manager.database(named: "app").problems() == [])
        #expect(try names("app") == ["changes", "data-2", "lock", "manifest"])
    }

    @Test func `what is no database at the destination is not replaced`() throws {
        let (source, _) = try makeSource()
        let manager = try sandbox.manager()
        try FileManager.default.createDirectory(
            at: sandbox.url("app"), withIntermediateDirectories: true)
        try Data("x".utf8).write(to: sandbox.url("app").appending(path: "mine.txt"))
        #expect(code { try manager.replaceDatabase(named: "app", from: source) } == .databaseExists)
        #expect(try names("app") == ["mine.txt"])
    }

    @Test func `a database is not replaced by itself`() throws {
        let manager = try sandbox.manager()
        let database = try manager.database(named: "app")
        try database.create("a")
        database.close()
        #expect(
            code { try manager.replaceDatabase(named: "app", from: sandbox.url("app")) }
                == .databaseBusy)
        #expect(try manager.database(named: "app").contains("a"))
    }

    @Test func `a manager that is closed or read-only, and a bad name, replace nothing`() throws {
        let (source, _) = try makeSource()
        let manager = try sandbox.manager()
        #expect(code { try manager.replaceDatabase(named: "A", from: source) } == .invalidName)
        manager.close()
        #expect(code { try manager.replaceDatabase(named: "app", from: source) } == .databaseClosed)
        var options = ManagerOptions()
        options.readOnly = true
        let readOnly = try sandbox.manager(options)
        #expect(code { try readOnly.replaceDatabase(named: "app", from: source) } == .readOnly)
        #expect(try sandbox.contents().isEmpty)
    }

    @Test func `stopping a replacement at any report leaves the old database`() async throws {
        let (source, _) = try makeSource()
        let manager = try sandbox.manager()
        let database = try manager.database(named: "app")
        try database.create("a")
        database.close()
        let before = try sandbox.contents()
        let reports = try countReports(manager, source)
        #expect(reports > 1)
        for stop in 1...reports {
            for name in ["app", "new"] {
                #expect(throws: Whim()) { try replace(manager, name, source, stopAt: stop) }
            }
            #expect(try sandbox.contents() == before)
        }
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await manager.perform { try $0.replaceDatabase(named: "app", from: source) }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try sandbox.contents() == before)
        try manager.replaceDatabase(named: "app", from: source)
        #expect(try manager.database(named: "app").documentCount == 20)
    }

    @Test(.enabled(if: Mounting.isAllowed, "It has to mount a file system."))
    func `a disk that is full leaves the old database`() throws {
        let directory = try TestDirectory("replace-full")
        try #require(try Mounting.memory(at: directory.path, bytes: 1 << 20))
        defer { Mounting.unmount(directory.path) }
        let large = try elsewhere.database("large")
        try large.inBatch {
            for n in 0..<100 { try large.create("document-\(n)", KnownBody.make("d", n * 50)) }
        }
        large.close()
        let manager = try Manager(directory: URL(filePath: directory.path))
        let database = try manager.database(named: "app")
        try database.create("a")
        database.close()
        #expect(
            code { try manager.replaceDatabase(named: "app", from: elsewhere.url("large")) }
                == .storageFull)
        let again = try manager.database(named: "app")
        #expect(try again.contains("a"))
        #expect(try again.problems() == [])
        let names = try FileManager.default.contentsOfDirectory(atPath: again.path)
        #expect(names.sorted() == ["changes", "data-1", "lock", "manifest"])
        manager.close()
    }

    // MARK: - Where others own the source

    @Test(.enabled(if: Mounting.isAllowed, "It has to mount a file system."))
    func `a source on a medium that cannot be written is installed`() throws {
        let directory = try TestDirectory("medium")
        try directory.makeDatabase("medium/app.divan")
        try FileManager.default.createDirectory(
            atPath: directory.path("medium/bare.divan/data-1"), withIntermediateDirectories: true)
        // A package need not carry more than this.
        for name in ["manifest", "data-1/\(TestEngine.mainFile)"] {
            try directory.copy("medium/app.divan/\(name)", to: "medium/bare.divan/\(name)")
        }
        try #require(try Mounting.bindReadOnly(directory.path("medium")))
        defer { Mounting.unmount(directory.path("medium")) }
        let manager = try sandbox.manager()
        for name in ["app", "bare"] {
            try manager.replaceDatabase(
                named: name, from: directory.url("medium/\(name).divan"))
            #expect(try manager.database(named: name).documentCount == 20)
            try manager.database(named: name).create("mine")
        }
    }

    @Test(.enabled(if: TestChild.mayBecomeNobody, "It has to become another user."))
    func `an unprivileged user installs a database that belongs to somebody else`() async throws {
        let directory = try TestDirectory("nobody")
        try directory.makeDatabase("app.divan")
        let manager = FileManager.default
        let target = directory.path("target")
        try manager.createDirectory(atPath: target, withIntermediateDirectories: false)
        try manager.setAttributes([.posixPermissions: 0o777], ofItemAtPath: target)
        let before = try directory.bytes(of: "app.divan")
        let lines = try await offPool {
            let child = try TestChild(
                "unprivileged", arguments: [directory.path("app.divan"), target])
            let lines = child.readLines()
            #expect(child.wait() == 0)
            return lines
        }
        // Reading beside a writer needs an index of its log, which this user may not make there.
        // Installing locks the source and does without.
        #expect(lines == ["write io", "read io", "install 20"])
        #expect(try directory.bytes(of: "app.divan") == before)
    }

    // MARK: - Copying

    @Test func `a copy is another database with the same documents`() throws {
        let manager = try sandbox.manager()
        let original = try manager.database(named: "app")
        try original.create("a", ["n": 1])
        try manager.copyDatabase(named: "app", to: "open")
        original.close()
        try manager.copyDatabase(named: "app", to: "closed")
        var uuids: Set<String> = []
        for name in ["app", "open", "closed"] {
            let database = try manager.database(named: name)
            #expect(try database.existing("a")["n"].int == 1)
            #expect(try database.problems() == [])
            uuids.formUnion([database.publicUUID, database.privateUUID, database.incarnation])
        }
        #expect(uuids.count == 9)
        try manager.database(named: "open").update("a") { $0["n"] = 2 }
        #expect(try manager.database(named: "app").existing("a")["n"].int == 1)
        #expect(code { try manager.copyDatabase(named: "app", to: "open") } == .databaseExists)
        #expect(code { try manager.copyDatabase(named: "app", to: "app") } == .databaseExists)
        #expect(code { try manager.copyDatabase(named: "none", to: "x") } == .databaseNotFound)
        #expect(try manager.allDatabaseNames() == ["app", "closed", "open"])
    }

    @Test func `a database is copied from path to path`() throws {
        let (source, uuids) = try makeSource()
        let before = try elsewhere.contents()
        try Database.copy(from: source, to: sandbox.url("below/copy"))
        let copy = try Database.open(at: sandbox.url("below/copy"))
        #expect(try copy.documentCount == 20)
        #expect(!uuids.contains(copy.publicUUID))
        #expect(
            code { try Database.copy(from: source, to: sandbox.url("below/copy")) }
                == .databaseExists)
        #expect(
            code { try Database.copy(from: sandbox.url("no"), to: sandbox.url("x")) }
                == .databaseNotFound)
        #expect(try elsewhere.contents() == before)
    }

    // MARK: - Support

    private func countReports(_ manager: Manager, _ source: URL) throws -> Int {
        var reports = 0
        try manager.replaceDatabase(named: "other", from: source) { _ in reports += 1 }
        try manager.deleteDatabase(named: "other")
        return reports
    }

    private func replace(
        _ manager: Manager, _ name: String, _ source: URL, stopAt stop: Int
    ) throws {
        var count = 0
        try manager.replaceDatabase(named: name, from: source) { _ in
            count += 1
            if count == stop { throw Whim() }
        }
    }

    /// A closed database elsewhere, and its UUIDs.
    private func makeSource() throws -> (URL, [String]) {
        let source = try elsewhere.database("source")
        try source.setRevisionBodyLimit(7)
        try source.inBatch {
            for n in 0..<20 {
                try source.create("document-\(n)", KnownBody.make("document-\(n)", n))
            }
        }
        try source.putLocalDocument("l", ["n": 1])
        let uuids = [source.publicUUID, source.privateUUID, source.incarnation]
        source.close()
        return (elsewhere.url("source"), uuids)
    }

    private func names(_ name: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(
            atPath: sandbox.url(name).path(percentEncoded: false)
        ).sorted()
    }
}
