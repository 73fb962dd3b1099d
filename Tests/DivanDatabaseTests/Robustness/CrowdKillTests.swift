// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestChild
import DivanTestSupport
import Testing

/// A process whose threads share commits is killed at random moments, over and over, on one database.
///
/// Soak slices: 4.
@Suite struct CrowdKillTests {
    @Test(arguments: [Keeping.sqlite, .lmdb])
    func `every single write that a thread was told of is there after a kill`(_ keeping: Keeping)
        async throws
    {
        let directory = try TestDirectory("crowd")
        let rounds = Soak.rounds(test: 8, soak: 200)
        try await offPool {
            let path = directory.path("app.divan")
            var isThere: [String: Bool] = [:]
            for round in rounds {
                var random = Soak.random(round: round, salt: 0x6372_6F77)
                let child = try TestChild("crowd", path, "r\(round)", keeping.rawValue)
                var lines = child.readLines(through: 1 + random.below(60), "saved")
                lines += child.readLines(killingAfterMicroseconds: random.below(30_000))
                #expect(child.wait() == -9, "Round \(round): the child failed by itself.")
                for line in lines where line != "ready" {
                    let words = line.split(separator: " ").map(String.init)
                    isThere[words[1]] = words[0] == "saved"
                }
                let database = try Database.forTest(at: path, keeping: keeping)
                defer { database.close() }
                for (id, expected) in isThere {
                    let document = try database.document(withID: DocumentID(id))
                    // Every third document is deleted next, which may have happened and not been told.
                    let mayBeGone =
                        (id.split(separator: "-").last.flatMap { Int($0) } ?? 0) % 3 == 0
                    if document == nil {
                        #expect(!expected || mayBeGone, "Round \(round): \(id) is lost.")
                    } else {
                        #expect(expected, "Round \(round): \(id) is back.")
                        #expect(document.map(KnownBody.isWhole) == true, "Round \(round): \(id)")
                    }
                }
                let problems = try database.verify()
                #expect(problems.isEmpty, "Round \(round): \(problems.prefix(3))")
            }
            #expect(isThere.count > rounds.count)
        }
    }
}
