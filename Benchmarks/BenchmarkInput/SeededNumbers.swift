// SPDX-License-Identifier: Apache-2.0

/// SplitMix64: small, fast, and the same numbers in Swift and in `Floor/support.c`.
public struct SeededNumbers: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Starts the series of a seed.
    public init(seed: UInt64) {
        state = seed
    }

    /// Returns the next number of the series.
    public mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    /// Returns a number from 0 up to the bound, by remainder: the floors do the same.
    public mutating func next(below bound: Int) -> Int {
        Int(next() % UInt64(bound))
    }
}
