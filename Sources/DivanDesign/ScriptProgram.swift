// SPDX-License-Identifier: Apache-2.0

/// The scripts that a worker runs, and how a worker learns them.
///
/// Workers are kept by it: one that has learned the same scripts for the same database is used again, and no other.
package struct ScriptProgram: Sendable, Hashable {
    /// What tells it from others: the database, the design document and its revision.
    package let key: String
    /// The commands that a new worker is given first, each JSON in one line, such as `["ddoc","new","_design/a",{…}]`.
    package let commands: [[UInt8]]
    /// Whether other work waits for it, as all writers do for a validation: it then needs not wait for other programs.
    package let isUrgent: Bool
    /// Whether its process ends after one use, as one does that is only to compile.
    package let endsAfterUse: Bool

    /// Makes a program.
    package init(
        key: String, commands: [[UInt8]], isUrgent: Bool = false, endsAfterUse: Bool = false
    ) {
        self.key = key
        self.commands = commands
        self.isUrgent = isUrgent
        self.endsAfterUse = endsAfterUse
    }

    /// Whether both have the same key; what belongs to a key does not change.
    package static func == (left: ScriptProgram, right: ScriptProgram) -> Bool {
        left.key.utf8.elementsEqual(right.key.utf8)
    }

    /// Hashes the key.
    package func hash(into hasher: inout Hasher) {
        for byte in key.utf8 { hasher.combine(byte) }
    }
}
