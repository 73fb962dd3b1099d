// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport

/// Both ends are edited at once while continuous replications run in all four directions.
struct ContinuousPart {
    private let harness: Harness

    init(_ harness: Harness) { self.harness = harness }

    func run() async throws {
        let pair = try await harness.makePair("continuous")
        var terms = Terms()
        terms.isContinuous = true
        let replications = [
            pair.local.push(to: pair.there.address) { terms.apply(to: &$0) },
            pair.local.pull(from: pair.there.address) { terms.apply(to: &$0) },
        ]
        for direction in [Direction.serverPushes, .serverPulls] {
            let answer = try await pair.request(direction, terms)
            guard answer.isSuccess else { throw Trouble("No continuous replication: \(answer)") }
            let terms = terms
            harness.atEnd { _ = try? await pair.request(direction, terms, isCancelling: true) }
        }
        let edits = harness.options.count(60, 500, 5_000)
        let written = await edit(pair, edits)
        if try await !harness.waitUntilEqual(pair.here, pair.there) {
            harness.report.fail(
                "continuous", "", "all", "the ends did not become equal in two minutes")
        }
        for replication in replications { await replication.stopAndWait() }
        for direction in [Direction.serverPushes, .serverPulls] {
            _ = try await pair.request(direction, terms, isCancelling: true)
        }
        let here = try await Snapshot.take(pair.here)
        let there = try await Snapshot.take(pair.there)
        harness.comparison("continuous", "").compare(here, there)
        harness.check(written, here, "continuous", "in Divan")
        harness.check(written, there, "continuous", "at \(harness.there.name)")
        harness.report.say("  \(written.count) edits, \(here.documents.count) documents")
        let conflicted = here.documents.values.count { $0.leaves.count > 1 }
        harness.report.say("  \(conflicted) documents with several leaves")
    }

    private func edit(_ pair: Pair, _ edits: Int) async -> [Writer.Written] {
        await withTaskGroup(of: [Writer.Written].self) { group in
            for (number, database) in [pair.here, pair.there].enumerated() {
                let random = harness.random(UInt64(10 + number))
                group.addTask {
                    var writer = Writer(database, prefix: "c", documents: 40, random)
                    for _ in 0..<edits { await writer.write() }
                    return writer.acknowledged
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
    }
}
