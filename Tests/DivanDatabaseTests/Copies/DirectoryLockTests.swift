// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
import DivanJSON
import DivanModel
import DivanTestChild
import DivanTestSupport
import FoundationEssentials
import Testing

/// Who may have a directory for itself, and what becomes of the lock when that fails.
@Suite struct DirectoryLockTests {
    private let sandbox = Sandbox()

    @Test(.enabled(if: Mounting.isAllowed, "It has to mount a file system."))
    func `a deletion that fails gives the lock back though another handle is open`() throws {
        let first = try sandbox.database()
        let second = try sandbox.database()
        // The place where a file system is mounted cannot be removed.
        let obstacle = first.path + "/data-1/obstacle"
        try FileManager.default.createDirectory(
            atPath: obstacle, withIntermediateDirectories: false)
        try #require(try Mounting.memory(at: obstacle, bytes: 1 << 20))
        defer { Mounting.unmount(obstacle) }
        #expect(code { try first.delete() } == .io)
        #expect(first.isClosed)
        #expect(second.isClosed)
        try DirectoryLock.whileExclusive(at: first.path, timeout: .zero) {}
        // Without its manifest it counts as no database.
        #expect(code { try Database.open(at: sandbox.url()) } == .databaseNotFound)
        Mounting.unmount(obstacle)
        #expect(try sandbox.database().documentCount == 0)
    }

    @Test func `a lock in a directory that was deleted is that of no database`() {
        let path = sandbox.url("gone").path(percentEncoded: false)
        #expect(
            code { _ = try DirectoryLock.takeShared(at: path, writable: true, timeout: .zero) }
                == .databaseNotFound)
        #expect(
            code { try DirectoryLock.whileExclusive(at: path, timeout: .zero) {} }
                == .databaseNotFound)
    }

    @Test func `a handle whose directory was replaced does not delete the new one`() throws {
        let old = try sandbox.database()
        try FileManager.default.moveItem(at: sandbox.url(), to: sandbox.url("moved"))
        let new = try sandbox.database()
        try new.create("a")
        new.close()
        #expect(code { try old.delete() } == .io)
        #expect(code { try old.replaceUUIDs() } == .io)
        #expect(!old.isClosed)
        #expect(try sandbox.database().contains("a"))
    }

    @Test func `a refused deletion leaves the lock shared, so nobody else gets it`() async throws {
        try await offPool { [sandbox] in
            let database = try sandbox.database()
            let child = try TestChild("serve", database.path)
            #expect(child.readLine() == "ready")
            #expect(code { try database.delete() } == .databaseBusy)
            #expect(child.finish() == 0)
            #expect(
                code { try DirectoryLock.whileExclusive(at: database.path, timeout: .zero) {} }
                    == .databaseBusy)
            database.close()
            try DirectoryLock.whileExclusive(at: database.path, timeout: .zero) {}
        }
    }

    @Test func `of new databases only those are deleted again that are unused`() async throws {
        try await offPool { [sandbox] in
            func exists(_ name: String) -> Bool {
                FileManager.default.fileExists(
                    atPath: sandbox.url(name).path(percentEncoded: false))
            }
            let unused = try sandbox.database("unused")
            try unused.closeDeletingUnused()
            #expect(unused.isClosed && !exists("unused"))
            let (deleted, local) = (try sandbox.database("deleted"), try sandbox.database("local"))
            try deleted.create("a")
            try deleted.purge("a")
            try local.putLocalDocument("a", [:])
            let held = try sandbox.database("held")
            let child = try TestChild("serve", held.path)
            #expect(child.readLine() == "ready")
            for database in [deleted, local, held] {
                try database.closeDeletingUnused()
                #expect(database.isClosed && exists(database.name))
            }
            #expect(child.finish() == 0)
        }
    }

    @Test func `two who both want to delete do not get in between each other's locks`()
        async throws
    {
        try await offPool { [sandbox] in
            for round in 0..<20 {
                // Two engines in one process, as two processes would have them.
                _ = try sandbox.database("db\(round)")
                let path = sandbox.url("db\(round)").path(percentEncoded: false)
                let directories = try (0..<2).map { _ in
                    try DatabaseDirectory(
                        path: path, create: false, readOnly: false, engine: "sqlite",
                        busyTimeout: .seconds(30), key: nil
                    ) { _, _ in }
                }
                let attempts = directories.map { directory in
                    Running { code { try directory.lockExclusively() } }
                }
                for attempt in attempts { #expect(try attempt.value() == .databaseBusy) }
            }
        }
    }

    @Test(.enabled(if: Mounting.isAllowed, "It has to mount a file system."))
    func `a database without a lock file is read where nobody can write`() throws {
        let directory = try TestDirectory("lockless")
        try directory.makeDatabase("medium/app.divan")
        try FileManager.default.removeItem(atPath: directory.path("medium/app.divan/lock"))
        try #require(try Mounting.bindReadOnly(directory.path("medium")))
        defer { Mounting.unmount(directory.path("medium")) }
        let path = directory.path("medium/app.divan")
        #expect(code { try Database.forTest(at: path) } == .io)
        let database = try Database.forTest(at: path, readOnly: true)
        #expect(try database.documentCount == 20)
        #expect(try database.document(withID: "document-3").map(KnownBody.isWhole) == true)
        #expect(try database.verify().isEmpty)
        #expect(UUID(uuidString: database.publicUUID) != nil)
        database.close()
    }
}
