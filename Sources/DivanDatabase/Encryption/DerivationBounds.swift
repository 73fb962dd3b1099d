// SPDX-License-Identifier: Apache-2.0

internal import DivanPlatform

/// How much a derivation that a manifest names may cost: a manifest can come from a stranger, and opening a
/// database must not take all memory, or minutes, before it says that the password is wrong.
///
/// The bounds are four times what this release writes by default for scrypt, and 16 times for PBKDF2: some
/// seconds on a slow machine.
enum DerivationBounds {
    /// The memory of scrypt, N × r: 128 times as many bytes, so 256 MB.
    static let scryptMemory = 1 << 21
    /// The work of scrypt, N × r × p.
    static let scryptWork = 1 << 22
    /// The rounds of PBKDF2.
    static let rounds = 10_000_000

    /// Whether a derivation stays within the bounds. Its numbers are above 0.
    static func allow(_ derivation: KeyWrapping.Derivation) -> Bool {
        switch derivation {
        case .raw:
            return true
        case .pbkdf2(let rounds, _):
            return rounds <= Self.rounds
        case .scrypt(let cost, _):
            // Each number alone first, so that no product can overflow.
            let numbers = [cost.cost, cost.blockSize, cost.parallelism]
            guard numbers.allSatisfy({ $0 <= scryptMemory }) else { return false }
            return cost.cost * cost.blockSize <= scryptMemory
                && cost.cost * cost.blockSize * cost.parallelism <= scryptWork
        }
    }
}
