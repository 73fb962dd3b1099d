// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Chooses ranks from 0, of which rank n comes with a probability in proportion to 1/(n + 1)^exponent.
struct ZipfRanks {
    /// The sum of the shares up to each rank.
    private let sums: [Double]

    init(count: Int, exponent: Double) {
        var sum = 0.0
        sums = (1...count).map { rank in
            sum += 1 / pow(Double(rank), exponent)
            return sum
        }
    }

    func next(_ numbers: inout SeededNumbers) -> Int {
        let share = Double(numbers.next() >> 11) / Double(1 << 53)
        let sum = share * (sums.last ?? 0)
        // The first rank whose sum is greater.
        var (low, high) = (0, sums.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if sums[middle] > sum { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
