// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// Which names of databases are meant: `readings-*`.
///
/// `*` stands for any bytes, also none, and `?` for one. Names of databases are ASCII.
struct DatabasePattern: Sendable {
    let text: String

    private var bytes: String.UTF8View { text.utf8 }

    init(_ text: String) { self.text = text }

    /// Whether it names one database.
    var isName: Bool { !bytes.contains { Self.isWild($0) } }

    /// What the names begin with that it means.
    var prefix: String { String(decoding: bytes.prefix { !Self.isWild($0) }, as: UTF8.self) }

    /// Whether it means a name.
    func matches(_ name: String) -> Bool {
        let (pattern, name) = (Array(bytes), Array(name.utf8))
        var (p, n) = (0, 0)
        // Where the last star stands, and where what it stands for ends so far. A star before that needs no other try.
        var star: (pattern: Int, name: Int)?
        while n < name.count {
            if p < pattern.count, pattern[p] == UInt8(ascii: "*") {
                star = (p, n)
                p += 1
            } else if p < pattern.count,
                pattern[p] == UInt8(ascii: "?") || pattern[p] == name[n]
            {
                p += 1
                n += 1
            } else if let (pattern, name) = star {
                star = (pattern, name + 1)
                p = pattern + 1
                n = name + 1
            } else {
                return false
            }
        }
        return pattern[p...].allSatisfy { $0 == UInt8(ascii: "*") }
    }

    private static func isWild(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "*") || byte == UInt8(ascii: "?")
    }
}
