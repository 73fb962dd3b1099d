// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestChild
import DivanTestSupport
import FoundationEssentials
import Testing

/// Copies that are not encrypted as their source is.
@Suite struct EncryptedCopyTests {
    private let sandbox = Sandbox()
    private let first: EncryptionKey
    private let second: EncryptionKey

    init() throws {
        first = try EncryptionSamples.key(1)
        second = try EncryptionSamples.key(2)
    }

    /// A database with documents, an edit, a conflict, a tombstone, an attachment and an index.
    private static func make(_ sandbox: Sandbox, _ key: EncryptionKey?) throws -> Database {
        let database = try sandbox.database { $0.encryptionKey = key }
        for number in 0..<60 { try database.save(EncryptionSamples.document(number)) }
        try database.update("secret-id-1") { $0["edited"] = 1 }
        try database.delete("secret-id-2")
        try database.putExistingRevision(
            "secret-id-3", ["word": .string("xylophone")], history: ["1-a"])
        let edit = try database.existing("secret-id-4").toMutable()
        edit.setAttachment(
            named: "a", contentType: "text/plain",
            .bytes(Array("xylophone".utf8) + [UInt8](repeating: 7, count: 200_000)))
        try database.save(edit)
        #expect(try rows(database) == 59)
        return database
    }

    /// The rows of a view.
    private static func rows(_ database: Database) throws -> Int {
        let view = database.view(named: "v")
        view.setMap(version: "1") { document, emit in emit(document["text"], nil) }
        return try view.query().run().count
    }

    /// What a database holds, as far as a copy keeps it.
    private func content(_ database: Database) throws -> [String] {
        var options = AllDocumentsOptions()
        options.includeDeleted = true
        var lines = try database.allDocuments(options).map { row in
            let document = try database.document(withID: row.id, revision: row.revisionID)
            let leaves = try database.leafRevisions(of: row.id).map(\.revisionID)
            return "\(row.id) \(row.revisionID) \(leaves) \(document?.toJSON() ?? "")"
        }
        let attachment = try database.existing("secret-id-4").attachment(named: "a")
        lines.append("\(try attachment?.content().count ?? 0)")
        lines.append("\(try database.lastSequence)")
        return lines
    }

    /// Each way to copy, into a database `copy`.
    private static let ways:
        [(
            name: String,
            run: @Sendable (Sandbox, Database, EncryptionKey?, CopyEncryption) throws -> Void
        )] = [
            (
                "backup",
                { sandbox, source, _, encryption in
                    try source.backup(to: sandbox.url("copy"), encryption: encryption)
                }
            ),
            (
                "copy",
                { sandbox, source, key, encryption in
                    source.close()
                    try Database.copy(
                        from: sandbox.url(), to: sandbox.url("copy"), encryptionKey: key,
                        encryption: encryption)
                }
            ),
            (
                "copyDatabase",
                { sandbox, source, key, encryption in
                    try sandbox.manager().copyDatabase(
                        named: "db", to: "copy", encryptionKey: key, encryption: encryption)
                }
            ),
            (
                "replaceDatabase",
                { sandbox, source, key, encryption in
                    try sandbox.database("copy") { $0.encryptionKey = nil }.close()
                    try sandbox.manager().replaceDatabase(
                        named: "copy", from: sandbox.url(), encryptionKey: key,
                        encryption: encryption)
                }
            ),
        ]

    @Test(
        .enabled(if: TestEngine.isSQLite, "Only SQLite's databases are encrypted."),
        arguments: 0..<4, [false, true])
    func `a copy is encrypted as it is asked for, and holds the same`(
        way: Int, isEncrypted: Bool
    ) throws {
        guard !TestEncryption.isOn else { return }
        let key = isEncrypted ? first : nil
        for encryption in [CopyEncryption.unchanged, .none, .key(second)] {
            let sandbox = Sandbox()
            let source = try Self.make(sandbox, key)
            let (before, uuid) = (try content(source), source.publicUUID)
            let way = Self.ways[way]
            try way.run(sandbox, source, key, encryption)
            source.close()
            let keys = [nil, first, second]
            let right =
                switch encryption {
                case .unchanged: isEncrypted ? 1 : 0
                case .none: 0
                case .key: 2
                }
            let opens = keys[right]
            for (number, wrong) in keys.enumerated() where number != right {
                let failure = code { try sandbox.database("copy") { $0.encryptionKey = wrong } }
                #expect(failure == .unauthorized, "\(way.name)")
            }
            let copy = try sandbox.database("copy") { $0.encryptionKey = opens }
            #expect(copy.isEncrypted == (opens != nil))
            #expect(try content(copy) == before, "\(way.name)")
            #expect(try copy.problems() == [])
            #expect(try Self.rows(copy) == 59)
            #expect((copy.publicUUID == uuid) == (way.name == "backup"))
            copy.close()
            // The copy alone is looked at.
            try FileManager.default.removeItem(at: sandbox.url())
            if opens != nil {
                try sandbox.expectNoPlaintext()
            } else {
                #expect(try sandbox.contents().values.contains { $0.contains(text: "xylophone") })
            }
        }
    }

    @Test(.enabled(if: TestEngine.isSQLite, "Only SQLite's databases are encrypted."))
    func `a copy with a key is one moment of a database that is written meanwhile`() throws {
        let database = try sandbox.encrypted()
        try database.save(MutableDocument(["n": 0], id: "a"))
        try database.save(MutableDocument(["n": 0], id: "b"))
        for number in 0..<3_000 { try database.create("x\(number)") }
        var rounds = 0
        // Both documents are changed in one transaction whenever the copy reports.
        try database.backup(to: sandbox.url("copy"), encryption: .key(second)) { _ in
            rounds += 1
            let writer = Running { [rounds] in
                try database.inBatch {
                    for id: DocumentID in ["a", "b"] {
                        try database.update(id) { $0["n"] = Fragment(rounds) }
                    }
                }
            }
            _ = try writer.value()
        }
        #expect(rounds > 2)
        let copy = try sandbox.encrypted("copy", key: second)
        #expect(try copy.existing("a")["n"].int == copy.existing("b")["n"].int)
        #expect(try copy.documentCount == 3_002)
        #expect(try copy.problems() == [])
    }

    @Test(.enabled(if: TestEngine.isSQLite, "Only SQLite's databases are encrypted."))
    func `a database in memory is backed up with a key`() throws {
        let database = try Database.inMemory()
        try database.save(EncryptionSamples.document(1))
        try database.backup(to: sandbox.url("copy"), encryption: .key(second))
        #expect(try sandbox.encrypted("copy", key: second).existing("secret-id-1")["text"].exists)
        try sandbox.expectNoPlaintext()
    }

    @Test func `a copy that is stopped, or that the engine cannot make, leaves nothing`() throws {
        let database = try sandbox.database { $0.encryptionKey = nil }
        for number in 0..<100 { try database.save(EncryptionSamples.document(number)) }
        if !TestEngine.isSQLite {
            let failure = code {
                try database.backup(to: sandbox.url("copy"), encryption: .key(second))
            }
            #expect(failure == .unsupportedStorageEngine)
        } else {
            for phase in ["copying the data", "checking the copy"] {
                #expect(throws: Whim()) {
                    try database.backup(to: sandbox.url("copy"), encryption: .key(second)) {
                        if $0.phase == phase { throw Whim() }
                    }
                }
            }
        }
        #expect(
            !FileManager.default.fileExists(
                atPath: sandbox.url("copy").path(percentEncoded: false)))
        #expect(try database.problems() == [])
    }
}
