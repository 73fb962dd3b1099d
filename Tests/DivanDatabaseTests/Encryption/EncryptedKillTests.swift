// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestChild
import DivanTestSupport
import FoundationEssentials
import Testing

/// A process that writes into an encrypted database is killed, and its files are searched.
///
/// Soak slices: 5.
@Suite(.enabled(if: TestEngine.isSQLite, "Only SQLite's databases are encrypted."))
struct EncryptedKillTests {
    @Test func `no file has anything of what was stored after a kill`() async throws {
        let sandbox = Sandbox()
        let path = sandbox.url().path(percentEncoded: false)
        let rounds = Soak.rounds(test: 20, soak: 500)
        let (done, logs) = try await offPool {
            try FileManager.default.createDirectory(
                at: sandbox.folder, withIntermediateDirectories: true)
            var (done, logs) = (0, 0)
            for round in rounds {
                var random = Soak.random(round: round, salt: 0x7365_6372)
                let child = try TestChild("secrets", path, "\(random.next())")
                var lines = child.readLines(through: random.below(6), "done")
                lines += child.readLines(killingAfterMicroseconds: random.below(60_000))
                done += lines.count { $0.hasPrefix("done") }
                #expect(child.wait() == -9, "Round \(round): the child failed by itself.")
                // As the kill has left them, before this test opens them.
                let files = try sandbox.contents()
                if files.contains(where: { $0.key.hasSuffix("-wal") && !$0.value.isEmpty }) {
                    logs += 1
                }
                if !files.isEmpty { try sandbox.expectNoPlaintext() }
                try check(path, round: round)
            }
            return (done, logs)
        }
        // So many that there was something to be found, in the log above all.
        #expect(done >= rounds.count / 2)
        #expect(logs >= rounds.count / 2)
    }

    private func check(_ path: String, round: Int) throws {
        let database = try Database.forTest(at: path, create: true, keeping: .encrypted)
        defer { database.close() }
        #expect(database.isEncrypted)
        var options = AllDocumentsOptions()
        options.includeDocuments = true
        try database.forEachDocument(options) { row in
            let text = row.document?.string(forKey: "text") ?? ""
            if !text.hasPrefix("the quizzical xylophone") {
                Issue.record("Round \(round): \(row.id) is not whole.")
            }
        }
        let problems = try database.verify()
        #expect(problems.isEmpty, "Round \(round): \(problems.prefix(3))")
    }
}
