// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanSystem

/// What wrong passwords lead to: what the limits of a listener say, and the section `chttpd_auth_lockout` of its
/// configuration.
struct PasswordLockout: Sendable {
    /// What is done about wrong passwords, in CouchDB's words.
    enum Mode: String, Sendable, CaseIterable {
        /// Nothing: they are not counted.
        case off
        /// The log tells of them.
        case warn
        /// They lock out, and so they do unless the key says otherwise.
        case enforce
    }

    var mode = Mode.enforce
    /// How many in a row for a name count as too many.
    var attempts: Int
    /// How long after the last one they count.
    var duration: Duration

    /// What the limits say.
    init(_ limits: ListenerLimits) {
        attempts = limits.passwordAttempts
        duration = limits.passwordLockout.bounded
    }

    /// What the limits say where the configuration says nothing.
    init(_ table: ConfigurationTable, _ limits: ListenerLimits) {
        self.init(limits)
        let section = [Self.section]
        mode = table.text("mode", in: section).flatMap(Mode.init) ?? mode
        attempts = table.count("threshold", in: section) ?? attempts
        if let milliseconds = table.count("max_lifetime", in: section) {
            duration = .milliseconds(milliseconds)
        }
    }

    /// The section of the configuration.
    static let section = "chttpd_auth_lockout"

    /// How many for any names lock out all names from a network.
    var attemptsOfNetwork: Int { attempts > .max / 10 ? .max : attempts * 10 }
}
