// SPDX-License-Identifier: Apache-2.0

import Divan
import Foundation
import Synchronization

// Threads that save one document at a time, each commit durable.
extension DivanWork {
    /// How many threads a work has that is called `write_many_` and their number.
    func writers(of work: String) -> Int? {
        guard work.hasPrefix("write_many_") else { return nil }
        return Int(work.dropFirst("write_many_".count))
    }

    /// Saves the documents, each thread its share.
    func writeMany(_ database: Database, _ writers: Int) throws -> Timing {
        let failure = Mutex<(any Error)?>(nil)
        let latencies = Mutex(Latencies())
        var timing = measuring {
            let threads = (0..<writers).map { number in
                Thread {
                    do {
                        let own = try saveShare(database, number, of: writers)
                        latencies.withLock { $0.add(own) }
                    } catch {
                        failure.withLock { $0 = error }
                    }
                }
            }
            for thread in threads { thread.start() }
            for thread in threads { while !thread.isFinished { usleep(500) } }
            return operations
        }
        if let error = failure.withLock({ $0 }) { throw error }
        timing.latencies = latencies.withLock { $0 }
        return timing
    }

    private func saveShare(_ database: Database, _ number: Int, of writers: Int) throws -> Latencies
    {
        var latencies = Latencies()
        for index in stride(from: number, to: operations, by: writers) {
            let document = try input.withText(index) {
                try MutableDocument(json: $0, id: input.documentID(index))
            }
            try latencies.measure { _ = try database.save(document) }
        }
        return latencies
    }
}
