// SPDX-License-Identifier: Apache-2.0

import Divan
@testable import DivanDatabase
import DivanTestSupport
import FoundationEssentials
import Testing

@Suite(.enabled(if: TestEngine.isSQLite, "Only SQLite's databases are encrypted."))
struct KeyChangeTests {
    private let sandbox = Sandbox()

    @Test func `another key takes the place of the old one at once, and no data change`() throws {
        let (old, new) = (try EncryptionSamples.key(1), try EncryptionSamples.key(2))
        let database = try sandbox.encrypted(key: old)
        for number in 0..<100 { try database.save(EncryptionSamples.document(number)) }
        try database.sync()
        let file = sandbox.url().appending(path: "data-1/main.sqlite3")
        let before = try Data(contentsOf: file)
        try database.changeEncryptionKey(to: new)
        #expect(try Data(contentsOf: file) == before)
        // It goes on as it was, and its other handles need the new key.
        try database.create("after")
        #expect(code { try sandbox.encrypted(key: old) } == .unauthorized)
        try sandbox.encrypted(key: new).close()
        database.close()
        #expect(code { try sandbox.encrypted(key: old) } == .unauthorized)
        let again = try sandbox.encrypted(key: new)
        #expect(try again.documentCount == 101)
        #expect(try again.problems() == [])
        again.close()
    }

    @Test func `a key becomes a password and a password a key`() async throws {
        let raw = try EncryptionSamples.key(1)
        let database = try sandbox.encrypted(key: raw)
        try database.create("d")
        try database.changeEncryptionKey(to: .password("p"))
        database.close()
        #expect(code { try sandbox.encrypted(key: raw) } == .unauthorized)
        let again = try sandbox.encrypted(key: .password("p"))
        try again.changeEncryptionKey(to: raw)
        again.close()
        #expect(code { try sandbox.encrypted(key: .password("p")) } == .unauthorized)
        #expect(try sandbox.encrypted(key: raw).contains("d"))
    }

    /// Makes a plain database with a document and an attachment, and closes it.
    private func makePlain() throws {
        let plain = try sandbox.database { $0.encryptionKey = nil }
        let document = EncryptionSamples.document(1)
        document.setAttachment(named: "a", contentType: nil, .bytes([1, 2, 3]))
        try plain.save(document)
        plain.close()
    }

    @Test func `earlier data beside an encrypted database are told until a writer removes them`()
        throws
    {
        try makePlain()
        let (old, aside) = (sandbox.url().appending(path: "data-1"), sandbox.url("aside"))
        try FileManager.default.copyItem(at: old, to: aside)
        let key = try EncryptionSamples.key()
        try Database.changeEncryptionKey(at: sandbox.url(), from: nil, to: key)
        #expect(!FileManager.default.fileExists(atPath: old.path(percentEncoded: false)))
        // As when the process ended after the rename of the manifest.
        try FileManager.default.copyItem(at: aside, to: old)
        let reader = try sandbox.database {
            $0.encryptionKey = key
            $0.readOnly = true
            $0.create = false
        }
        let problems = try reader.problems()
        #expect(problems.count == 1 && problems.first?.contains("'data-1'") == true, "\(problems)")
        reader.close()
        let writer = try sandbox.encrypted(key: key)
        #expect(try writer.problems() == [])
        writer.close()
        #expect(!FileManager.default.fileExists(atPath: old.path(percentEncoded: false)))
    }

