// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport

extension [UInt8] {
    /// The bytes of a text, whose line feeds become CR LF.
    static func wire(_ text: String) -> [UInt8] {
        text.utf8.flatMap { $0 == 0x0A ? [0x0D, 0x0A] : [$0] }
    }

    /// The bytes in two pieces.
    func cut(at place: Int) -> [[UInt8]] { [Array(self[..<place]), Array(self[place...])] }

    /// The bytes in pieces of random sizes.
    func cut(_ random: inout SeededRandom) -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        var rest = self[...]
        let longest = random.element(of: [1, 2, 5, 40, 3_000])
        while !rest.isEmpty {
            let count = 1 + random.below(longest)
            pieces.append(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        return pieces
    }
}
