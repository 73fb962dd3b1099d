// SPDX-License-Identifier: Apache-2.0

internal import CLMDB
internal import DivanStorage
internal import DivanSystem

/// Where an environment's file lies, and how it is opened.
///
/// Every commit writes its pages, forces them to the disk, and then writes the page that makes them
/// count, which the next commit forces to the disk with its own (`MDB_NOMETASYNC`). So a power loss
/// drops the newest commit at most and never corrupts. Not forcing the pages either would be faster and
/// could corrupt, since pages reach the disk in any order; so there is no such setting.
struct LMDBPlace: Sendable {
    /// The name of the file in its directory.
    static let fileName = "main.mdb"
    /// The address space reserved at first. It takes no memory and no disk, and what is reserved need
    /// not be mapped anew while readers look at it.
    static let firstMapSize = 16 << 30
    /// The most stores, counting twice those with long keys.
    static let storeLimit: UInt32 = 8_192
    /// The places in the table of readers, over all processes.
    private static let readerPlaces: UInt32 = 1_000
    /// The bytes that LMDB makes the table of readers of, and of its mutexes: a line of the processor's cache for each reader,
    /// and two before them. Where it makes it of more, those get their room when they are first written, as before.
    private static let lockFileSize = 64 * (Int(readerPlaces) + 2)

    let directory: String
    let isReadOnly: Bool
    /// Whether no process writes: then no lock is needed and no file made.
    let isUnchanging: Bool
    let busyTimeout: Duration
    let readerLimit: Int
    /// The address space reserved at first, which tests make small.
    let firstMapSize: Int

    /// The path of the file.
    var path: String { directory + "/" + LMDBPlace.fileName }

    /// Finds out how a directory can be opened, creating it when that is asked for.
    init(_ directory: String, _ options: StorageOptions, firstMapSize: Int = LMDBPlace.firstMapSize)
        throws
    {
        guard options.encryptionKey == nil else {
            throw StorageError(
                .unsupported,
                "The engine LMDB does not encrypt; open the database without a key, or keep it by SQLite."
            )
        }
        let path = directory + "/" + LMDBPlace.fileName
        let size = FileSystem.size(of: path)
        if size == nil, FileSystem.isUncertain(path) {
            throw StorageError(.readOnly, "The permissions do not allow to look at \(path).")
        }
        if !options.createsIfMissing, size ?? 0 == 0 {
            throw StorageError(
                .corrupted, "The database file in \(directory) is missing or has been emptied.")
        }
        if size ?? 0 == 0 {
            guard !options.isReadOnly else {
                throw StorageError(.notFound, "There is no database in \(directory).")
            }
            try FileSystem.createDirectories(directory)
        }
        self.directory = directory
        isReadOnly = options.isReadOnly
        isUnchanging =
            options.isReadOnly && (options.isUnchanging || (Volume(of: path)?.isReadOnly ?? false))
        busyTimeout = options.busyTimeout
        readerLimit = options.readerLimit
        self.firstMapSize = firstMapSize
    }

    /// Opens the file, making it when it is not there.
    func open() throws -> OpaquePointer? {
        try checkHeader()
        var size = firstMapSize
        while true {
            do {
                // A file of nothing but holes may say that it is as long as a number can tell.
                let length = min(FileSystem.size(of: path) ?? 0, .max / 4)
                return try unsafe open(mapSize: max(size, 4 * length))
            } catch let error as StorageError {
                // Where address space is limited, less of it is enough for most databases.
                let cause = error.underlying as? LMDBError
                guard cause?.code == divanNoMemory, size > 64 << 20 else { throw error }
                size /= 4
            }
        }
    }

    private func open(mapSize: Int) throws -> OpaquePointer? {
        if !isUnchanging { try FileSystem.reserve(path + "-lock", Self.lockFileSize) }
        var env: OpaquePointer?
        // SAFETY: `env` is a local that the first call fills in; it is closed here on every failure.
        try unsafe check(mdb_env_create(&env))
        unsafe mdb_env_set_maxdbs(env, LMDBPlace.storeLimit)
        unsafe mdb_env_set_maxreaders(env, LMDBPlace.readerPlaces)
        var code = unsafe mdb_env_set_mapsize(env, mapSize)
        if code == MDB_SUCCESS {
            var flags = MDB_NOSUBDIR | MDB_NOTLS | MDB_NOMETASYNC | MDB_NORDAHEAD
            if isReadOnly { flags |= MDB_RDONLY }
            if isUnchanging { flags |= MDB_NOLOCK }
            code = unsafe mdb_env_open(env, path, UInt32(flags), 0o644)
        }
        guard code == MDB_SUCCESS else {
            unsafe mdb_env_close(env)
            throw unreadable(StorageError(lmdb: code))
        }
        do {
            try unsafe checkLength(env)
            var dead: Int32 = 0
            unsafe _ = mdb_reader_check(env, &dead)
        } catch {
            unsafe mdb_env_close(env)
            throw error
        }
        return unsafe env
    }

