// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestChild
import DivanTestSupport
import FoundationEssentials
import Testing

@Suite(.enabled(if: TestEngine.isSQLite, "Only SQLite's databases are encrypted."))
struct EncryptedDatabaseTests {
    private let sandbox = Sandbox()

    @Test func `a database made with a key opens with it, and holds what was saved`() throws {
        let database = try sandbox.encrypted()
        #expect(database.isEncrypted)
        for number in 0..<300 { try database.save(EncryptionSamples.document(number)) }
        database.close()
        let again = try sandbox.encrypted()
        #expect(try again.documentCount == 300)
        #expect(try again.existing("secret-id-7").string(forKey: "text")?.hasSuffix(" 7") == true)
        #expect(try again.problems() == [])
    }

    @Test func `without a key databases are not encrypted`() throws {
        let database = try sandbox.database("plain") { $0.encryptionKey = nil }
        #expect(database.isEncrypted == TestEncryption.isOn)
        try database.save(EncryptionSamples.document(1))
        database.close()
        let data = try Data(
            contentsOf: sandbox.url("plain").appending(path: "data-1/main.sqlite3"))
        #expect(TestEncryption.isOn || data.firstRange(of: Data("xylophone".utf8)) != nil)
    }

    @Test func `a password opens the database, by scrypt and by PBKDF2`() throws {
        for (name, derivation) in [
            ("scrypt", PasswordDerivation.scrypt), ("pbkdf2", .pbkdf2()),
        ] {
            let key = EncryptionKey.password("l'été indien", derivation: derivation)
            try sandbox.encrypted(name, key: key).close()
            // The manifest knows how it was derived.
            let database = try sandbox.encrypted(name, key: .password("l'été indien"))
            try database.create("d")
            database.close()
            let manifest = try String(
                decoding: Data(contentsOf: sandbox.url(name).appending(path: "manifest")),
                as: UTF8.self)
            #expect(manifest.contains("\"derivation\":\"\(name)"))
            #expect(!manifest.contains("indien"))
            #expect(
                code { try sandbox.encrypted(name, key: .password("l'ete indien")) }
                    == .unauthorized)
        }
    }

    @Test func `rounds of PBKDF2 are never fewer than 600,000`() {
        #expect(PasswordDerivation.pbkdf2(rounds: 64_000) == .pbkdf2(rounds: 600_000))
        #expect(PasswordDerivation.pbkdf2(rounds: 700_000) != .pbkdf2())
    }

    @Test func `a wrong key, none, and one too many are refused and touch no byte`() throws {
        let database = try sandbox.encrypted()
        try database.save(EncryptionSamples.document(1))
        database.close()
        try sandbox.database("plain") { $0.encryptionKey = nil }.close()
        // A lock that is missing would have to be made, and a leftover removed.
        try FileManager.default.removeItem(at: sandbox.url().appending(path: "lock"))
        try FileManager.default.createDirectory(
            at: sandbox.url().appending(path: "data-9"), withIntermediateDirectories: false)
        let before = try sandbox.contents()

        let (right, wrong) = (try EncryptionSamples.key(1), try EncryptionSamples.key(2))
        #expect(code { try sandbox.encrypted(key: wrong) } == .unauthorized)
        #expect(code { try sandbox.encrypted(key: .password("1")) } == .unauthorized)
        if !TestEncryption.isOn {
            #expect(code { try sandbox.database() } == .unauthorized)
            #expect(code { try sandbox.encrypted("plain", key: right) } == .unauthorized)
        }
        #expect(try sandbox.contents() == before)
        #expect(
            FileManager.default.fileExists(
                atPath: sandbox.url().appending(path: "data-9").path(percentEncoded: false)))
        #expect(!sandbox.hasLock())

        try sandbox.encrypted(key: right).close()
        #expect(sandbox.hasLock())
    }

    @Test func `another handle needs the key of the database that is open`() throws {
        let database = try sandbox.encrypted()
        defer { database.close() }
        #expect(code { try sandbox.encrypted(key: try EncryptionSamples.key(2)) } == .unauthorized)
        if !TestEncryption.isOn { #expect(code { try sandbox.database() } == .unauthorized) }
        let other = try sandbox.encrypted()
        try other.create("d")
        #expect(try database.contains("d"))
        other.close()
    }

    @Test func `a manager gives its databases the key of its options`() throws {
        var options = ManagerOptions()
        options.databaseOptions.encryptionKey = try EncryptionSamples.key()
        let manager = try sandbox.manager(options)
        let database = try manager.database(named: "app")
        #expect(database.isEncrypted)
        #expect(try manager.database(named: "app") === database)
        var other = DatabaseOptions()
        other.encryptionKey = try EncryptionSamples.key(2)
        #expect(code { try manager.openDatabase(named: "app", options: other) } == .unauthorized)
        manager.close()
    }

    @Test func `no file has anything of what is stored, while it is written and afterwards`()
        throws
    {
        let database = try sandbox.encrypted()
        let view = database.view(named: "zephyrs")
        view.setMap(version: "1") { document, emit in emit(document["text"], nil) }
        for round in 0..<5 {
            try database.inBatch {
                for number in 0..<200 {
                    try database.save(EncryptionSamples.document(round * 200 + number))
                }
            }
            #expect(try view.query().run().count == (round + 1) * 200)
            try sandbox.expectNoPlaintext()
        }
        for number in 0..<600 { try database.delete("secret-id-\(number)") }
        try database.compact { _ in try sandbox.expectNoPlaintext() }
        database.close()
        try sandbox.expectNoPlaintext()
    }

    @Test func `a raw key has 32 bytes`() {
        for count in [0, 16, 31, 33, 64] {
            let bytes = [UInt8](repeating: 1, count: count)
            #expect(code { try EncryptionKey(rawBytes: bytes) } == .unauthorized)
        }
    }

    @Test func `a key says nothing of itself`() throws {
        let key = EncryptionKey.password("wombatness")
        var dumped = ""
        dump(key, to: &dumped)
        var options = DatabaseOptions()
        options.encryptionKey = key
        dump(options, to: &dumped)
        for text in ["\(key)", String(reflecting: key), dumped, "\(options)"] {
            #expect(!text.contains("wombatness"), "\(text)")
        }
        #expect("\(key)" == "EncryptionKey(password)")
    }

    @Test func `opening off the calling task's thread takes a key, too`() async throws {
        let key = EncryptionKey.password("slow")
        var options = DatabaseOptions()
        options.create = true
        options.encryptionKey = key
        let manager = try sandbox.manager()
        let database = try manager.openDatabase(named: "app", options: options)
        #expect(database.isEncrypted)
        manager.close()
    }

    @Test func `a manifest that was edited opens nothing`() throws {
        try sandbox.encrypted(key: .password("p", derivation: .pbkdf2())).close()
        let url = sandbox.url().appending(path: "manifest")
        let lines = try String(decoding: Data(contentsOf: url), as: UTF8.self)
            .split(separator: "\n")
        // An edited manifest with the old checksum is damaged. With a new checksum it is a forgery.
        let edited = lines[0].replacing("\"rounds\":600000", with: "\"rounds\":600001")
        #expect(edited != lines[0])
        try Data("\(edited)\n\(lines[1])\n".utf8).write(to: url)
        #expect(code { try sandbox.encrypted(key: .password("p")) } == .corrupted)
        try Data("\(edited)\n\(ManifestChecksum.text(of: String(edited)))\n".utf8).write(to: url)
        #expect(code { try sandbox.encrypted(key: .password("p")) } == .unauthorized)
        let endless = lines[0].replacing("\"rounds\":600000", with: "\"rounds\":900000000000")
        try Data("\(endless)\n\(ManifestChecksum.text(of: String(endless)))\n".utf8).write(to: url)
        #expect(code { try sandbox.encrypted(key: .password("p")) } == .corrupted)
    }

    @Test func `backups and copies are encrypted, open with the same key, and share no page`()
        throws
    {
        let key = try EncryptionSamples.key()
        let database = try sandbox.encrypted()
        try database.inBatch {
            for number in 0..<500 { try database.save(EncryptionSamples.document(number)) }
        }
        try database.backup(to: sandbox.url("backup"), progress: nil as ProgressHandler?)
        database.close()
        #expect(
            code { try Database.copy(from: sandbox.url(), to: sandbox.url("x")) } == .unauthorized)
        try Database.copy(from: sandbox.url(), to: sandbox.url("copy"), encryptionKey: key)
        let manager = try sandbox.manager()
        try manager.copyDatabase(named: "db", to: "other", encryptionKey: key)
        try manager.replaceDatabase(
            named: "installed", from: sandbox.url("backup"), encryptionKey: key)
        try sandbox.expectNoPlaintext()
        for name in ["backup", "copy", "other", "installed"] {
            let copy = try sandbox.encrypted(name)
            #expect(try copy.documentCount == 500)
            #expect(try copy.problems() == [])
            copy.close()
        }
        let original = try Data(
            contentsOf: sandbox.url().appending(path: "data-1/main.sqlite3"))
        let url = sandbox.url("copy").appending(path: "data-1/main.sqlite3")
        var mixed = try Data(contentsOf: url)
        let page = 4_096 * 6..<4_096 * 7
        mixed.replaceSubrange(page, with: original[page])
        try mixed.write(to: url)
        let copy = try sandbox.encrypted("copy")
        #expect(try !copy.problems().isEmpty)
        copy.close()
    }
}

extension Sandbox {
    fileprivate func hasLock() -> Bool {
        FileManager.default.fileExists(
            atPath: url().appending(path: "lock").path(percentEncoded: false))
    }
}
