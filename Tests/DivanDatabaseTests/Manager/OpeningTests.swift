// SPDX-License-Identifier: Apache-2.0

import Divan
@testable import DivanDatabase
import DivanSQLite
import DivanStorage
import DivanTestSupport
import Foundation
import Testing

/// A manager's databases while one of them is being opened, or was changed by others since.
@Suite struct OpeningTests {
    private let sandbox = Sandbox()

    /// An engine that opens nothing until a gate is open.
    private func slow(_ hasBegun: Gate, _ mayEnd: Gate) -> StorageEngineFactory {
        StorageEngineFactory(
            identifier: "slow-\(UUID().uuidString)", mainFile: "main.sqlite3", canEncrypt: true
        ) { directory, options in
            hasBegun.open()
            mayEnd.wait()
            return try SQLiteEngine(directory: directory, options: options)
        }
    }

    /// Opens a database of a manager by an engine, on a thread of its own.
    private func opening(
        _ name: String, of manager: Manager, by engine: StorageEngineFactory
    ) -> Running<Database> {
        var options = DatabaseOptions()
        (options.create, options.storageEngine) = (true, engine)
        return Running { [options] in try manager.openDatabase(named: name, options: options) }
    }

    @Test func `a database that is slow to open keeps no other one waiting`() throws {
        let manager = try sandbox.manager()
        let open = try manager.database(named: "open")
        try manager.database(named: "closed").close()
        let (hasBegun, mayEnd) = (Gate(), Gate())
        let engine = slow(hasBegun, mayEnd)
        let openings = (0..<2).map { _ in opening("slow", of: manager, by: engine) }
        #expect(hasBegun.wait())
        let others = Running { () throws -> Void in
            #expect(manager.openedDatabase(named: "open") === open)
            #expect(try manager.existingDatabase(named: "open") === open)
            #expect(manager.openedDatabase(named: "slow") == nil)
            #expect(try manager.existingDatabase(named: "closed") != nil)
            open.close()
        }
        #expect(others.isDone(within: 20_000))
        mayEnd.open()
        try others.value()
        let opened = try openings.map { try #require(try $0.value()) }
        #expect(opened[0] === opened[1])
        try opened[0].create("a")
    }

    @Test func `all that want a database which another process holds wait once together`() throws {
        var options = ManagerOptions()
        options.databaseOptions.busyTimeout = .seconds(3)
        let manager = try sandbox.manager(options)
        try manager.database(named: "db").close()
        let path = sandbox.url().path(percentEncoded: false)
        let began = ContinuousClock.now
        let codes = try DirectoryLock.whileExclusive(at: path, timeout: .seconds(10)) {
            let work = (0..<8).map { _ in
                Running { code { try manager.existingDatabase(named: "db") } }
            }
            return try work.map { try $0.value() }
        }
        #expect(codes.allSatisfy { $0 == .databaseBusy })
        #expect(ContinuousClock.now - began < .seconds(15))
        #expect(try manager.existingDatabase(named: "db") != nil)
    }

    @Test func `closing and suspending a manager wait for what is being opened`() throws {
        for ends in [{ $0.close() }, { try $0.suspend() }] as [@Sendable (Manager) throws -> Void] {
            let manager = try sandbox.manager()
            let (hasBegun, mayEnd) = (Gate(), Gate())
            let opening = opening("slow", of: manager, by: slow(hasBegun, mayEnd))
            #expect(hasBegun.wait())
            let ending = Running { try ends(manager) }
            #expect(!ending.isDone(within: 200))
            mayEnd.open()
            try ending.value()
            let database = try #require(try opening.value())
            #expect(database.isClosed || database.isSuspended)
            #expect(code { try manager.database(named: "more") } != nil)
            manager.close()
            try FileManager.default.removeItem(at: sandbox.url("slow"))
        }
    }

    @Test(.enabled(if: TestEngine.isSQLite, "Only SQLite's databases are encrypted."))
    func `a manager gives a database that it has open also after the key was changed elsewhere`()
        throws
    {
        var options = ManagerOptions()
        let (old, new) = (try EncryptionSamples.key(1), try EncryptionSamples.key(2))
        options.databaseOptions.encryptionKey = old
        let manager = try sandbox.manager(options)
        let database = try manager.database(named: "db")
        try sandbox.encrypted(key: old).changeEncryptionKey(to: new)
        #expect(try manager.database(named: "db") === database)
        #expect(try manager.existingDatabase(named: "db") === database)
        // A key that is named is checked.
        var own = DatabaseOptions()
        own.encryptionKey = old
        #expect(code { try manager.openDatabase(named: "db", options: own) } == .unauthorized)
        own.encryptionKey = new
        #expect(try manager.openDatabase(named: "db", options: own) === database)
        database.close()
        #expect(code { try manager.database(named: "db") } == .unauthorized)
    }

    @Test func `a manager lets go of a database that was deleted and opens what is there`() throws {
        let manager = try sandbox.manager()
        let old = try manager.database(named: "db")
        try old.create("a")
        try FileManager.default.removeItem(at: sandbox.url())
        #expect(manager.openedDatabase(named: "db") == nil)
        #expect(try manager.existingDatabase(named: "db") == nil)
        #expect(old.isClosed)
        try sandbox.database().create("b")
        let new = try #require(try manager.existingDatabase(named: "db"))
        #expect(try !new.contains("a"))
        #expect(try new.contains("b"))
        try FileManager.default.removeItem(at: sandbox.url())
        let made = try manager.database(named: "db")
        #expect(try made.documentCount == 0)
        try made.create("c")
        #expect(manager.openedDatabase(named: "db") === made)
    }

    @Test func `a database that was moved while it was open is opened at its new place`() throws {
        let manager = try sandbox.manager()
        let old = try manager.database(named: "db")
        try old.create("a")
        let other = try sandbox.database()
        try FileManager.default.moveItem(at: sandbox.url(), to: sandbox.url("moved"))
        let moved = try #require(try manager.existingDatabase(named: "moved"))
        #expect(moved.path == sandbox.url("moved").path(percentEncoded: false))
        #expect(try moved.contains("a"))
        try moved.create("b")
        #expect(old.isClosed)
        #expect(other.isClosed)
        #expect(try manager.existingDatabase(named: "db") == nil)
        #expect(try moved.problems() == [])
    }
}
