// SPDX-License-Identifier: Apache-2.0

import BenchmarkInput
import Dispatch
import Divan
import Foundation
import Synchronization

/// The workloads on what a document goes through: live objects, notifications, dates.
extension DivanWork {
    /// Runs a workload by name; nil for one that is not about these.
    func runLifeWork(_ work: String, on database: Database) throws -> Timing? {
        switch work {
        case "live_property": return try readLive(database)
        case "live_update": return try updateLive(database)
        case "notify_latency": return try notify(database)
        case "attachment_write": return try writeAttachment(to: database)
        case "attachment_read": return try readAttachment(of: database)
        case "compact_revisions": return try compact(database)
        case "expire": return try expire(database)
        default: return nil
        }
    }

    // MARK: - Live documents

    /// Reads one property of a document that is loaded, over and over.
    private func readLive(_ database: Database) throws -> Timing {
        let person = try database.liveDocument(withID: input.documentID(0))
        return measuring {
            var sum = 0
            for _ in 0..<operations { sum += Int(person["age"].int64 ?? -1) }
            return sum
        }
    }

    /// Changes one property of one document, a transaction each.
    private func updateLive(_ database: Database) throws -> Timing {
        let person = try database.liveDocument(withID: input.documentID(0))
        var latencies = Latencies()
        var timing = try measuring {
            for number in 0..<operations {
                let began = ContinuousClock.now
                try person.update { revision in
                    revision["age"] = Fragment(Int64(number))
                    return true
                }
                latencies.add(.now - began)
            }
            return Int(person["age"].int64 ?? -1)
        }
        timing.latencies = latencies
        return timing
    }

    // MARK: - Notifications

    /// From the end of a save to the call of a listener in the same process.
    private func notify(_ database: Database) throws -> Timing {
        let heard = DispatchSemaphore(value: 0)
        let moment = Mutex(ContinuousClock.now)
        let token = try database.addChangeListener { _ in
            moment.withLock { $0 = .now }
            heard.signal()
        }
        defer { token.remove() }
        var latencies = Latencies()
        var timing = try measuring {
            for number in 0..<operations {
                try database.save(MutableDocument(["n": .integer(Int64(number))]))
                let committed = ContinuousClock.now
                heard.wait()
                latencies.add(max(.zero, moment.withLock { $0 } - committed))
            }
            return latencies.count
        }
        timing.latencies = latencies
        return timing
    }

    // MARK: - Old revisions and dates

    /// Compaction of documents that have ten revisions each; the clock runs for the compaction.
    private func compact(_ database: Database) throws -> Timing {
        for _ in 0..<9 {
            for start in stride(from: 0, to: operations, by: 1000) {
                try database.write { transaction in
                    for index in start..<min(start + 1000, operations) {
                        try transaction.update(input.documentID(index)) { person in
                            person.set(person.int(forKey: "age") + 1, forKey: "age")
                        }
                    }
                }
            }
        }
        return try measuring { try database.compact().bodiesDeleted }
    }

    /// Documents whose time has come, until the database has purged them by itself.
    private func expire(_ database: Database) throws -> Timing {
        let past = Date(timeIntervalSinceNow: -1)
        try database.write { transaction in
            for index in 0..<operations {
                try transaction.setExpiration(of: input.documentID(index), at: past)
            }
        }
        return try measuring {
            while try database.documentCount > 0 { usleep(1_000) }
            return 0
        }
    }
}
