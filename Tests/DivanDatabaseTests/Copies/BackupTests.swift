// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
import DivanJSON
import DivanMaintenance
import DivanModel
import DivanStorage
import DivanStorageConformance
import DivanTestChild
import DivanTestSupport
import FoundationEssentials
import Synchronization
import Testing

/// `Database.backup(to:)`: one moment of a live database, in a directory of its own.
@Suite struct BackupTests {
    private let sandbox = Sandbox()

    @Test func `a backup is the database as it is, and nothing more happens to it`() throws {
        let database = try filled()
        let before = try Dump(database)
        try database.backup(to: sandbox.url("backup"))
        try database.create("later")
        let backup = try sandbox.database("backup")
        #expect(try Dump(backup) == before)
        #expect(try backup.lastSequence + 1 == database.lastSequence)
        #expect(try backup.revisionBodyLimit == 7)
        #expect(try backup.localDocument("l") == ["n": 1])
        #expect(try backup.problems() == [])
        // It is a database like any other.
        try backup.update("document-1") { $0["n"] = 1 }
        #expect(try backup.problems() == [])
        #expect(try database.problems() == [])
    }

    @Test func `a backup has the UUIDs of its original and a life of its own`() throws {
        let database = try filled()
        try database.backup(to: sandbox.url("backup"))
        let backup = try sandbox.database("backup")
        #expect(backup.publicUUID == database.publicUUID)
        #expect(backup.privateUUID == database.privateUUID)
        #expect(backup.incarnation != database.incarnation)
        let incarnation = backup.incarnation
        backup.close()
        #expect(try sandbox.database("backup").incarnation == incarnation)
    }

    @Test func `a backup goes on beside writers and readers and holds one moment of them`() throws {
        let database = try filled()
        let stop = Flag()
        // Each batch sets both documents to one number, so every moment has them equal.
        let writer = Running {
            var number: Int64 = 0
            while !stop.isSet {
                number += 1
                try database.inBatch {
                    for id: DocumentID in ["document-1", "document-2"] {
                        try database.update(id) { $0.set(number, forKey: "moment") }
                    }
                    try database.create("filler-\(number)", KnownBody.make("filler", Int(number)))
                }
            }
        }
        let reader = Running {
            while !stop.isSet { _ = try database.allDocuments() }
        }
        var last: Int64 = -1
        for round in 0..<8 {
            // A writer that got on in between shows that none was held up for good.
            let sequence = try database.lastSequence
            try database.backup(to: sandbox.url("backup\(round)"))
            let backup = try sandbox.database("backup\(round)")
            let numbers = try ["document-1", "document-2"].map {
                try backup.existing($0)["moment"].int64 ?? 0
            }
            #expect(numbers[0] == numbers[1])
            #expect(numbers[0] >= last)
            last = numbers[0]
            #expect(try backup.lastSequence >= sequence)
            #expect(try backup.problems() == [])
            backup.close()
        }
        stop.set()
        _ = try writer.value()
        _ = try reader.value()
        #expect(try database.problems() == [])
    }

    @Test func `a backup of a database in memory is on the disk`() throws {
        let database = try Database.inMemory()
        try database.create("a", ["n": 1])
        try database.backup(to: sandbox.url("backup"))
        database.close()
        #expect(try sandbox.database("backup").existing("a")["n"].int == 1)
    }

    @Test func `a backup of a database opened read-only works`() throws {
        try filled().close()
        let database = try sandbox.database { $0.readOnly = true }
        try database.backup(to: sandbox.url("backup"))
        #expect(try Dump(sandbox.database("backup")) == Dump(database))
    }

