// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
import DivanJSON
import DivanModel
import DivanSQLite
import DivanStorage
import DivanStorageConformance
import DivanTestChild
import Foundation
import Testing

/// Choosing a storage engine, and moving a database to another one through a new generation.
@Suite struct EngineConversionTests {
    private let sandbox = Sandbox()

    /// SQLite under another name, so that a conversion needs no other engine.
    private static let twin = StorageEngineFactory(
        identifier: "twin", mainFile: "main.sqlite3", canEncrypt: false
    ) { try SQLiteEngine(directory: $0, options: $1) }

    @Test func `a new database is kept by the manager's engine, an old one by its own`() throws {
        let manager = try sandbox.manager()
        manager.defaultStorageEngine = .sqlite
        #expect(try manager.database(named: "old").storageEngineName == "sqlite")
        manager.defaultStorageEngine = Self.twin
        #expect(try manager.database(named: "new").storageEngineName == "twin")
        manager.close()
        let again = try sandbox.manager()
        again.defaultStorageEngine = Self.twin
        #expect(try again.database(named: "old").storageEngineName == "sqlite")
        #expect(try again.database(named: "new").storageEngineName == "twin")
    }

    @Test func `options choose the engine of a new database`() throws {
        let database = try sandbox.database { $0.storageEngine = Self.twin }
        #expect(database.storageEngineName == "twin")
        #expect(try Manifest(at: database.path).engine == "twin")
    }

    @Test func `an unknown engine is named in the error`() throws {
        let strange = StorageEngineFactory(
            identifier: "forest", mainFile: "main.sqlite3", canEncrypt: false
        ) { try SQLiteEngine(directory: $0, options: $1) }
        let path = sandbox.url().path(percentEncoded: false)
        _ = try DatabaseDirectory(
            path: path, create: true, readOnly: false, engine: "forest", busyTimeout: .zero
        ) { try strange.open(directory: $0, options: StorageOptions()).close() }
        do {
            _ = try sandbox.database()
            Issue.record("It was opened.")
        } catch let error as DatabaseError {
            #expect(error.code == .unsupportedStorageEngine)
            #expect(error.message.contains("'forest'"))
        }
        Manager.register(strange)
        #expect(try sandbox.database().storageEngineName == "forest")
    }

    @Test func `everything comes over and the life goes on`() throws {
        let before = try ConversionSample.make(in: sandbox)
        try Manager(directory: sandbox.folder).convertDatabase(named: "db", to: Self.twin)
        let database = try sandbox.database()
        #expect(database.storageEngineName == "twin")
        try ConversionSample.compare(database, with: before)
        let files = try FileManager.default.contentsOfDirectory(atPath: database.path)
        #expect(files.sorted() == ["changes", "data-2", "lock", "manifest"])
        try database.create("after")
        #expect(try database.problems() == [])
    }

    @Test func `opening with another engine converts, and the next opening is a normal one`() throws
    {
        let before = try ConversionSample.make(in: sandbox)
        let database = try sandbox.database { $0.storageEngine = Self.twin }
        try ConversionSample.compare(database, with: before)
        #expect(
            code { try sandbox.database { $0.storageEngine = .sqlite } } == .databaseBusy,
            "not while it is open here")
        database.close()
        let again = try sandbox.database()
        #expect(again.storageEngineName == "twin")
        #expect(again.incarnation == before.incarnation)
        again.close()
        let back = try sandbox.database { $0.storageEngine = .sqlite }
        #expect(back.storageEngineName == "sqlite")
        try ConversionSample.compare(back, with: before)
    }

    @Test func `a database that is read-only is not converted`() throws {
        try sandbox.database().close()
        #expect(
            code {
                try sandbox.database {
                    $0.create = false
                    $0.readOnly = true
                    $0.storageEngine = Self.twin
                }
            } == .readOnly)
    }

    @Test func `a database that another process has open is not converted and goes on`()
        async throws
    {
        try await offPool { [self] in
            let path = sandbox.url().path(percentEncoded: false)
            let child = try TestChild("serve", path)
            #expect(child.readLine() == "ready")
            #expect(try child.ask("save a 1")?.hasPrefix("saved") == true)
            #expect(
                code { try Database.convert(at: sandbox.url(), to: Self.twin) } == .databaseBusy)
            #expect(
                code { try sandbox.database { $0.storageEngine = Self.twin } } == .databaseBusy)
            #expect(try child.ask("save b 2")?.hasPrefix("saved") == true)
            #expect(child.finish() == 0)
            try Database.convert(at: sandbox.url(), to: Self.twin)
            #expect(try sandbox.database().documentCount == 2)
        }
    }

    @Test func `progress is told, and stopping leaves the old database`() throws {
        let before = try ConversionSample.make(in: sandbox)
        var phases: Set<String> = []
        var reports = 0
        try Database.convert(at: sandbox.url(), to: Self.twin) {
            phases.insert($0.phase)
            reports += 1
        }
        #expect(
            phases.isSuperset(
                of: ["converting the data", "converting attachments", "checking the new data"]))
        for stop in stride(from: 1, through: reports, by: 3) {
            var seen = 0
            #expect(throws: Whim.self) {
                try Database.convert(at: sandbox.url(), to: .sqlite) { _ in
                    seen += 1
                    if seen == stop { throw Whim() }
                }
            }
            let database = try sandbox.database()
            #expect(database.storageEngineName == "twin")
            let files = try FileManager.default.contentsOfDirectory(atPath: database.path)
            #expect(files.sorted() == ["changes", "data-2", "lock", "manifest"])
            database.close()
        }
        try ConversionSample.compare(try sandbox.database(), with: before)
    }

    @Test(arguments: [StorageError.Code.full, .io])
    func `whichever operation of the new engine fails, the old database stays`(
        _ failure: StorageError.Code
    ) throws {
        let before = try ConversionSample.make(in: sandbox)
        var number = 1
        while true {
            let plan = FaultPlan(failing: number, with: failure)
            let faulty = StorageEngineFactory(
                identifier: "faulty", mainFile: "main.sqlite3", canEncrypt: false
            ) { FaultyEngine(try SQLiteEngine(directory: $0, options: $1), plan: plan) }
            let code = code { try Database.convert(at: sandbox.url(), to: faulty) }
            guard plan.hasFailed else {
                #expect(code == nil)
                break
            }
            #expect(code == (failure == .full ? .storageFull : .io))
            let database = try sandbox.database()
            #expect(database.storageEngineName == before.engine)
            #expect(try database.documentCount == before.count)
            database.close()
            number += 7
        }
        #expect(number > 50)
    }

    @Test func `damage in the old database stops the conversion`() throws {
        _ = try ConversionSample.make(in: sandbox) { $0.storageEngine = .sqlite }
        let file = sandbox.url().appending(path: "data-1/main.sqlite3")
        var bytes = try Data(contentsOf: file)
        let place = try #require(bytes.range(of: Data("a tale of couches".utf8)))
        bytes[place.lowerBound] ^= 1
        try bytes.write(to: file)
        #expect(code { try Database.convert(at: sandbox.url(), to: Self.twin) } == .corrupted)
        let database = try sandbox.database()
        #expect(database.storageEngineName == "sqlite")
        #expect(try database.document(withID: "plain-1") != nil)
    }

    @Test func `a cancelled conversion leaves the old database`() async throws {
        let before = try ConversionSample.make(in: sandbox)
        let url = sandbox.url()
        let task = Task {
            try await Database.convert(at: url, to: Self.twin) { _ in
                withUnsafeCurrentTask { $0?.cancel() }
            }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try sandbox.database().storageEngineName == before.engine)
    }
}
