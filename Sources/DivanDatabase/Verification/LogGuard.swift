// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

/// Ends long work in one snapshot before the log that it holds up gets long.
///
/// While a snapshot lives, what other threads and processes commit stays in the engine's log.
/// Feeds, exports and the indexer renew their snapshots; `verify`, `salvage` and `inspect` compare
/// rows of several stores with each other, which only works for rows of one moment.
/// docs/decisions/0007 has the reasons.
///
/// ```swift
/// let log = LogGuard(core)
/// try core.read { snapshot in … try log.check() … }
/// ```
package struct LogGuard {
    /// What other threads and processes may always write meanwhile.
    private static let leastAllowance = 64 << 20

    private let core: DatabaseCore
    private let limit: Int

    /// Begins to watch: what is on disk may grow by half its size, or by 64 MB if that is more.
    package init(_ core: DatabaseCore) {
        self.core = core
        let size = Self.size(core)
        limit = size + max(Self.leastAllowance, size / 2)
    }

    /// Looks at the size of the files; costs two system calls.
    ///
    /// - Throws: `DatabaseError` with code `.databaseBusy` when other threads or processes have
    ///   written too much.
    package func check() throws {
        guard Self.size(core) <= limit else { throw DatabaseError.writtenTooFast(core.name) }
    }

    /// The bytes on disk; 0 when the files are gone, which the engine reports elsewhere.
    private static func size(_ core: DatabaseCore) -> Int { (try? core.engine.diskSize()) ?? 0 }
}
