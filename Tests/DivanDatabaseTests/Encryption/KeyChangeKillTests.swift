// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestChild
import DivanTestSupport
import FoundationEssentials
import Testing

/// A process that adds, changes and removes encryption over and over is killed at random moments.
///
/// Soak slices: 4.
@Suite(.enabled(if: TestEngine.isSQLite, "Only SQLite's databases are encrypted."))
struct KeyChangeKillTests {
    @Test func `a database opens with the old key or the new one, whole, after a kill`()
        async throws
    {
        let sandbox = Sandbox()
        let rounds = Soak.rounds(test: 20, soak: 500)
        let (done, interrupted) = try await offPool {
            try makeDatabase(sandbox)
            var possible: Set<UInt8> = [1]
            var (done, interrupted) = (0, 0)
            for round in rounds {
                var random = Soak.random(round: round, salt: 0x72_656B_6579)
                let before = try #require(possible.first)
                let child = try TestChild(
                    "rekey", sandbox.url().path(percentEncoded: false), "\(before)",
                    "\(random.next())")
                // It tells when it begins and when it is done: so far it comes on any machine.
                for _ in 0..<random.below(5) {
                    _ = child.readLine().map { note($0, &possible, &done) }
                }
                let rest = child.readLines(killingAfterMicroseconds: random.below(40_000))
                for line in rest { note(line, &possible, &done) }
                if possible.count > 1 { interrupted += 1 }
                #expect(child.wait() == -9, "Round \(round): the child failed by itself.")
                try check(sandbox, &possible, round: round)
            }
            return (done, interrupted)
        }
        // So many that the kills have hit children at work, and that work came to its end, too.
        #expect(done >= rounds.count / 5)
        #expect(interrupted >= rounds.count / 5)
    }

    private func makeDatabase(_ sandbox: Sandbox) throws {
        let database = try sandbox.encrypted()
        try database.inBatch {
            for number in 0..<60 {
                let document = MutableDocument(
                    KnownBody.make("d\(number)", number), id: "d\(number)")
                if number % 10 == 0 {
                    document.setAttachment(
                        named: "a", contentType: nil,
                        .bytes(Sample.bytes(70_000, seed: UInt64(number + 1))))
                }
                try database.save(document)
            }
        }
        database.close()
    }

    /// Keeps what may be there: after `done`, that alone; after `begin`, also what was announced.
    private func note(_ line: String, _ possible: inout Set<UInt8>, _ done: inout Int) {
        let words = line.split(separator: " ")
        guard words.count == 2, let number = UInt8(words[1]) else { return }
        if words[0] == "done" {
            possible = [number]
            done += 1
        } else {
            possible.insert(number)
        }
    }

    private func check(_ sandbox: Sandbox, _ possible: inout Set<UInt8>, round: Int) throws {
        var opening: [UInt8] = []
        for number in possible.sorted() {
            let key = number == 0 ? nil : try EncryptionSamples.key(number)
            let opened: Database
            do {
                opened = try sandbox.database {
                    $0.create = false
                    $0.encryptionKey = key
                }
            } catch let error as DatabaseError where error.code == .unauthorized {
                continue
            }
            defer { opened.close() }
            opening.append(number)
            #expect(opened.isEncrypted == (number > 0), "Round \(round)")
            #expect(try opened.documentCount == 60, "Round \(round)")
            let problems = try opened.verify()
            #expect(problems.isEmpty, "Round \(round): \(problems.prefix(3))")
            let attachment = try opened.existing("d10").attachment(named: "a")
            #expect(try attachment?.content() == Sample.bytes(70_000, seed: 11), "Round \(round)")
            if number > 0 { try sandbox.expectNoPlaintext(["INSERT", "CREATE TABLE"]) }
        }
        #expect(opening.count == 1, "Round \(round): \(opening) of \(possible)")
        possible = Set(opening)
    }
}
