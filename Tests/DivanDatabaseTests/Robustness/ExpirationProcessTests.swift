// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestChild
import DivanTestSupport
import FoundationEssentials
import Testing

/// Expiration with several processes, and with processes that are killed.
@Suite struct ExpirationProcessTests {
    @Test func `processes with timers take turns and purge each document once`() async throws {
        let directory = try TestDirectory("expire-together")
        try await offPool {
            let path = directory.path("app.divan")
            let database = try Database.forTest(at: path, create: true)
            defer { database.close() }
            let children = try (0..<2).map { _ in try TestChild("serve", path) }
            for child in children { #expect(child.readLine() == "ready") }
            let count = 300
            let date = Date(timeIntervalSinceNow: 1)
            try database.inBatch {
                for number in 0..<count {
                    try database.save(MutableDocument(["n": 1], id: "d\(number)"))
                    try database.setExpiration(of: "d\(number)", at: date)
                }
                try database.save(MutableDocument(["n": 1], id: "kept"))
            }
            try eventually { try database.documentCount == 1 }
            for child in children { #expect(try child.ask("count") == "1") }
            var purges = 0
            try database.inspect(store: "purges") { _ in purges += 1 }
            #expect(purges == count)
            for child in children { #expect(child.finish() == 0) }
            #expect(try database.verify().isEmpty)
        }
    }

    @Test func `an earlier date that another process sets is kept here`() async throws {
        let directory = try TestDirectory("expire-earlier")
        try await offPool {
            let path = directory.path("app.divan")
            let database = try Database.forTest(at: path, create: true)
            defer { database.close() }
            for id: DocumentID in ["mine", "theirs"] {
                try database.save(MutableDocument(["n": 1], id: id))
            }
            try database.setExpiration(of: "mine", at: Date(timeIntervalSinceNow: 100_000))
            eventually { database.expirationDeadline != nil }
            let child = try TestChild("serve", path)
            #expect(child.readLine() == "ready")
            #expect(try child.ask("expire theirs 2500") == "expires")
            // It is this process that must do it.
            #expect(child.finish() == 0)
            try eventually { try database.document(withID: "theirs") == nil }
            #expect(try database.document(withID: "mine") != nil)
        }
    }

    @Test func `the first date of all is kept here though another process sets it`() async throws {
        let directory = try TestDirectory("expire-first")
        try await offPool {
            let path = directory.path("app.divan")
            let database = try Database.forTest(at: path, create: true)
            defer { database.close() }
            try database.save(MutableDocument(["n": 1], id: "theirs"))
            let child = try TestChild("serve", path)
            #expect(child.readLine() == "ready")
            #expect(try child.ask("expire theirs 2500") == "expires")
            #expect(child.finish() == 0)
            try eventually { try database.document(withID: "theirs") == nil }
        }
    }

    @Test func `a process killed while documents expire leaves whole documents`() async throws {
        let directory = try TestDirectory("expire-kill")
        try await offPool {
            let path = directory.path("app.divan")
            var purged = 0
            for round in Soak.rounds(test: 20, soak: 200) {
                var random = Soak.random(round: round, salt: 0x6578_6B69)
                let child = try TestChild("expire", path, "\(random.next())")
                var lines = child.readLines(through: random.below(6), "purged")
                lines += child.readLines(killingAfterMicroseconds: random.below(60_000))
                #expect(child.wait() == -9, "Round \(round): the child failed by itself.")
                purged += lines.count { $0.hasPrefix("purged") }
                try check(path, lines, round: round)
            }
            // So many that the kills have hit passes at work.
            #expect(purged > Soak.count(test: 20, soak: 200))
        }
    }

    /// Nothing half, nothing lost, and what was said to be purged is gone.
    private func check(_ path: String, _ lines: [String], round: Int) throws {
        let database = try Database.forTest(at: path, create: true)
        defer { database.close() }
        let problems = try database.verify()
        #expect(problems.isEmpty, "Round \(round): \(problems.prefix(3))")
        var kept: Set<Substring> = []
        for line in lines where line.hasPrefix("saved ") {
            kept.formUnion(line.split(separator: " ").filter { $0.hasPrefix("kept") })
        }
        for id in kept.map(String.init) {
            let document = try database.document(withID: DocumentID(id))
            #expect(document.map(KnownBody.isWhole) == true, "Round \(round): \(id)")
            #expect(try database.expirationDate(of: DocumentID(id)) != nil, "Round \(round): \(id)")
        }
        if lines.last == "purged" || lines.last == "ready" {
            // All that was said is done; a batch may have come after it, whole.
            let count = try database.documentsExpiring(before: Date(timeIntervalSinceNow: 10)).count
            #expect(count <= 100, "Round \(round)")
        }
        while try !database.documentsExpiring(before: Date(timeIntervalSinceNow: 10)).isEmpty {
            _ = try database.purgeExpired()
        }
        try database.forEachDocument { row in
            #expect(row.id.text.hasPrefix("kept"), "Round \(round): \(row.id)")
        }
    }
}
