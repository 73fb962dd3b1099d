// SPDX-License-Identifier: Apache-2.0

/// A name in DNS: labels of bytes, from the most special to the most general (RFC 1035, 3.1).
///
///     Ann's notes._divan._tcp.local
///     └─ label ─┘ └label┘ └─┘ └───┘
///
/// In multicast DNS labels are UTF-8, and a label may hold dots and spaces. Two names are equal when their bytes are,
/// upper and lower case of ASCII letters apart; nothing else is folded, so a composed and a decomposed é differ.
///
/// ## Invariants
///
/// `checkInvariants()` tests both; `MessageTests` call it for names that are made and for names that are read.
///
/// 1. A label has 1 to 63 bytes.
/// 2. On the wire a name has at most 255 bytes, lengths and the final zero included.
package struct DNSName: Sendable, CustomStringConvertible {
    /// Bytes of a label at most.
    package static let longestLabel = 63
    /// Bytes of a name on the wire at most.
    package static let longest = 255
    /// Labels of a name at most: each has a length and a byte, and a zero follows.
    static let mostLabels = (longest - 1) / 2

    /// The labels, in the order in which they are written.
    package let labels: [[UInt8]]

    /// Makes a name of labels; nil when one of them, or all together, are too long, or one is empty.
    package init?(labels: [[UInt8]]) {
        guard labels.allSatisfy({ (1...Self.longestLabel).contains($0.count) }),
            labels.reduce(1, { $0 + 1 + $1.count }) <= Self.longest
        else { return nil }
        self.labels = labels
    }

    /// Makes a name of a text in which each dot ends a label.
    package init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        self.init(labels: parts.map(Array.init))
    }

    /// The name that a label in front of this one makes; nil when that is too long.
    package func prefixed(by label: String) -> DNSName? {
        DNSName(labels: [Array(label.utf8)] + labels)
    }

    /// The name without its first label.
    package var parent: DNSName { DNSName(trusted: Array(labels.dropFirst())) }

    /// The first label as text; nil when it is no UTF-8.
    package var firstLabel: String? {
        labels.first.flatMap { String(validating: $0, as: UTF8.self) }
    }

    /// The name as text, for logs. Bytes that are no printable ASCII, dots and backslashes are written as `\ddd`.
    package var description: String {
        labels.map(Self.escaped).joined(separator: ".")
    }

    private static func escaped(_ label: [UInt8]) -> String {
        var text = ""
        for byte in label {
            switch byte {
            case UInt8(ascii: "."), UInt8(ascii: "\\"), 0...31, 127...255:
                let digits = String(byte)
                text += "\\" + String(repeating: "0", count: 3 - digits.utf8.count) + digits
            default: text.unicodeScalars.append(Unicode.Scalar(byte))
            }
        }
        return text
    }

    /// Stops the program where an invariant does not hold; for tests.
    func checkInvariants() {
        precondition(
            labels.allSatisfy { (1...Self.longestLabel).contains($0.count) }, "invariant 1")
        precondition(labels.reduce(1) { $0 + 1 + $1.count } <= Self.longest, "invariant 2")
    }

    /// Takes labels that are known to fit.
    init(trusted labels: [[UInt8]]) { self.labels = labels }
}

extension DNSName: Hashable {
    /// Whether both have the same bytes, the case of ASCII letters apart.
    package static func == (left: DNSName, right: DNSName) -> Bool {
        left.labels.count == right.labels.count
            && zip(left.labels, right.labels).allSatisfy { one, other in
                one.count == other.count
                    && zip(one, other).allSatisfy { folded($0) == folded($1) }
            }
    }

    /// Hashes the folded bytes.
    package func hash(into hasher: inout Hasher) {
        for label in labels {
            hasher.combine(label.count)
            for byte in label { hasher.combine(Self.folded(byte)) }
        }
    }

    private static func folded(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}
