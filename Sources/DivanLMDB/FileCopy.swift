// SPDX-License-Identifier: Apache-2.0

internal import CLMDB
internal import DivanStorage

/// A new file with every row of one snapshot, in order, so that its pages are full and none is unused.
///
/// Rows are copied as they are stored, checksums included. The new file is not in use yet, so it is
/// forced to the disk once, at the end.
struct FileCopy {
    /// The rows in one transaction of the new file.
    private static let step = 20_000

    /// The transaction whose snapshot is copied.
    let source: LMDBTransaction
    let progress: StorageProgressHandler?

    /// Makes the file.
    ///
    /// - Throws: what `progress` throws; `StorageError`. What was written is left to the caller.
    func write(to path: String) throws {
        do { try fill(path) } catch let error as StorageError { throw error.explained(at: path) }
    }

    private func fill(_ path: String) throws {
        var env: OpaquePointer?
        // SAFETY: `env` is a local that the first call fills in, and is closed on every way out.
        try unsafe check(mdb_env_create(&env))
        defer { unsafe mdb_env_close(env) }
        unsafe mdb_env_set_maxdbs(env, LMDBPlace.storeLimit)
        try unsafe check(mdb_env_set_mapsize(env, source.environment.mapSize))
        // No other thread or process knows the file, so it needs no locks and no table of readers.
        let flags = MDB_NOSUBDIR | MDB_NOTLS | MDB_NOSYNC | MDB_NOLOCK
        try unsafe check(mdb_env_open(env, path, UInt32(flags), 0o644))
        let databases = [Catalogue.name] + source.catalogue.databases
        var sources: [MDB_dbi] = []
        var total = 0
        for database in databases {
            guard let handle = source.environment.handle(of: database) else {
                throw StorageError(lmdb: MDB_BAD_DBI)
            }
            sources.append(handle)
            total += try source.entries(of: handle)
        }
        var done = 0
        for (database, handle) in zip(databases, sources) {
            try unsafe copy(handle, to: database, of: env, &done, total)
        }
        try unsafe check(mdb_env_sync(env, 1))
    }

    private func copy(
        _ handle: MDB_dbi, to database: String, of env: OpaquePointer?, _ done: inout Int,
        _ total: Int
    ) throws {
        let cursor = try unsafe source.openCursor(in: handle)
        // SAFETY: the cursor is of a read transaction, which is kept until this ends.
        defer { unsafe mdb_cursor_close(cursor) }
        var key = unsafe MDB_val()
        var value = unsafe MDB_val()
        var code = unsafe mdb_cursor_get(cursor, &key, &value, MDB_FIRST)
        repeat {
            var transaction: OpaquePointer?
            // SAFETY: as for the environment; a transaction is ended on every way out.
            try unsafe check(mdb_txn_begin(env, nil, 0, &transaction))
            var target: MDB_dbi = 0
            var failure = unsafe mdb_dbi_open(transaction, database, UInt32(MDB_CREATE), &target)
            var rows = 0
            while failure == MDB_SUCCESS, code == MDB_SUCCESS, rows < FileCopy.step {
                failure = unsafe mdb_put(transaction, target, &key, &value, UInt32(MDB_APPEND))
                rows += 1
                code = unsafe mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
            }
            guard failure == MDB_SUCCESS else {
                unsafe mdb_txn_abort(transaction)
                // A key that is not above the one before it: the source is out of order.
                throw StorageError(lmdb: failure == MDB_KEYEXIST ? MDB_CORRUPTED : failure)
            }
            try unsafe check(mdb_txn_commit(transaction))
            done += rows
            try progress?(StorageProgress(completed: done, total: max(total, done)))
        } while code == MDB_SUCCESS
        if code != MDB_NOTFOUND {
            throw StorageError(lmdb: code)
        }
    }
}
