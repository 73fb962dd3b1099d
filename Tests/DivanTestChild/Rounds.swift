// SPDX-License-Identifier: Apache-2.0

import CSpawn
import FoundationEssentials

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Begins and ends things again and again, in a process that may have 256 descriptors, and says what
/// each kind of them leaves behind:
///
///     delete 100 rounds: 0 descriptors, 12 bytes a round
///
/// Some rounds come before the first look, so that what is made once does not count.
struct Rounds {
    /// One kind of thing that is begun and ended.
    struct Kind {
        var name: String
        /// Of the rounds asked for, the part that it does.
        var share: Double
        var round: (Int) throws -> Void
    }

    /// What a process has now.
    fileprivate struct Holdings {
        var descriptors: Int
        var bytes: Int
    }

    let count: Int

    /// Does the rounds of all kinds.
    func run(_ kinds: [Kind]) throws {
        guard divan_spawn_limit_descriptors(256) == 0 else { throw WrongArguments() }
        for kind in kinds { try run(kind) }
    }

    private func run(_ kind: Kind) throws {
        let rounds = max(Int(Double(count) * kind.share), 5)
        let first = max(rounds / 5, 5)
        for round in 0..<first { try kind.round(round) }
        let before = Self.settled(at: 0)
        for round in first..<(first + rounds) { try kind.round(round) }
        let after = Self.settled(at: before.descriptors)
        Report.say(
            "\(kind.name) \(rounds) rounds: \(after.descriptors - before.descriptors) descriptors, "
                + "\((after.bytes - before.bytes) / rounds) bytes a round")
    }

    /// What there is when what ends on other threads has ended: when it has not changed for a while, or is
    /// as little as it is to be.
    private static func settled(at goal: Int) -> Holdings {
        var known = Holdings.now
        var unchanged = 0
        for _ in 0..<2_000 {
            usleep(5_000)
            let now = Holdings.now
            unchanged = now.descriptors == known.descriptors ? unchanged + 1 : 0
            known = now
            if unchanged >= (now.descriptors <= goal ? 10 : 100) { break }
        }
        return known
    }
}

extension Rounds.Holdings {
    fileprivate static var now: Self {
        let descriptors = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        return Self(descriptors: descriptors?.count ?? 0, bytes: divan_spawn_allocated_bytes())
    }
}
