// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
import DivanJSON
import DivanLMDB
internal import DivanModel
import DivanSQLite
import DivanStorage
import DivanStorageConformance
import DivanTestSupport
import Foundation
import Testing

/// Choosing a storage engine, and moving a database to another one through a new generation.
@Suite struct EngineConversionTests {
    private let sandbox = Sandbox()

    /// The engine that the tests run on, and the one to move to.
    private static let own: StorageEngineFactory = TestEngine.isSQLite ? .sqlite : .lmdb
    static let other: StorageEngineFactory = TestEngine.isSQLite ? .lmdb : .sqlite

    @Test func `a new database is kept by the manager's engine, an old one by its own`() throws {
        let manager = try sandbox.manager()
        manager.defaultStorageEngine = Self.own
        #expect(try manager.database(named: "old").storageEngineName == Self.own.identifier)
        manager.defaultStorageEngine = Self.other
        #expect(try manager.database(named: "new").storageEngineName == Self.other.identifier)
        manager.close()
        let again = try sandbox.manager()
        again.defaultStorageEngine = Self.other
        #expect(try again.database(named: "old").storageEngineName == Self.own.identifier)
        #expect(try again.database(named: "new").storageEngineName == Self.other.identifier)
    }

    @Test func `a folder with the last number for data does not stand in the way`() throws {
        let database = try sandbox.database()
        try database.put("a", ["n": 1], parent: nil)
        database.close()
        let folder = sandbox.url().appending(path: "data-999999999")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data("1".utf8).write(to: folder.appending(path: "note"))
        for engine in [Self.other, Self.own, Self.other] {
            try Database.convert(at: sandbox.url(), to: engine)
            let database = try sandbox.database()
            #expect(database.storageEngineName == engine.identifier)
            #expect(try database.contains("a"))
            database.close()
        }
        #expect(FileManager.default.fileExists(atPath: folder.appending(path: "note").path))
    }

    @Test func `a store whose name is damaged stops a conversion with an error`() throws {
        let path = sandbox.url().path(percentEncoded: false)
        let database = try sandbox.database { $0.storageEngine = .sqlite }
        try database.put("a", ["n": 1], parent: nil)
        database.close()
        let file = URL(filePath: "\(path)/data-1/main.sqlite3")
        var data = try Data(contentsOf: file)
        // In `sqlite_schema` the name stands behind the word for a table.
        let place = try #require(data.range(of: Data("tabledocuments".utf8)))
        data[place.lowerBound + 5] ^= 0x20
        try data.write(to: file)
        let error = #expect(throws: DatabaseError.self) {
            try Database.convert(at: sandbox.url(), to: .lmdb)
        }
        #expect(error?.code == .corrupted)
    }

    @Test func `options choose the engine of a new database`() throws {
        let database = try sandbox.database { $0.storageEngine = Self.other }
        #expect(database.storageEngineName == Self.other.identifier)
        #expect(try Manifest(at: database.path).engine == Self.other.identifier)
    }

    @Test func `an unknown engine is named in the error`() throws {
        let strange = StorageEngineFactory(
            identifier: "forest", mainFile: "main.sqlite3", canEncrypt: false
        ) { try SQLiteEngine(directory: $0, options: $1) }
        let path = sandbox.url().path(percentEncoded: false)
        _ = try DatabaseDirectory(
            path: path, create: true, readOnly: false, engine: "forest", busyTimeout: .zero,
            key: nil
        ) { path, _ in try strange.open(directory: path, options: StorageOptions()).close() }
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
        try Manager(directory: sandbox.folder).convertDatabase(named: "db", to: Self.other)
        let database = try sandbox.database()
        #expect(database.storageEngineName == Self.other.identifier)
        try ConversionSample.compare(database, with: before)
        let files = try FileManager.default.contentsOfDirectory(atPath: database.path)
        #expect(files.sorted() == ["changes", "data-2", "lock", "manifest"])
        try database.create("after")
        #expect(try database.problems() == [])
    }

    @Test func `opening with another engine converts, and the next opening is a normal one`() throws
    {
        let before = try ConversionSample.make(in: sandbox)
        let database = try sandbox.database { $0.storageEngine = Self.other }
        try ConversionSample.compare(database, with: before)
        #expect(
            code { try sandbox.database { $0.storageEngine = Self.own } } == .databaseBusy,
            "not while it is open here")
        database.close()
        let again = try sandbox.database()
        #expect(again.storageEngineName == Self.other.identifier)
        #expect(again.incarnation == before.incarnation)
        again.close()
        let back = try sandbox.database { $0.storageEngine = Self.own }
        #expect(back.storageEngineName == Self.own.identifier)
        try ConversionSample.compare(back, with: before)
    }

    @Test func `a database that is read-only is not converted`() throws {
        try sandbox.database().close()
        #expect(
            code {
                try sandbox.database {
                    $0.create = false
                    $0.readOnly = true
                    $0.storageEngine = Self.other
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
                code { try Database.convert(at: sandbox.url(), to: Self.other) } == .databaseBusy)
            #expect(
                code { try sandbox.database { $0.storageEngine = Self.other } } == .databaseBusy)
            #expect(try child.ask("save b 2")?.hasPrefix("saved") == true)
            #expect(child.finish() == 0)
            try Database.convert(at: sandbox.url(), to: Self.other)
            #expect(try sandbox.database().documentCount == 2)
        }
    }

    @Test func `progress is told, and stopping leaves the old database`() throws {
        let before = try ConversionSample.make(in: sandbox)
        var phases: Set<String> = []
        var reports = 0
        try Database.convert(at: sandbox.url(), to: Self.other) {
            phases.insert($0.phase)
            reports += 1
        }
        #expect(
            phases.isSuperset(
                of: ["converting the data", "converting attachments", "checking the new data"]))
        for stop in stride(from: 1, through: reports, by: 3) {
            var seen = 0
            #expect(throws: Whim.self) {
                try Database.convert(at: sandbox.url(), to: Self.own) { _ in
                    seen += 1
                    if seen == stop { throw Whim() }
                }
            }
            let database = try sandbox.database()
            #expect(database.storageEngineName == Self.other.identifier)
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
        #expect(code { try Database.convert(at: sandbox.url(), to: .lmdb) } == .corrupted)
        let database = try sandbox.database()
        #expect(database.storageEngineName == "sqlite")
        #expect(try database.document(withID: "plain-1") != nil)
    }

    @Test func `a cancelled conversion leaves the old database`() async throws {
        let before = try ConversionSample.make(in: sandbox)
        let url = sandbox.url()
        let (began, goOn) = (Gate(), Gate())
        let task = Task {
            try await Database.perform {
                try Database.convert(at: url, to: Self.other) { _ in
                    began.open()
                    goOn.wait()
                }
            }
        }
        await began.passed()
        task.cancel()
        goOn.open()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try sandbox.database().storageEngineName == before.engine)
    }
}