    @Test(.enabled(if: Mounting.isAllowed, "It has to mount a file system."))
    func `old data that cannot be removed are an error of the encryption that counts`() throws {
        try makePlain()
        // The place where a file system is mounted cannot be removed.
        let obstacle = sandbox.url().appending(path: "data-1/attachments/tmp")
            .path(percentEncoded: false)
        try FileManager.default.createDirectory(
            atPath: obstacle, withIntermediateDirectories: true)
        try #require(try Mounting.memory(at: obstacle, bytes: 1 << 20))
        defer { Mounting.unmount(obstacle) }
        let key = try EncryptionSamples.key()
        let error = #expect(throws: DatabaseError.self) {
            try Database.changeEncryptionKey(at: sandbox.url(), from: nil, to: key)
        }
        #expect(error?.code == .io)
        #expect(error?.message.contains("'data-1'") == true, "\(String(describing: error))")
        let encrypted = try sandbox.encrypted(key: key)
        #expect(encrypted.isEncrypted)
        #expect(try encrypted.documentCount == 1)
        encrypted.close()
    }

    @Test func `data behind a symbolic link are refused, since they would stay there`() throws {
        try makePlain()
        let old = sandbox.url().appending(path: "data-1")
        try FileManager.default.moveItem(at: old, to: sandbox.url("elsewhere"))
        try FileManager.default.createSymbolicLink(
            at: old, withDestinationURL: sandbox.url("elsewhere"))
        let key = try EncryptionSamples.key()
        #expect(
            code { try Database.changeEncryptionKey(at: sandbox.url(), from: nil, to: key) } == .io)
        // A part of it may be elsewhere, too.
        try FileManager.default.removeItem(at: old)
        try FileManager.default.moveItem(at: sandbox.url("elsewhere"), to: old)
        let contents = old.appending(path: "attachments")
        try FileManager.default.moveItem(at: contents, to: sandbox.url("contents"))
        try FileManager.default.createSymbolicLink(
            at: contents, withDestinationURL: sandbox.url("contents"))
        #expect(
            code { try Database.changeEncryptionKey(at: sandbox.url(), from: nil, to: key) } == .io)
        let plain = try sandbox.database { $0.encryptionKey = nil }
        #expect(!plain.isEncrypted)
        #expect(try plain.problems() == [])
    }

    @Test func `a handle for reading changes no key`() throws {
        try sandbox.encrypted().close()
        let key = try EncryptionSamples.key()
        let reader = try sandbox.database {
            $0.encryptionKey = key
            $0.readOnly = true
            $0.create = false
        }
        #expect(code { try reader.changeEncryptionKey(to: key) } == .readOnly)
        reader.close()
        #expect(code { try reader.changeEncryptionKey(to: key) } == .databaseClosed)
    }

    /// A database with documents, attachments, an index and a conflict.
    private func fill(_ database: Database) throws {
        for number in 0..<80 {
            let document = EncryptionSamples.document(number)
            if number % 20 == 0 {
                document.setAttachment(
                    named: "a", contentType: nil,
                    .bytes(Array(String(repeating: "xylophone ", count: 10_000).utf8)))
            }
            try database.save(document)
        }
        try database.putLocalDocument("local", ["text": "quizzical"])
        let view = database.view(named: "zephyrs")
        view.setMap(version: "1") { document, emit in emit(document["wombatness"], nil) }
        #expect(try view.query().run().count == 80)
    }

    private func checkWhole(_ database: Database) throws {
        #expect(try database.documentCount == 80)
        #expect(try database.problems() == [])
        #expect(try database.localDocument("local")?["text"] == "quizzical")
        let attachment = try database.existing("secret-id-20").attachment(named: "a")
        #expect(try attachment?.content().count == 100_000)
        try attachment?.verify()
    }

    @Test func `encryption is added, renewed and removed, and nothing else changes`() throws {
        let plain = try sandbox.database { $0.encryptionKey = nil }
        try fill(plain)
        let uuid = plain.publicUUID
        let sequence = try plain.lastSequence
        let (first, second) = (try EncryptionSamples.key(1), try EncryptionSamples.key(2))

        try plain.changeEncryptionKey(to: first, progress: nil as ProgressHandler?)
        try sandbox.expectNoPlaintext()
        let encrypted = try sandbox.encrypted(key: first)
        #expect(encrypted.isEncrypted)
        try checkWhole(encrypted)
        let names = try attachmentNames()

        try encrypted.changeEncryptionKey(
            to: second, reencrypt: true, progress: nil as ProgressHandler?)
        #expect(encrypted.isClosed)
        try sandbox.expectNoPlaintext()
        #expect(try attachmentNames().isDisjoint(with: names))
        #expect(code { try sandbox.encrypted(key: first) } == .unauthorized)
        let renewed = try sandbox.encrypted(key: second)
        try checkWhole(renewed)

        try renewed.changeEncryptionKey(to: nil, progress: nil as ProgressHandler?)
        #expect(code { try sandbox.encrypted(key: second) } == .unauthorized)
        let again = try sandbox.database { $0.encryptionKey = nil }
        #expect(!again.isEncrypted)
        try checkWhole(again)
        #expect(again.publicUUID == uuid)
        #expect(try again.lastSequence == sequence)
        let file = try Data(
            contentsOf: sandbox.url().appending(path: "manifest"))
        #expect(file.firstRange(of: Data("encryption".utf8)) == nil)
        // The content lies in a file of its SHA-1 again, with no mark of what was.
        let url = try #require(try again.existing("secret-id-20").attachment(named: "a")?.fileURL)
        #expect(try Data(contentsOf: url).count == 100_000)
        again.close()
    }

    private func attachmentNames() throws -> Set<String> {
        let folder = sandbox.url()
        var names: Set<String> = []
        for data in try FileManager.default.contentsOfDirectory(
            atPath: folder.path(percentEncoded: false)) where data.hasPrefix("data-")
        {
            let path = folder.appending(path: data + "/attachments")
            names.formUnion(
                try FileManager.default.contentsOfDirectory(
                    atPath: path.path(percentEncoded: false)))
        }
        return names.subtracting(["tmp"])
    }

    @Test func `whatever stops the rewriting, the database is as it was`() throws {
        let key = try EncryptionSamples.key()
        try fill(sandbox.database { $0.encryptionKey = nil })
        var reports = 0
        var stop = 0
        while true {
            let database = try sandbox.database { $0.encryptionKey = nil }
            reports = 0
            do {
                try database.changeEncryptionKey(to: key) { _ in
                    if reports == stop { throw Whim() }
                    reports += 1
                }
                break
            } catch is Whim {
                #expect(database.isClosed)
                let names = try FileManager.default.contentsOfDirectory(
                    atPath: sandbox.url().path(percentEncoded: false))
                #expect(names.filter { $0.hasPrefix("data-") }.count == 1)
            }
            stop += 1
        }
        #expect(stop > 3)
        try checkWhole(try sandbox.encrypted(key: key))
    }

    @Test func `rewriting needs the database closed in other processes, a new key does not`()
        async throws
    {
        let key = try EncryptionSamples.key()
        try sandbox.encrypted(key: key).close()
        // Another open description of the lock stands for another process.
        let other = try DatabaseDirectory(
            path: sandbox.url().path(percentEncoded: false), create: false, readOnly: false,
            engine: "sqlite", busyTimeout: .zero, key: key
        ) { _, _ in }
        let database = try sandbox.database {
            $0.encryptionKey = key
            $0.busyTimeout = .milliseconds(50)
        }
        #expect(code { try database.changeEncryptionKey(to: nil) { _ in } } == .databaseBusy)
        #expect(!database.isClosed)
        try database.changeEncryptionKey(to: try EncryptionSamples.key(2))
        other.unlock()
        try database.changeEncryptionKey(to: nil)
        #expect(!(try sandbox.database { $0.encryptionKey = nil }).isEncrypted)
    }

    @Test func `a database in memory has nothing to encrypt`() throws {
        let database = try Database.inMemory()
        let key = try EncryptionSamples.key()
        #expect(code { try database.changeEncryptionKey(to: key) } == .unauthorized)
        #expect(!database.isEncrypted)
    }

    /// Rewrites the data as another process does, for which another open description of the lock stands.
    private func rewriteElsewhere(from old: EncryptionKey?, to new: EncryptionKey?) throws {
        let directory = try DatabaseDirectory(
            path: sandbox.url().path(percentEncoded: false), create: false, readOnly: false,
            engine: "sqlite", busyTimeout: .zero, key: old
        ) { _, _ in }
        defer { directory.close() }
        try directory.lockExclusively()
        try EncryptionRewriting(
            directory: directory, key: new, busyTimeout: .zero, progress: nil
        ).run()
    }

    @Test
    func `a handle whose data others rewrote while it was suspended touches nothing of theirs`()
        throws
    {
        let (old, new) = (try EncryptionSamples.key(1), try EncryptionSamples.key(2))
        let database = try sandbox.encrypted(key: old)
        try database.create("a")
        let core = database.core
        let directory = try #require(core.directory)
        try core.suspend()
        try rewriteElsewhere(from: old, to: nil)
        let before = try sandbox.contents()
        // As where it is suspended at the very moment in which these have begun.
        #expect(code { try core.rewrapDataKey(with: new) } == .databaseClosed)
        #expect(code { try core.replaceUUIDs() } == .databaseClosed)
        #expect(code { try directory.lockExclusively() } == .databaseClosed)
        let rewriting = EncryptionRewriting(
            directory: directory, key: new, busyTimeout: .zero, progress: nil)
        #expect(code { try rewriting.run() } == .databaseClosed)
        #expect(try sandbox.contents() == before)
        // No lock is left behind.
        try DirectoryLock.whileExclusive(at: directory.path, timeout: .zero) {}
        #expect(code { try core.resume() } == .databaseClosed)
        #expect(try sandbox.database { $0.encryptionKey = nil }.contains("a"))
    }
}
