// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestChild
import DivanTestSupport
import FoundationEssentials
import Testing

/// A process that replaces a database over and over is killed at random moments.
@Suite struct ReplacementKillTests {
    @Test func `a database is the old one or the new one, whole, after a kill while replacing`()
        async throws
    {
        let directory = try TestDirectory("kill-replace")
        let (done, interrupted) = try await offPool {
            for number in 0..<3 {
                try directory.makeDatabase(
                    "source-\(number).divan", documents: 40 * (number + 1))
            }
            var possible: Set<Int?> = [nil]
            var done = 0
            var interrupted = 0
            for round in Soak.rounds(test: 20, soak: 200) {
                var random = Soak.random(round: round, salt: 0x7265_706C)
                let child = try TestChild("replace", directory.path, "\(random.next())")
                // It tells when it begins and when it is done: so far it comes on any machine.
                for _ in 0..<random.below(6) {
                    _ = child.readLine().map { note($0, &possible, &done) }
                }
                let rest = child.readLines(killingAfterMicroseconds: random.below(60_000))
                for line in rest { note(line, &possible, &done) }
                if possible.count > 1 { interrupted += 1 }
                #expect(child.wait() == -9, "Round \(round): the child failed by itself.")
                try check(directory, &possible, round: round)
            }
            return (done, interrupted)
        }
        // So many that the kills have hit children at work, and that work came to its end, too.
        #expect(done >= Soak.count(test: 5, soak: 50))
        #expect(interrupted >= Soak.count(test: 5, soak: 50))
    }
}

/// Keeps what may be there: after `done`, that alone; after `begin`, also what was announced.
private func note(_ line: String, _ possible: inout Set<Int?>, _ done: inout Int) {
    let words = line.split(separator: " ")
    guard words.count == 2, let number = Int(words[1]) else { return }
    if words[0] == "done" {
        possible = [number]
        done += 1
    } else {
        possible.insert(number)
    }
}

private func check(_ directory: TestDirectory, _ possible: inout Set<Int?>, round: Int) throws {
    let path = directory.path("app.divan")
    let manager = try Manager(directory: URL(filePath: directory.path))
    defer { manager.close() }
    guard manager.databaseExists(named: "app") else {
        #expect(possible.contains(nil), "Round \(round): the database is gone.")
        possible = [nil]
        return
    }
    let database = try manager.database(named: "app")
    let count = try database.documentCount
    let number = count / 40 - 1
    #expect(count % 40 == 0 && possible.contains(number), "Round \(round): \(count) documents.")
    possible = [number]
    var options = AllDocumentsOptions()
    options.includeDocuments = true
    try database.forEachDocument(options) { row in
        if row.document.map(KnownBody.isWhole) != true {
            Issue.record("Round \(round): \(row.id) is not whole.")
        }
    }
    let problems = try database.verify()
    #expect(problems.isEmpty, "Round \(round): \(problems.prefix(3))")
    let names = try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    #expect(names.count == 4, "Round \(round): \(names)")
}
