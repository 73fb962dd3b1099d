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
///     delete 25 rounds: 0 descriptors, 1200 bytes
///
/// It looks before and after each quarter of the rounds, and tells of the quarter that left least: what
/// is made once, and what threads keep for the next time, does not come with every one.
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
        let rounds = max(Int(Double(count) * kind.share) / 4, 5)
        var least = Holdings(descriptors: .max, bytes: .max)
        var before = Self.settled(at: .max)
        for part in 0..<4 {
            for round in 0..<rounds { try kind.round(part * rounds + round) }
            let after = Self.settled(at: before.descriptors)
            least.descriptors = min(least.descriptors, after.descriptors - before.descriptors)
            least.bytes = min(least.bytes, after.bytes - before.bytes)
            before = after
        }
        Report.say(
            "\(kind.name) \(rounds) rounds: \(least.descriptors) descriptors, \(least.bytes) bytes")
    }

    /// What there is when what ends on other threads has ended: when nothing was given back for a while, sooner
    /// if there are as few descriptors as there are to be.
    private static func settled(at goal: Int) -> Holdings {
        var known = Holdings.now
        var unchanged = 0
        while unchanged < (known.descriptors <= goal ? 10 : 200) {
            usleep(5_000)
            let now = Holdings.now
            let isSettled =
                now.descriptors == known.descriptors && now.bytes >= known.bytes - 1_000
            unchanged = isSettled ? unchanged + 1 : 0
            known = now
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
