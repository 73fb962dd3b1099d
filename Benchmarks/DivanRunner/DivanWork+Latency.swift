// SPDX-License-Identifier: Apache-2.0

import BenchmarkInput
import Divan
import Foundation
import Synchronization

/// Readers beside others: how long one waits while another thread writes as fast as it can, and what
/// many at once take.
extension DivanWork {
    /// Sixteen readers, as many as a database has, each with a snapshot of its own, read random
    /// documents at once; what is looked at is the memory beside that of one, `read_random`'s.
    func readMany(_ database: Database) throws -> Timing {
        let readers = 16
        let failure = Mutex<(any Error)?>(nil)
        let sum = Atomic(0)
        let begun = Atomic(0)
        let timing = measuring {
            let threads = (0..<readers).map { number in
                Thread {
                    do {
                        let found = try readShare(database, number, of: readers) {
                            // No reader goes on before all have their snapshots.
                            begun.add(1, ordering: .relaxed)
                            while begun.load(ordering: .relaxed) < readers { usleep(100) }
                        }
                        sum.add(found, ordering: .relaxed)
                    } catch {
                        failure.withLock { $0 = error }
                        begun.add(readers, ordering: .relaxed)
                    }
                }
            }
            for thread in threads { thread.start() }
            for thread in threads { while !thread.isFinished { usleep(1_000) } }
            return sum.load(ordering: .relaxed)
        }
        if let error = failure.withLock({ $0 }) { throw error }
        return timing
    }

    private func readShare(
        _ database: Database, _ number: Int, of readers: Int, _ didBegin: () -> Void
    ) throws -> Int {
        try database.read { transaction in
            var numbers = SeededNumbers(seed: UInt64(number))
            _ = try transaction.document(withID: input.documentID(number))
            didBegin()
            var sum = 0
            for _ in 0..<operations / readers {
                let id = input.documentID(numbers.next(below: input.count))
                sum += try transaction.document(withID: id)?.int(forKey: "age") ?? -1
            }
            return sum
        }
    }

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
                let id = input.documentID(numbers.next(below: input.count))
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
                try transaction.update(input.documentID(numbers.next(below: input.count))) {
                    person in
                    person.set(person.int(forKey: "age") + 1, forKey: "age")
                }
            }
        }
    }
}
