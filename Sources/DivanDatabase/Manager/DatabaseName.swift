// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// The rules for database names, and how a name becomes a directory.
///
/// A name has 1 to 239 bytes: a lower-case ASCII letter, then letters, digits and `_$()+-/` (CouchDB's rule); also the
/// three names under which a listener keeps its own data. A slash, which no file name can hold, is written as a colon on
/// disk; since no name contains a colon, the mapping can be undone exactly.
enum DatabaseName {
    static let suffix = ".divan"
    /// The databases of a listener: its users, replications that it runs, and one that scripts make.
    static let systemNames: NameSet = ["_users", "_replicator", "_global_changes"]
    private static let punctuation = Set("_$()+-/".utf8)

    /// Whether `name` follows the rules.
    static func isValid(_ name: String) -> Bool {
        if systemNames.contains(name) { return true }
        let bytes = name.utf8
        guard let first = bytes.first, bytes.count < 240, isLetter(first) else { return false }
        return bytes.allSatisfy { isLetter($0) || isDigit($0) || punctuation.contains($0) }
    }

    /// The name of the directory for a database.
    static func directoryName(for name: String) -> String {
        String(name.map { $0 == "/" ? ":" : $0 }) + suffix
    }

    /// The database a directory belongs to, or nil when it is none of ours.
    static func name(ofDirectory directory: String) -> String? {
        guard let stem = directory.beforeByteSuffix(suffix) else { return nil }
        let name = String(stem.map { $0 == ":" ? "/" : $0 })
        return isValid(name) ? name : nil
    }

    private static func isLetter(_ byte: UInt8) -> Bool { byte >= 0x61 && byte <= 0x7A }
    private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }
}
