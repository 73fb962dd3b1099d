// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import DivanTestSupport
import FoundationEssentials
import Testing

/// Replications of databases whose files are encrypted.
@Suite(
    .timeLimit(.minutes(10)),
    .enabled(if: TestEngine.isSQLite, "Only SQLite's databases are encrypted.")
)
struct EncryptedReplicationTests {
    private let folder = FileManager.default.temporaryDirectory
        .appending(path: "divan-encrypted-\(UUID().uuidString)")

    private func database(_ name: String, key: UInt8?) throws -> Database {
        var options = DatabaseOptions()
        options.create = true
        if let key {
            options.encryptionKey = try EncryptionKey(
                rawBytes: [UInt8](repeating: key, count: 32))
        }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return try Database.open(at: folder.appending(path: "\(name).divan"), options: options)
    }

    private func run(_ replication: Replication) async {
        replication.start()
        await replication.waitUntilEnded()
        #expect(replication.lastError == nil)
    }

    @Test func `attachments of encrypted databases are replicated`() async throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 3) }
        do {
            let first = try database("first", key: 1)
            try first.put("a", ["n": 1], parent: nil, attachments: ["big": .bytes(bytes)])
            first.close()
        }
        let first = try Database.open(
            at: folder.appending(path: "first.divan"), options: options(key: 1))
        let second = try database("second", key: 2)
        let plain = try database("plain", key: nil)
        await run(first.makePushReplication(to: second))
        await run(plain.makePullReplication(from: second))
        await run(first.makePullReplication(from: plain))
        for other in [second, plain] {
            let copy = try other.document(withID: "a")
            #expect(try copy?.attachment(named: "big")?.content() == bytes)
            #expect(try other.verify().isEmpty)
        }
        first.close()
        second.close()
        plain.close()
    }

    private func options(key: UInt8) throws -> DatabaseOptions {
        var options = DatabaseOptions()
        options.encryptionKey = try EncryptionKey(rawBytes: [UInt8](repeating: key, count: 32))
        return options
    }
}
