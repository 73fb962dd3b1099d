// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import FoundationEssentials

/// Changes how a database is encrypted, over and over, until it is killed, and says before and after
/// each change which key it takes; 0 is none:
///
///     begin 2
///     done 2
struct Rekeyer {
    private let url: URL
    private var current: UInt8
    private var random: SeededRandom

    init(_ arguments: [String]) throws {
        url = URL(filePath: try arguments.argument(0))
        current = try arguments.number(1)
        random = SeededRandom(seed: try arguments.number(2))
    }

    mutating func run() throws {
        while true {
            let next = UInt8(random.below(4))
            Report.say("begin \(next)")
            try Database.changeEncryptionKey(
                at: url, from: Self.key(current), to: Self.key(next),
                reencrypt: random.oneIn(2))
            Report.say("done \(next)")
            current = next
        }
    }

    /// The key of a number.
    static func key(_ number: UInt8) throws -> EncryptionKey? {
        guard number > 0 else { return nil }
        return try EncryptionKey(rawBytes: [UInt8](repeating: number, count: 32))
    }
}
