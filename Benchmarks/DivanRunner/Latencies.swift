// SPDX-License-Identifier: Apache-2.0

import Foundation

/// How long each of many equal things took, in milliseconds.
struct Latencies {
    private var values: [Double] = []

    /// How many there are.
    var count: Int { values.count }

    mutating func add(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        values.append(Double(seconds) * 1e3 + Double(attoseconds) / 1e15)
    }

    mutating func add(_ other: Latencies) { values += other.values }

    /// Adds how long `work` takes.
    mutating func measure(_ work: () throws -> Void) rethrows {
        let start = ContinuousClock.now
        try work()
        add(ContinuousClock.now - start)
    }

    /// The value that a share of all does not exceed.
    func percentile(_ share: Double) -> Double {
        guard !values.isEmpty else { return 0 }
        return values.sorted()[min(values.count - 1, Int(Double(values.count) * share))]
    }
}
