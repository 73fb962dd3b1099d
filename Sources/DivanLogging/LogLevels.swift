// SPDX-License-Identifier: Apache-2.0

/// A level for every domain.
///
/// ```swift
/// var levels = LogLevels(.warning)
/// levels[.expiration] = .debug
/// ```
///
/// Four bits a domain in one word, so that the levels of all of them are read and replaced at once:
///
///     bit     63                            8 7     4 3     0
///             │  …                           │ storage│database│
public struct LogLevels: Sendable, Hashable {
    private(set) var word: UInt64

    init(word: UInt64) { self.word = word }

    /// The same level for every domain.
    public init(_ level: LogLevel) {
        // A digit of each of the sixteen places, so domains to come have it too.
        word = 0x1111_1111_1111_1111 * UInt64(level.rawValue)
    }

    /// The level of a domain.
    public subscript(domain: LogDomain) -> LogLevel {
        get {
            LogLevel(rawValue: UInt8(truncatingIfNeeded: word >> Self.shift(domain) & 15)) ?? .none
        }
        set {
            let shift = Self.shift(domain)
            word = word & ~(15 << shift) | UInt64(newValue.rawValue) << shift
        }
    }

    /// For each domain the more talkative of two levels.
    func union(_ other: LogLevels) -> LogLevels {
        var both = self
        for domain in LogDomain.allCases { both[domain] = min(self[domain], other[domain]) }
        return both
    }

    private static func shift(_ domain: LogDomain) -> UInt64 { UInt64(domain.rawValue) * 4 }
}

extension LogLevels {
    /// Reads levels as a command line gives them: `info`, or `expiration=debug`, joined by commas.
    ///
    /// Later ones override earlier ones; a level without a domain is for all of them. A word that is no
    /// level and no domain gives nil.
    ///
    /// - Parameters:
    ///   - text: The words.
    ///   - base: The levels of the domains that are not named.
    public init?(parsing text: String, over base: LogLevels = LogLevels(.warning)) {
        var levels = base
        for word in text.split(separator: ",", omittingEmptySubsequences: false) {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = parts.last, let level = LogLevel(named: name) else { return nil }
            if parts.count == 1 {
                levels = LogLevels(level)
            } else if let domain = LogDomain(named: parts[0]) {
                levels[domain] = level
            } else {
                return nil
            }
        }
        self = levels
    }
}
