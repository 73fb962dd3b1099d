// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanStorage
import DivanTestSupport
import FoundationEssentials
import Testing

/// What a database says of itself, and its options.
@Suite struct DatabaseElementsTests {
    private let sandbox = Sandbox()

    @Test func `name, path and engine`() throws {
        let database = try sandbox.database("a:b")
        #expect(database.name == "a/b")
        #expect(database.path == sandbox.url("a:b").path(percentEncoded: false))
        #expect(database.description == "Database(a/b)")
        #expect(database.storageEngineName == TestEngine.name)
    }

    @Test func `a directory of another name can be opened all the same`() throws {
        var options = DatabaseOptions()
        options.create = true
        let url = sandbox.folder.appending(path: "Some Folder", directoryHint: .isDirectory)
        let database = try Database.open(at: url, options: options)
        #expect(database.name == "Some Folder")
        try database.create("a")
        database.close()
        #expect(try Database.open(at: url).contains("a"))
    }

    @Test func `UUIDs are kept with the database and differ from any other's`() throws {
        let database = try sandbox.database()
        let uuids = [database.publicUUID, database.privateUUID]
        #expect(Set(uuids).count == 2)
        for uuid in uuids { #expect(UUID(uuidString: uuid) != nil) }
        database.close()
        let again = try sandbox.database()
        #expect([again.publicUUID, again.privateUUID] == uuids)
        let other = try sandbox.database("other")
        #expect(Set([other.publicUUID, other.privateUUID]).isDisjoint(with: uuids))
    }

    @Test func `replaced UUIDs are new and kept`() throws {
        let database = try sandbox.database()
        let old = [database.publicUUID, database.privateUUID]
        try database.create("a")
        try database.replaceUUIDs()
        let new = [database.publicUUID, database.privateUUID]
        #expect(Set(new).isDisjoint(with: old))
        database.close()
        let again = try sandbox.database()
        #expect([again.publicUUID, again.privateUUID] == new)
        #expect(try again.contains("a"))
    }

    @Test func `the size grows and shrinks with the files`() throws {
        let database = try sandbox.database()
        let filler = JSONValue.string(String(repeating: "x", count: 1_000_000))
        let before = try database.diskSize
        try database.create("a", ["f": filler])
        try database.sync()
        #expect(try database.diskSize > before + 900_000)
        try database.purge("a")
        try database.compact()
        #expect(try database.diskSize < before + 200_000)
    }

    @Test func `without create a missing database is not found`() {
        #expect(code { try Database.open(at: sandbox.url()) } == .databaseNotFound)
        #expect(!FileManager.default.fileExists(atPath: sandbox.url().path()))
    }

    @Test func `full durability and sync keep what was saved`() throws {
        let database = try sandbox.database { $0.durability = .full }
        try database.create("a")
        try database.sync()
        database.close()
        #expect(try sandbox.database().contains("a"))
    }

    @Test(.enabled(if: TestEngine.isSQLite, "LMDB has no log."))
    func `a writer with little cache spills a large batch into the log before the commit`()
        throws
    {
        func logBeforeCommit(_ name: String, cacheSize: Int?) throws -> Int {
            let database = try sandbox.database(name) { $0.cacheSize = cacheSize }
            defer { database.close() }
            let text = JSONValue.string(String(repeating: "x", count: 10_000))
            var length = 0
            try database.inBatch {
                for n in 0..<200 { try database.create("document-\(n)", ["text": text]) }
                let log = sandbox.url(name).appending(path: "data-1/main.sqlite3-wal")
                length = try Data(contentsOf: log).count
            }
            #expect(try database.documentCount == 200)
            return length
        }
        #expect(try logBeforeCommit("small", cacheSize: 64 << 10) > 1 << 20)
        #expect(try logBeforeCommit("default", cacheSize: nil) < 100_000)
        #expect(try logBeforeCommit("large", cacheSize: 64 << 20) < 100_000)
    }

    #if os(Linux)
    @Test(.enabled(if: TestEngine.isSQLite, "LMDB always maps the file."))
    func `readers map the file into memory unless the options forbid it`() throws {
        let text = JSONValue.string(String(repeating: "x", count: 10_000))
        let filled = try sandbox.database()
        try filled.inBatch {
            for n in 0..<300 { try filled.create("document-\(n)", ["text": text]) }
        }
        // Closing moves the log into the file, since only the file is mapped.
        filled.close()
        func mapped(_ size: Int?) throws -> Int {
            let database = try sandbox.database { $0.mappedSize = size }
            defer { database.close() }
            try database.forEachDocument { _ in }
            let path = sandbox.url().path(percentEncoded: false) + "/data-1/main.sqlite3"
            return try MappedRegion.all(ofFile: path).map(\.range.count).max() ?? 0
        }
        #expect(try mapped(64 << 20) > 3_000_000)
        #expect(try mapped(nil) > 3_000_000)
        #expect(try mapped(0) == 0)
    }
    #endif

    @Test func `a closed directory that is copied is a copy of the database`() throws {
        let database = try sandbox.database()
        try database.create("a", ["n": 1])
        database.close()
        try FileManager.default.copyItem(at: sandbox.url(), to: sandbox.url("copy"))
        let copy = try sandbox.database("copy")
        try copy.update("a") { $0["n"] = 2 }
        #expect(try sandbox.database().existing("a")["n"].int == 1)
    }

    @Test func `a database in memory lives as long as it is open`() throws {
        let database = try Database.inMemory(named: "scratch")
        #expect(database.name == "scratch")
        #expect(database.path == "")
        try database.create("a")
        #expect(try database.diskSize == 0)
        try database.compact()
        try database.sync()
        #expect(try database.problems() == [])
        try database.delete()
        #expect(code { try database.documentCount } == .databaseClosed)
    }

    @Test func `databases in memory are independent though their names are equal`() throws {
        let first = try Database.inMemory()
        let second = try Database.inMemory()
        try first.create("a")
        #expect(try second.documentCount == 0)
        #expect(first.publicUUID != second.publicUUID)
    }

    @Test func `readers of a database in memory do not wait for its writer`() throws {
        let database = try Database.inMemory()
        try database.create("a")
        let inside = Gate()
        let end = Gate()
        let batch = Running {
            try database.inBatch {
                try database.create("b")
                inside.open()
                end.wait()
            }
        }
        inside.wait()
        #expect(try database.documentCount == 1)
        end.open()
        _ = try batch.value()
        #expect(try database.documentCount == 2)
    }

    @Test func `a database of a newer format is refused and left as it is`() throws {
        try sandbox.database().close()
        let manifest = sandbox.url().appending(path: "manifest")
        let text = String(decoding: try Data(contentsOf: manifest), as: UTF8.self)
        let line = try #require(text.split(separator: "\n").first)
            .replacing(/"format":[0-9]+/, with: "\"format\":99")
        let checksum = String(ValueChecksum.continued(0, over: Array(line.utf8).span), radix: 16)
        let padding = String(repeating: "0", count: 8 - checksum.count)
        let newer = Data("\(line)\n\(padding)\(checksum)\n".utf8)
        try newer.write(to: manifest)
        #expect(code { try sandbox.database() } == .unsupportedVersion)
        #expect(code { try sandbox.database { $0.readOnly = true } } == .unsupportedVersion)
        #expect(try Data(contentsOf: manifest) == newer)
    }

    @Test func `a damaged manifest is corruption and left as it is`() throws {
        try sandbox.database().close()
        let manifest = sandbox.url().appending(path: "manifest")
        let sound = try Data(contentsOf: manifest)
        for damaged in [Data(), sound.dropLast(3), Data("x".utf8) + sound, sound + sound] {
            try damaged.write(to: manifest)
            #expect(code { try sandbox.database() } == .corrupted)
            #expect(try Data(contentsOf: manifest) == damaged)
        }
        try sound.write(to: manifest)
        #expect(try sandbox.database().documentCount == 0)
    }
}
