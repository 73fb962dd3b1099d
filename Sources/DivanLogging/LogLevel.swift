// SPDX-License-Identifier: Apache-2.0

/// How much a log entry matters, and from which level on entries are written.
///
/// As the level of an entry it says what the entry is; as the level of a domain, that entries of this
/// level and above are written.
public enum LogLevel: UInt8, Sendable, CaseIterable, Comparable {
    /// Everything, for developers of Divan. The only level at which document content may appear.
    case debug
    /// Each step of the work.
    case verbose
    /// What an administrator would like to know: opened, closed, compacted.
    case info
    /// Something is odd and the work goes on.
    case warning
    /// Something failed, or data is damaged.
    case error
    /// As a level of a domain: nothing is written. No entry has it.
    case none

    /// The level's name, as it is written in a log line: `warning`.
    public var name: String { "\(self)" }

    /// The level of a name, in any case; nil when there is none.
    public init?(named name: some StringProtocol) {
        let wanted = name.lowercased()
        guard let level = Self.allCases.first(where: { $0.name == wanted }) else { return nil }
        self = level
    }

    /// From the most talkative to the quietest.
    public static func < (one: LogLevel, other: LogLevel) -> Bool { one.rawValue < other.rawValue }
}
