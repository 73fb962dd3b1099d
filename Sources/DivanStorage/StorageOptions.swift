// SPDX-License-Identifier: Apache-2.0

/// How an engine opens and what it may use.
public struct StorageOptions: Sendable {
    /// How far a commit goes before it is acknowledged.
    public enum Durability: Sendable {
        /// A commit survives the death of the process. A power loss may drop the newest commits,
        /// always a suffix of them, and never corrupts.
        case normal
        /// A commit survives a power loss.
        case full
    }

    /// Whether only reading is allowed. Nothing is then created or changed.
    public var isReadOnly = false
    /// Whether the caller makes sure that no process writes while the engine is open. A read-only
    /// engine then leaves no trace in its directory, where it can.
    public var isUnchanging = false
    /// Whether as much as can be read is wanted of a file that is known to be damaged: one that is shorter than it says
    /// is opened all the same. Only where nothing is written.
    public var isDamaged = false
    /// Whether a missing directory and file are created.
    public var createsIfMissing = true
    /// How far a commit goes before it is acknowledged.
    public var durability = Durability.normal
    /// The bytes of page cache of the writer.
    public var writerCacheSize = 8 << 20
    /// The bytes of page cache of each reader.
    public var readerCacheSize = 2 << 20
    /// The bytes of file mapped into memory for reading; 0 for none. Ignored where an engine cannot.
    public var mappedSize = 1 << 30
    /// The most read transactions that run at the same time; more of them wait their turn.
    public var readerLimit = 16
    /// How long a write waits for another process's writer before it fails with `.busy`.
    public var busyTimeout = Duration.seconds(30)
    /// The key that all of the engine's files are sealed with; nil for files that are not.
    ///
    /// What lies in a file is not what is read then, so an engine may keep pages open in the place of
    /// mapping them. Copies are sealed with the same key.
    public var encryptionKey: (any StorageKey)?

    /// Makes the default options.
    public init() {}
}
