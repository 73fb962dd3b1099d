// SPDX-License-Identifier: Apache-2.0

import BenchmarkInput
import Divan
import Foundation
import Synchronization

/// How long a reader waits while another thread writes as fast as it can.
extension DivanWork {
    /// Reads random documents, one call each, beside a writer of batches; counts the reads, and keeps
    /// the time that 99 of 100 stay under.
    func readUnderWrites(_ database: Database) throws -> Timing {
        let isOver = Atomic(false)
        let failure = Mutex<(any Error)?>(nil)
        let writer = Thread {
            do {
                var round = 0
                while !isOver.load(ordering: .acquiring) {
                    try overwrite(database, round: round)
                    round += 1
                }
            } catch {
                failure.withLock { $0 = error }
            }
        }
        writer.start()
        defer {
            isOver.store(true, ordering: .releasing)
            while !writer.isFinished { usleep(1_000) }
        }
        var numbers = SeededNumbers(seed: 9)
        var latencies = Latencies()
        var timing = try measuring {
            var sum = 0
            for _ in 0..<operations {
                let began = ContinuousClock.now
                let id = input.id(numbers.next(below: input.count))
                sum += try database.document(withID: id)?.int(forKey: "age") ?? -1
                latencies.add(ContinuousClock.now - began)
            }
            return sum
        }
        if let error = failure.withLock({ $0 }) { throw error }
        timing.latencies = latencies
        return timing
    }

    /// A batch of changed documents.
    private func overwrite(_ database: Database, round: Int) throws {
        var numbers = SeededNumbers(seed: UInt64(round) + 10)
        try database.write { transaction in
            for _ in 0..<1000 {
                try transaction.update(input.id(numbers.next(below: input.count))) { person in
                    person.set(person.int(forKey: "age") + 1, forKey: "age")
                }
            }
        }
    }
}
