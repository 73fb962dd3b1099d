// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanLMDB
import FoundationEssentials
import Synchronization
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The samples of the reference of version 1.4: the manager, its options, keys and engines.
@Suite struct ManagerSamples {
    private let sample: Sample
    private var manager: Manager { sample.manager }

    init() throws { sample = try Sample() }

    private func options(_ set: (inout DatabaseOptions) -> Void) -> DatabaseOptions {
        var options = DatabaseOptions()
        options.create = true
        set(&options)
        return options
    }

    private static func save(_ id: DocumentID, to database: Database) throws {
        try database.save(MutableDocument(["n": 1], id: id))
    }

    // In a process of its own, which has no manager yet and an environment to change.
    @Test func `the manager of the process keeps its databases in the default directory`() async {
        await #expect(processExitsWith: .success) {
            let folder = FileManager.default.temporaryDirectory
                .appending(path: "divan-samples-\(UUID().uuidString)")
            setenv("XDG_DATA_HOME", folder.path(percentEncoded: false), 1)
            defer { try? FileManager.default.removeItem(at: folder) }
            let manager = try Manager.shared()
            let database = try manager.database(named: "my-database")
            #expect(try Manager.shared() === manager)
            #expect(try manager.database(named: "my-database") === database)
            #expect(
                manager.directory.path(percentEncoded: false).hasPrefix(
                    folder.path(percentEncoded: false)))
            #expect(try manager.existingDatabase(named: "other") == nil)
        }
    }

    @Test func `a manager that only reads opens what is there and writes nothing`() throws {
        try sample.database.save(MutableDocument(["n": 1], id: "a"))
        manager.close()
        var options = ManagerOptions()
        options.readOnly = true
        let reader = try Manager(directory: manager.directory, options: options)
        defer { reader.close() }
        let database = try reader.database(named: "app")
        #expect(try database.document(withID: "a")?.int(forKey: "n") == 1)
        #expect(code { try database.save(MutableDocument(id: "b")) } == .readOnly)
    }

    // In a process of its own, since the log is the process's.
    @Test func `the log of one domain is made to say more`() async {
        await #expect(processExitsWith: .success) {
            let entries = Mutex<[LogDomain]>([])
            Log.redirect { entry in entries.withLock { $0.append(entry.domain) } }
            Log.setLevel(.none)
            Log.setLevel(.verbose, for: .replication)
            let (here, there) = (try Database.inMemory(), try Database.inMemory(named: "there"))
            try Self.save("a", to: here)
            let push = here.makePushReplication(to: there)
            push.start()
            await push.waitUntilEnded()
            await eventually { entries.withLock { !$0.isEmpty } }
            #expect(entries.withLock { $0.allSatisfy { $0 == .replication } })
        }
    }

    @Test func `a database is encrypted by a password, which can be changed and taken away`() throws
    {
        func open(_ password: String?) throws -> Database {
            try manager.openDatabase(
                named: "secret",
                options: options { $0.encryptionKey = password.map { .password($0) } })
        }
        let database = try open("password123456")
        #expect(database.isEncrypted)
        try database.save(MutableDocument(["n": 1], id: "a"))
        database.close()
        #expect(code { try open("another") } == .unauthorized)
        #expect(code { try open(nil) } == .unauthorized)
        let again = try open("password123456")
        #expect(try again.document(withID: "a")?.int(forKey: "n") == 1)
        try again.changeEncryptionKey(to: .password("better"))
        again.close()
        #expect(code { try open("password123456") } == .unauthorized)
        let changed = try open("better")
        try changed.changeEncryptionKey(to: nil)
        changed.close()
        let plain = try open(nil)
        #expect(!plain.isEncrypted)
        #expect(try plain.document(withID: "a")?.int(forKey: "n") == 1)
    }

    @Test func `the manager's engine is for new databases, and old ones keep theirs`() throws {
        #expect(sample.database.storageEngineName == "sqlite")
        manager.defaultStorageEngine = .lmdb
        #expect(try manager.database(named: "new").storageEngineName == "lmdb")
        sample.database.close()
        #expect(try manager.database(named: "app").storageEngineName == "sqlite")
    }

    @Test func `an engine among the options converts a database once, before it is opened`() throws
    {
        try sample.database.save(MutableDocument(["n": 1], id: "a"))
        sample.database.close()
        let wanted = options { $0.storageEngine = .lmdb }
        let converted = try manager.openDatabase(named: "app", options: wanted)
        #expect(converted.storageEngineName == "lmdb")
        #expect(try converted.document(withID: "a")?.int(forKey: "n") == 1)
        converted.close()
        let again = try manager.openDatabase(named: "app", options: wanted)
        #expect(again.storageEngineName == "lmdb")
        #expect(try again.document(withID: "a")?.int(forKey: "n") == 1)
    }
}
