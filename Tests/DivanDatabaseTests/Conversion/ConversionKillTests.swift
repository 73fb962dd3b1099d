// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestChild
import DivanTestSupport
import FoundationEssentials
import Testing

/// A process that moves a database between engines, saves and compacts is killed at random moments.
///
/// Soak slices: 4.
@Suite struct ConversionKillTests {
    @Test func `a database is whole, in one engine or the other, after a kill while converting`()
        async throws
    {
        let directory = try TestDirectory("kill-convert")
        let rounds = Soak.rounds(test: 20, soak: 500)
        let (saved, engines) = try await offPool {
            var saved = 0
            var engines: [String: Int] = [:]
            for round in rounds {
                var random = Soak.random(round: round, salt: 0x636F_6E76)
                let child = try TestChild("convert", directory.path, "\(random.next())")
                // It tells of each step: so far it comes on any machine.
                var lines = (0..<random.below(24)).compactMap { _ in child.readLine() }
                lines += child.readLines(killingAfterMicroseconds: random.below(60_000))
                var begun = saved
                for line in lines {
                    let words = line.split(separator: " ")
                    if words[0] == "begin" { begun = max(begun, Int(words[1]).map { $0 + 1 } ?? 0) }
                    if words[0] == "done" { saved = max(saved, Int(words[1]).map { $0 + 1 } ?? 0) }
                }
                #expect(child.wait() == -9, "Round \(round): the child failed by itself.")
                let path = directory.path("app.divan")
                guard FileManager.default.fileExists(atPath: path + "/manifest") else {
                    #expect(saved == 0, "Round \(round): the database is gone.")
                    continue
                }
                let database = try Database.forTest(at: path)
                let count = try database.documentCount
                #expect(
                    saved...max(begun, saved) ~= count, "Round \(round): \(count), not \(saved).")
                saved = count
                engines[database.storageEngineName, default: 0] += 1
                for number in stride(from: 0, to: count, by: 7) {
                    let document = try #require(try database.document(withID: "d-\(number)"))
                    #expect(KnownBody.isWhole(document), "Round \(round): d-\(number)")
                }
                let problems = try database.verify()
                #expect(problems.isEmpty, "Round \(round): \(problems.prefix(3))")
                database.close()
                let names = try FileManager.default.contentsOfDirectory(atPath: path).sorted()
                #expect(names.count == 4, "Round \(round): \(names)")
            }
            return (saved, engines)
        }
        // So many that the kills have hit children at work, on both engines.
        #expect(saved >= rounds.count)
        #expect(engines.count == 2)
    }
}
