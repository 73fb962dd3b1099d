// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
import DivanJSON
import DivanMaintenance
import DivanModel
import DivanSystem
import DivanTestChild
import DivanTestSupport
import FoundationEssentials
import Testing

/// Copies bring exactly the attachments that they refer to.
@Suite struct AttachmentCopyTests {
    private let sandbox = Sandbox()
    private let elsewhere = Sandbox()

    @Test func `a backup names the same files on one file system, and no others`() throws {
        let database = try sandbox.database()
        try database.create("a", attachments: ["x": Sample.hello, "y": Sample.bytes(300_000)])
        try database.create("b", attachments: ["x": Sample.hello])
        try database.create("gone", attachments: ["z": [1]])
        try database.purge("gone")
        #expect(try database.attachmentFiles().count == 3)
        try database.backup(to: sandbox.url("backup"))
        let backup = try sandbox.database("backup")
        let files = try backup.attachmentFiles()
        #expect(files.count == 2)
        for file in files {
            let paths = [database, backup].map { $0.path + "/data-1/attachments/" + file }
            #expect(Files.identity(of: paths[0]) == Files.identity(of: paths[1]))
        }
        try check(backup)
        // What happens to the original afterwards is nothing to the backup.
        for id in ["a", "b"] { try database.purge(DocumentID(id)) }
        try database.compact()
        #expect(try database.attachmentFiles().isEmpty)
        try check(backup)
    }

    @Test(.enabled(if: Mounting.isAllowed, "It has to mount a file system."))
    func `a backup on another file system has files of its own`() throws {
        let directory = try TestDirectory("attachment-disk")
        try #require(try Mounting.memory(at: directory.path, bytes: 8 << 20))
        defer { Mounting.unmount(directory.path) }
        let database = try filled()
        try database.backup(to: directory.url("backup.divan"))
        let backup = try Database.forTest(at: directory.path("backup.divan"))
        try check(backup)
        backup.close()
        // Another one finds no room for its second attachment.
        try Mounting.fill(directory.path("filler"), bytes: 7_750_000)
        #expect(code { try database.backup(to: directory.url("more.divan")) } == .storageFull)
        #expect(!FileManager.default.fileExists(atPath: directory.path("more.divan")))
    }

