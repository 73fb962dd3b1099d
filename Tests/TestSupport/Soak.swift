// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// How much randomised tests do: a fixed small amount in `make test`, all of it in `make soak`.
///
/// ```swift
/// for round in Soak.rounds(test: 2_000, soak: 100_000) {
///     var random = Soak.random(round: round)
///     …
/// }
/// ```
///
/// | variable | meaning |
/// |---|---|
/// | `DIVAN_SOAK=1` | do the full counts, with a fresh seed |
/// | `DIVAN_SEED=n` | use this seed, to repeat a run |
/// | `DIVAN_SLICE=k/n` | do only the k-th of n equal parts, to go on where a run was stopped |
///
/// Under a sanitizer, which makes everything five to thirty times slower, a test does an eighth of its
/// small amount, or twenty times: a race or a bad access shows in few rounds, if its code runs at all.
///
/// The seed of a soak is printed once. Each round has its own numbers, so a failing round is
/// repeated by its seed and number alone.
public enum Soak {
    /// Whether the full counts are wanted.
    public static let isOn = environment("DIVAN_SOAK").map { $0 != "0" && $0 != "" } ?? false

    /// The seed of this run.
    public static let seed: UInt64 = {
        let given = environment("DIVAN_SEED").flatMap { UInt64($0) }
        guard isOn else { return given ?? 1 }
        let seed = given ?? UInt64.random(in: 1...UInt64(UInt32.max))
        print("Soak: seed \(seed). Repeat with DIVAN_SOAK=1 DIVAN_SEED=\(seed).")
        return seed
    }()

    /// Returns how often to do something: `test` times, or `soak` times in a soak.
    public static func count(test: Int, soak: Int) -> Int {
        guard !isOn else { return soak }
        return Sanitizer.isOn ? min(test, max(test / 8, 20)) : test
    }

    /// Returns how far apart those places lie, of very many, that are tried: `test`, or `soak` in a soak.
    public static func step(test: Int, soak: Int) -> Int {
        guard !isOn else { return soak }
        return Sanitizer.isOn ? test * 8 : test
    }

    /// Returns the rounds to do, which in a soak may be a slice of all.
    public static func rounds(test: Int, soak: Int) -> Range<Int> {
        let count = count(test: test, soak: soak)
        guard isOn, let slice else { return 0..<count }
        return count * (slice.part - 1) / slice.parts..<count * slice.part / slice.parts
    }

    /// Returns the random numbers of a round.
    ///
    /// - Parameters:
    ///   - round: The number of the round.
    ///   - salt: Tells apart suites that should not see the same numbers.
    public static func random(round: Int, salt: UInt64 = 0) -> SeededRandom {
        SeededRandom(seed: seed, salt, UInt64(round))
    }

    private static let slice: (part: Int, parts: Int)? = {
        guard let text = environment("DIVAN_SLICE") else { return nil }
        let numbers = text.split(separator: "/").compactMap { Int($0) }
        guard numbers.count == 2, numbers[0] >= 1, numbers[0] <= numbers[1] else {
            preconditionFailure("DIVAN_SLICE must be like 2/8, not \(text).")
        }
        return (numbers[0], numbers[1])
    }()
}

/// The value of an environment variable.
func environment(_ name: String) -> String? {
    ProcessInfo.processInfo.environment[name]
}
