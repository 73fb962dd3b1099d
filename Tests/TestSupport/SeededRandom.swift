// SPDX-License-Identifier: Apache-2.0

/// Random numbers that a seed repeats exactly (SplitMix64).
///
/// ```swift
/// var random = SeededRandom(seed: 42)
/// let index = random.below(10)
/// ```
public struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// Starts the numbers that belong to `seed`.
    public init(seed: UInt64) {
        state = seed
    }

    /// Starts numbers that depend on a seed and a list of further numbers, such as a round.
    public init(seed: UInt64, _ path: UInt64...) {
        var mixer = SeededRandom(seed: seed)
        state = mixer.next()
        for step in path {
            mixer = SeededRandom(seed: state ^ (step &* 0xd1b5_4a32_d192_ed03))
            state = mixer.next()
        }
    }

    /// Returns the next number.
    public mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        return mixed ^ mixed >> 31
    }

    /// Returns a number from 0 up to, not including, `limit`.
    public mutating func below(_ limit: Int) -> Int {
        Int.random(in: 0..<limit, using: &self)
    }

    /// Returns `true` once in `count` calls on average.
    public mutating func oneIn(_ count: Int) -> Bool {
        below(count) == 0
    }

    /// Returns an element of a collection that is not empty.
    public mutating func element<Elements: RandomAccessCollection>(
        of elements: Elements
    ) -> Elements.Element where Elements.Index == Int {
        elements[elements.startIndex + below(elements.count)]
    }
}
