// SPDX-License-Identifier: Apache-2.0

/// The part of Divan that an entry comes from. Each has its own level.
///
/// At most 16 fit, because the levels of all of them are kept in one machine word.
@nonexhaustive
public enum LogDomain: UInt8, Sendable, CaseIterable {
    /// Databases opened, closed and deleted, transactions, waits, other processes' commits.
    case database
    /// Damaged bytes met while reading.
    case storage
    /// Attachments added, removed and swept.
    case attachments
    /// Change notifications.
    case changes
    /// Documents whose time has come.
    case expiration
    /// Compaction, verification, salvage, backup, import.
    case maintenance
    /// Validation functions and filters of the app.
    case validation
    /// The listener: what it serves, whom it refuses, what failed.
    case listener
    /// Scripts of design documents: what they log, at level `debug`.
    case scripts
    /// Replications: their runs, checkpoints and errors.
    case replication

    /// The domain's name, as it is written in a log line: `database`.
    public var name: String { "\(self)" }

    /// The domain of a name, in any case; nil when there is none.
    public init?(named name: some StringProtocol) {
        let wanted = name.lowercased()
        guard let domain = Self.allCases.first(where: { $0.name == wanted }) else { return nil }
        self = domain
    }
}