    /// The bytes of the file that pages are in use or were.
    func usedSize(of env: OpaquePointer?) -> Int {
        var info = unsafe MDB_envinfo()
        // SAFETY: the environment is open; the structure is filled in during the call.
        unsafe mdb_env_info(env, &info)
        return unsafe (info.me_last_pgno + 1) * pageSize(of: env)
    }

    /// Refuses a file that is shorter than what its newest snapshot refers to: looking at what is missing
    /// would not give an error but stop the process.
    ///
    /// Pages that a transaction takes from the end and gives up again are never written, so a file may
    /// be shorter than the number of its last page says. It is sound when every page that is in use is
    /// there.
    func checkLength(_ env: OpaquePointer?) throws {
        let used = unsafe usedSize(of: env)
        let size = try unsafe size(of: env)
        guard size < used, try unsafe !isWhole(env) else { return }
        throw StorageError.truncated(size, expected: used)
    }

    /// Makes a sound file as long as it says, so that it need not be looked through again.
    ///
    /// Only for the process that has the writers' lock: between the look at the length and the change another
    /// one would make the file longer, and lose what it has committed there.
    func keepLength(_ env: OpaquePointer?) throws {
        let used = unsafe usedSize(of: env)
        guard try unsafe size(of: env) < used else { return }
        do {
            try Descriptors.setLength(unsafe descriptor(of: env), used, path: path)
        } catch { throw StorageError(error) }
    }

    /// The bytes of the file that is mapped, which may have been moved since.
    private func size(of env: OpaquePointer?) throws -> Int {
        do { return try FileStatus(of: unsafe descriptor(of: env), path: path).length } catch {
            throw StorageError(error)
        }
    }

    /// Whether every page that the newest snapshot uses is there.
    private func isWhole(_ env: OpaquePointer?) throws -> Bool {
        while true {
            var transaction: OpaquePointer?
            // SAFETY: the environment is open; the transaction is ended here. Beginning looks at the first
            // pages only.
            try unsafe DivanLMDB.check(mdb_txn_begin(env, nil, UInt32(MDB_RDONLY), &transaction))
            defer { unsafe mdb_txn_abort(transaction) }
            let snapshot = unsafe Int(mdb_txn_id(transaction))
            if snapshot == 0 { return true }
            let problems = try unsafe PageChecker.check(
                descriptor(of: env), pageSize: pageSize(of: env), snapshot: snapshot)
            if let problems { return problems.isEmpty }
        }
    }

    /// The bytes of a page.
    func pageSize(of env: OpaquePointer?) -> Int {
        var stat = MDB_stat()
        // SAFETY: the environment is open; the structure is filled in during the call.
        unsafe mdb_env_stat(env, &stat)
        return Int(stat.ms_psize)
    }

    /// The file, as LMDB reads and writes it, wherever it has been moved since.
    func descriptor(of env: OpaquePointer?) -> Int32 {
        var descriptor: Int32 = -1
        // SAFETY: the environment is open; `descriptor` is a local that the call fills in.
        unsafe _ = mdb_env_get_fd(env, &descriptor)
        return descriptor
    }

    /// Refuses a file that is shorter than the two pages every one begins with, or whose two first pages
    /// are not as LMDB makes them, before it is mapped.
    private func checkHeader() throws {
        guard let size = FileSystem.size(of: path), size > 0 else { return }
        guard size >= 8_192 else { throw StorageError.truncated(size, expected: 8_192) }
        let isSound: Bool
        do { isSound = try PageChecker.beginsSoundly(path) } catch { throw unreadable(error) }
        guard isSound else { throw StorageError(lmdb: MDB_INVALID) }
    }

    /// A read-only opening that failed for want of permission.
    private func unreadable(_ error: any Error) -> any Error {
        guard let error = error as? StorageError, isReadOnly, error.code == .readOnly else {
            return error
        }
        return StorageError(
            .io,
            "Reading the database needs permission to read its file in \(directory) and, unless the "
                + "file system is read-only, to write the table of readers beside it.",
            underlying: error.underlying)
    }
}