    @Test func `whatever is at the destination is refused and left as it is`() throws {
        let database = try filled()
        let other = try sandbox.database("other")
        try other.create("mine")
        try Data("x".utf8).write(to: sandbox.url("file"))
        let folder = sandbox.url("folder")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data("x".utf8).write(to: folder.appending(path: "mine.txt"))
        other.close()
        let before = try sandbox.contents().filter { !$0.key.hasPrefix("db.divan") }
        for name in ["other", "file", "folder", "db"] {
            #expect(
                code { try database.backup(to: sandbox.url(name)) } == .databaseExists, "\(name)")
        }
        #expect(try sandbox.contents().filter { !$0.key.hasPrefix("db.divan") } == before)
        #expect(try database.problems() == [])
    }

    @Test func `an empty directory and the remains of an interrupted backup may be used`() throws {
        let database = try filled()
        let manager = FileManager.default
        try manager.createDirectory(at: sandbox.url("empty"), withIntermediateDirectories: true)
        let remains = sandbox.url("remains").appending(path: "data-1")
        try manager.createDirectory(at: remains, withIntermediateDirectories: true)
        try Data().write(to: remains.appending(path: "place"))
        try Data("half".utf8).write(to: remains.appending(path: "main.sqlite3"))
        try Data().write(to: sandbox.url("remains").appending(path: "lock"))
        #expect(code { try Database.open(at: sandbox.url("remains")) } == .databaseNotFound)
        for name in ["empty", "remains"] {
            try database.backup(to: sandbox.url(name))
            #expect(try Dump(sandbox.database(name)) == Dump(database))
        }
    }

    @Test func `progress rises to the end, and what it throws leaves nothing behind`() throws {
        let database = try filled()
        let reports = Record<(phase: String, completed: Int, total: Int?)>()
        try database.backup(to: sandbox.url("backup")) { progress in
            reports.append((progress.phase, progress.completed, progress.total))
        }
        #expect(reports.all.count > 1)
        #expect(reports.all.allSatisfy { $0.completed <= $0.total ?? 0 })
        let pages = reports.all.filter { $0.phase == "copying the data" }
        #expect(pages.last.map { $0.completed == $0.total } == true)
        #expect(pages.first.map { $0.completed == 0 } == true)
        #expect(zip(pages, pages.dropFirst()).allSatisfy { $0.completed <= $1.completed })
        for stop in 1...reports.all.count {
            var count = 0
            #expect(throws: Whim()) {
                try database.backup(to: sandbox.url("stopped")) { _ in
                    count += 1
                    if count == stop { throw Whim() }
                }
            }
            #expect(!FileManager.default.fileExists(atPath: sandbox.url("stopped").path()))
        }
    }

    @Test func `a cancelled task leaves nothing behind, and one that is not makes a backup`()
        async throws
    {
        let database = try filled()
        let url = sandbox.url("backup")
        let begun = Gate()
        let cancelled = Gate()
        let task = Task {
            try await database.perform { database in
                try database.backup(to: url) { _ in
                    begun.open()
                    cancelled.wait()
                }
            }
        }
        await begun.passed()
        task.cancel()
        cancelled.open()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(!FileManager.default.fileExists(atPath: url.path()))
        try database.backup(to: url)
        #expect(try Dump(sandbox.database("backup")) == Dump(database))
    }

    @Test func `a backup inside a batch of the same thread is refused`() throws {
        let database = try filled()
        try database.inBatch {
            #expect(code { try database.backup(to: sandbox.url("backup")) } == .databaseBusy)
        }
        #expect(!FileManager.default.fileExists(atPath: sandbox.url("backup").path()))
    }

    @Test func `after closing there is no backup`() throws {
        let database = try filled()
        database.close()
        #expect(code { try database.backup(to: sandbox.url("backup")) } == .databaseClosed)
    }

    @Test func `a storage failure midway leaves nothing behind`() throws {
        let plan = FaultPlan(failing: 1, with: .full)
        let core = try DatabaseCore(
            name: "faulty", directory: nil,
            engine: FaultyEngine(TestStorage.make(), plan: plan), options: DatabaseOptions())
        let database = Database(name: "faulty", core: core, readOnly: false, registration: nil)
        #expect(code { try database.backup(to: sandbox.url("backup")) } == .storageFull)
        #expect(plan.hasFailed)
        #expect(!FileManager.default.fileExists(atPath: sandbox.url("backup").path()))
        try database.backup(to: sandbox.url("backup"))
        #expect(try sandbox.database("backup").problems() == [])
    }

    @Test(
        .enabled(
            if: TestEngine.isSQLite, "What is written is recorded by a file system of SQLite's."))
    func `whichever write finds no room, there is no backup and nothing is left`() throws {
        try PowerLossRecorder.alone { try failEachWrite() }
    }

    private func failEachWrite() throws {
        let directory = try TestDirectory("backup-full")
        let database = try filled()
        var number = 0
        var hasFailed = true
        while hasFailed {
            number += 1
            try PowerLossRecorder.record(directory.path) {
                _ = PowerLossRecorder.failWrite(number)
                let result = code { try database.backup(to: directory.url("backup.divan")) }
                hasFailed = PowerLossRecorder.failWrite(0)
                #expect(result == (hasFailed ? .storageFull : nil), "write \(number)")
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            #expect(names == (hasFailed ? [] : ["backup.divan"]))
            number += number > 8 ? 20 : 0
        }
        #expect(number > 3)
        let backup = try Database.forTest(at: directory.path("backup.divan"))
        defer { backup.close() }
        #expect(try Dump(backup) == Dump(database))
    }

    @Test(.enabled(if: Mounting.isAllowed, "It has to mount a file system."))
    func `a disk that is full leaves no half of a backup`() throws {
        let directory = try TestDirectory("backup-disk")
        try #require(try Mounting.memory(at: directory.path, bytes: 256 << 10))
        defer { Mounting.unmount(directory.path) }
        let database = try sandbox.database()
        try database.inBatch {
            for n in 0..<100 { try database.create("document-\(n)", KnownBody.make("d", n * 50)) }
        }
        #expect(code { try database.backup(to: directory.url("backup.divan")) } == .storageFull)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
        #expect(try database.problems() == [])
    }

    @Test(
        .enabled(
            if: TestEngine.isSQLite, "What is written is recorded by a file system of SQLite's."))
    func `a finished backup survives a power loss at once`() throws {
        try PowerLossRecorder.alone { try losePower() }
    }

    private func losePower() throws {
        let directory = try TestDirectory("backup-power")
        let database = try filled()
        let data = directory.path("backup.divan/data-1")
        try PowerLossRecorder.record(data) {
            try database.backup(to: directory.url("backup.divan"))
        }
        // Nothing that was written is waiting for the disk.
        let restored = directory.path("restored")
        try FileManager.default.createDirectory(
            atPath: restored, withIntermediateDirectories: false)
        try PowerLossRecorder.restore(
            before: PowerLossRecorder.events.upperBound - 1, .everything, into: restored)
        let file = "main.sqlite3"
        let kept = FileManager.default.contents(atPath: restored + "/" + file)
        #expect(kept == FileManager.default.contents(atPath: data + "/" + file))
        #expect(kept?.isEmpty == false)
    }

    /// A database with some documents of every kind.
    private func filled() throws -> Database {
        let database = try sandbox.database()
        guard try database.documentCount == 0 else { return database }
        try database.setRevisionBodyLimit(7)
        try database.inBatch {
            for n in 0..<60 { try database.create("document-\(n)", KnownBody.make("document", n)) }
        }
        try database.update("document-1") { $0["n"] = 2 }
        try database.delete("document-3")
        try database.putExistingRevision("document-4", ["n": 5], history: ["1-0"])
        try database.purge("document-5")
        try database.putLocalDocument("l", ["n": 1])
        return database
    }
}
