// SPDX-License-Identifier: Apache-2.0

internal import CSQLite
internal import DivanStorage

extension Connection {
    /// The pages copied between two calls of the progress handler, which may stop the copy.
    private static let copyStep: Int32 = 1_000

    /// Copies the snapshot of this connection's transaction over the database of another one.
    ///
    /// The caller holds a read transaction, so every step sees the same snapshot, however much is
    /// written meanwhile.
    func copy(to target: Connection, progress: StorageProgressHandler?) throws {
        try unsafe withHandle { source in
            try unsafe target.withHandle { destination in
                // SAFETY: both handles are valid during the calls; the backup is finished below on
                // every path, and used by this thread alone.
                guard
                    let backup = unsafe sqlite3_backup_init(destination, "main", source, "main")
                else {
                    throw StorageError(target.lastError())
                }
                var code = SQLITE_OK
                do {
                    repeat {
                        code = unsafe sqlite3_backup_step(backup, Connection.copyStep)
                        let total = unsafe Int(sqlite3_backup_pagecount(backup))
                        let left = unsafe Int(sqlite3_backup_remaining(backup))
                        try progress?(StorageProgress(completed: total - left, total: total))
                    } while code == SQLITE_OK
                } catch {
                    unsafe sqlite3_backup_finish(backup)
                    throw error
                }
                let result = unsafe sqlite3_backup_finish(backup)
                if code != SQLITE_DONE || result != SQLITE_OK {
                    let failed = code == SQLITE_DONE ? result : code
                    throw StorageError(
                        SQLiteError(extendedCode: failed, message: "the copy failed"))
                }
            }
        }
    }
}