    @Test func `an installed database has files of its own, and the source keeps its`() throws {
        let source = try filled()
        let paths = try source.attachmentFiles().map { source.path + "/data-1/attachments/" + $0 }
        source.close()
        let before = try sandbox.contents()
        let manager = try elsewhere.manager()
        for _ in 0..<2 {
            try manager.replaceDatabase(named: "app", from: sandbox.url())
            let database = try manager.database(named: "app")
            try check(database)
            let own = try Set(
                #require(
                    database.core.attachments.folder.map { folder in
                        try FileManager.default.contentsOfDirectory(atPath: folder).compactMap {
                            Files.identity(of: folder + "/" + $0)
                        }
                    }))
            #expect(own.isDisjoint(with: paths.compactMap(Files.identity(of:))))
            database.close()
        }
        #expect(try sandbox.contents() == before)
        try manager.copyDatabase(named: "app", to: "copy")
        try check(manager.database(named: "copy"))
    }

    @Test func `a backup of a database in memory has its attachments`() throws {
        let database = try Database.inMemory()
        try database.create("a", attachments: ["x": Sample.hello, "y": Sample.bytes(300_000)])
        try database.backup(to: sandbox.url("backup"))
        database.close()
        try check(sandbox.database("backup"))
    }

    @Test func `a backup of a database in memory holds off the sweep of its first attachment`()
        throws
    {
        let database = try Database.inMemory()
        defer { database.close() }
        try database.create("a")
        var wasSkipped: Bool?
        try database.backup(to: sandbox.url("memory")) { report in
            guard wasSkipped == nil, report.completed > 0 else { return }
            // On another thread: this one reads, and may not write meanwhile.
            wasSkipped = try Running {
                let document = MutableDocument(id: "pic")
                document.setAttachment(named: "x", contentType: nil, .bytes([1, 2, 3]))
                try database.save(document)
                try database.purge("pic")
                return try AttachmentSweep(core: database.core, progress: nil).run().isSkipped
            }.value()
        }
        #expect(wasSkipped == true)
        #expect(try sandbox.database("memory").problems() == [])
        #expect(try !AttachmentSweep(core: database.core, progress: nil).run().isSkipped)
    }

    @Test func `a missing or altered attachment is damage, and nothing is left or replaced`() throws
    {
        let database = try filled()
        let file = database.path + "/data-1/attachments/" + Sample.helloFile
        database.close()
        let manager = try elsewhere.manager()
        try manager.database(named: "app").create("mine")
        manager.close()
        let again = try elsewhere.manager()
        let before = try elsewhere.contents()
        try Data("hallo".utf8).write(to: URL(filePath: file))
        for name in ["app", "new"] {
            #expect(
                code { try again.replaceDatabase(named: name, from: sandbox.url()) } == .corrupted)
        }
        try FileManager.default.removeItem(atPath: file)
        #expect(code { try again.replaceDatabase(named: "app", from: sandbox.url()) } == .corrupted)
        #expect(try elsewhere.contents() == before)
        let reopened = try sandbox.database()
        #expect(code { try reopened.backup(to: sandbox.url("backup")) } == .corrupted)
        #expect(!FileManager.default.fileExists(atPath: sandbox.url("backup").path()))
    }

    @Test func `a backup waits for a sweep, and the sweep for the backup`() throws {
        let database = try filled()
        try database.create("gone", attachments: ["z": [1]])
        try database.purge("gone")
        let lock = database.path + "/data-1/attachments.lock"
        try Data().write(to: URL(filePath: lock))
        let sweep = try FileHandle(path: lock, .read)
        #expect(try sweep.tryLock(exclusive: true))
        let backup = Running { [sandbox] in try database.backup(to: sandbox.url("backup")) }
        #expect(!backup.isDone(within: 200))
        sweep.unlock()
        try backup.value()
        try check(sandbox.database("backup"))
        try database.backup(to: sandbox.url("beside")) { progress in
            guard progress.phase == "copying attachments" else { return }
            let result = try database.compact()
            #expect(result.attachmentsSkipped)
        }
        try check(sandbox.database("beside"))
        #expect(try database.compact().attachmentsRemoved == 1)
    }

    @Test func `backups beside two processes that add, remove and sweep lose nothing`() async throws
    {
        let directory = try TestDirectory("attach-backup")
        try await offPool {
            let path = directory.path("app.divan")
            let database = try Database.forTest(at: path, create: true)
            defer { database.close() }
            let rounds = Soak.count(test: 200, soak: 10_000)
            var random = Soak.random(round: 0, salt: 0x6261_636B)
            let children = try ["left", "right"].map {
                try TestChild("contents", path, $0, "\(random.next())", "\(rounds)")
            }
            let work = children.map { child in
                let box = UncheckedBox(child)
                return Running { () -> String? in
                    for _ in 0..<60 { if let line = box.value.readLine() { return line } }
                    return nil
                }
            }
            var backups = 0
            while work.contains(where: { !$0.isDone(within: 0) }) || backups < 3 {
                let url = directory.url("backup.divan")
                try database.backup(to: url)
                let backup = try Database.forTest(at: directory.path("backup.divan"))
                #expect(try backup.verify().map(\.message) == [], "backup \(backups)")
                #expect(try backup.unusedAttachments().files == 0, "backup \(backups)")
                try backup.delete()
                backups += 1
            }
            for one in work { #expect(try one.value() == "done") }
            for child in children { #expect(child.wait() == 0) }
            #expect(try database.verify().map(\.message) == [])
        }
    }

    // MARK: - Support

    private func filled() throws -> Database {
        let database = try sandbox.database()
        try database.create("a", attachments: ["x": Sample.hello, "y": Sample.bytes(300_000)])
        return database
    }

    private func check(_ database: Database) throws {
        let document = try database.existing("a")
        #expect(try document.attachment(named: "x")?.content() == Sample.hello)
        #expect(try document.attachment(named: "y")?.content() == Sample.bytes(300_000))
        #expect(try database.problems() == [])
    }
}
