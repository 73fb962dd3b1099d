// SPDX-License-Identifier: Apache-2.0

internal import CLMDB
internal import Dispatch
internal import DivanStorage
internal import DivanSystem
internal import Synchronization

/// One database file, mapped once in this process, however many engines have it open.
///
/// LMDB must not have a file open twice in a process: its locks are the process's, and the first close
/// would drop those of the other. So engines share an environment, found by the identity of their
/// directory.
///
///      engine ─┐
///      engine ─┴─ LMDBEnvironment ─┬─ writer    ConnectionQueue ── one write transaction
///                                  ├─ readers   ReaderPool ─────── renewed read transactions
///                                  └─ MDB_env ──── main.mdb, main.mdb-lock
///
/// ## Files
///
///      main.mdb          LMDB's pages
///      main.mdb-lock     LMDB's table of readers and its mutexes; made anew by the first to open
///      main.mdb-users    empty; held shared while the file is open, exclusively to replace it
///      main.mdb-writer   empty; held by the writer, so that others can wait with a limit
///
/// ## Handles
///
/// A handle of one of LMDB's databases belongs to the process, and a transaction knows only those that
/// were open when it began. So before a transaction is used, every store of its snapshot has its handle:
/// `catalogue(in:id:)` sees to that, and a transaction begins anew when another one opened handles
/// meanwhile, which `handleEpoch` shows. Only one transaction opens handles at a time: `handleGate`.
///
/// State and its guards: `env` changes only while the readers are paused and the writer has its turn;
/// `known`, `handles` and `fileIdentity` have mutexes.
@safe
final class LMDBEnvironment: Sendable {
    /// The catalogue that the newest transactions have: valid from one transaction's number on, to the
    /// last one that has been looked at.
    private struct Known: Sendable {
        var catalogue = Catalogue()
        var from = 0
        var through = -1
    }

    let place: LMDBPlace
    let registry = StoreRegistry()
    let readers: ReaderPool<LMDBTransaction>
    let writer = ConnectionQueue(label: "divan.lmdb.writer", LMDBWriter())
    // Safe because it changes only while no thread reads or writes; see above.
    nonisolated(unsafe) var env: OpaquePointer?
    let fileIdentity = Mutex<FileIdentity?>(nil)
    private let known = Mutex(Known())
    private let handles = Mutex<[String: MDB_dbi]>([:])
    /// How often handles have been added; it changes together with them.
    private let epoch = Atomic(0)
    /// Whether a transaction did not fit since the map last grew.
    let isMapTooSmall = Atomic(false)
    /// Held by the transaction that opens handles, from the first one to its end.
    let handleGate = DispatchSemaphore(value: 1)
    /// The files that are locked, while the environment is open.
    private let locks = Mutex(Locks())

    /// See "Files".
    struct Locks: Sendable {
        var users: LockFile?
        var writer: LockFile?
    }

    init(_ place: LMDBPlace) throws {
        self.place = place
        readers = ReaderPool(limit: place.readerLimit)
        try open()
    }

    private func open() throws {
        var taken = Locks()
        if !place.isUnchanging {
            taken.users = LockFile(place.path + "-users", readOnly: place.isReadOnly)
            if !place.isReadOnly {
                taken.writer = LockFile(place.path + "-writer", readOnly: false)
                guard taken.users != nil, taken.writer != nil else {
                    throw StorageError.unlockable(place.path)
                }
            }
            if let users = taken.users, !users.lock(exclusive: false, timeout: place.busyTimeout) {
                throw StorageError(lmdb: MDB_MAP_RESIZED)
            }
        }
        unsafe env = try place.open()
        noteFile()
        let held = taken
        locks.withLock { $0 = held }
        do { if try !openCatalogue() { try makeCatalogue() } } catch {
            unsafe mdb_env_close(env)
            unsafe env = nil
            locks.withLock { $0 = Locks() }
            throw error
        }
    }

    /// Opens the file again after `close`; nothing happens when it is open.
    func reopen() throws {
        guard unsafe env == nil else { return }
        guard FileSystem.size(of: place.path) ?? 0 > 0 else {
            throw StorageError(
                .corrupted,
                "The database file in \(place.directory) is missing or has been emptied.")
        }
        try open()
    }

    /// Closes the file. The engines that used it have waited for their transactions.
    func close() {
        guard unsafe env != nil else { return }
        writer.sync { writer in
            writer.transaction?.discard()
            writer.transaction = nil
        }
        for reader in readers.removeIdle() { reader.discard() }
        // SAFETY: no transaction runs, and none begins without a handle.
        unsafe mdb_env_close(env)
        unsafe env = nil
        locks.withLock { $0 = Locks() }
    }

    /// The lock that keeps the file from being replaced while it is open.
    var usersLock: LockFile? { locks.withLock { $0.users } }

    /// The lock of the writer.
    private var writerLock: LockFile? { locks.withLock { $0.writer } }

    /// LMDB's handle, for a transaction that begins.
    var handle: OpaquePointer? { unsafe env }

    // MARK: - Stores

    /// Opens the database with the catalogue.
    ///
    /// It only reads: beginning to write waits for other processes' writers without a limit.
    ///
    /// - Returns: Whether there is one; there is none in a new file.
    func openCatalogue() throws -> Bool {
        try checkLists()
        return try openCatalogue(UInt32(MDB_RDONLY), 0)
    }

    /// Makes the database with the catalogue, in a new file.
    private func makeCatalogue() throws {
        guard !place.isReadOnly else { throw StorageError.foreign() }
        try lockWriter(timeout: place.busyTimeout)
        defer { unlockWriter() }
        _ = try openCatalogue(0, UInt32(MDB_CREATE))
    }

    private func openCatalogue(_ kind: UInt32, _ flags: UInt32) throws -> Bool {
        let transaction = unsafe try beginAlone(kind)
        var handle: MDB_dbi = 0
        // SAFETY: the transaction is ended here.
        let code = unsafe mdb_dbi_open(transaction, Catalogue.name, flags, &handle)
        guard code == MDB_SUCCESS else {
            unsafe mdb_txn_abort(transaction)
            if code == MDB_NOTFOUND { return false }
            throw StorageError(lmdb: code)
        }
        try unsafe check(mdb_txn_commit(transaction))
        let opened = handle
        handles.withLock { $0 = [Catalogue.name: opened] }
        known.withLock { $0 = Known() }
        return true
    }

    /// Begins a transaction while this process has no other one in the file.
    private func beginAlone(_ flags: UInt32) throws -> OpaquePointer? {
        while true {
            var transaction: OpaquePointer?
            // SAFETY: `transaction` is a local that the call fills in.
            let code = unsafe mdb_txn_begin(env, nil, flags, &transaction)
            guard code == MDB_MAP_RESIZED else {
                try check(code)
                return unsafe transaction
            }
            // Another process has made the file larger since it was mapped.
            // SAFETY: no transaction of this process runs.
            try unsafe check(mdb_env_set_mapsize(env, 0))
        }
    }

    /// Refuses a file whose lists of databases and stores are damaged, before LMDB follows them.
    private func checkLists() throws {
        // SAFETY: as above; beginning looks at the first pages only, which LMDB has checked.
        let transaction = unsafe try beginAlone(UInt32(MDB_RDONLY))
        defer { unsafe mdb_txn_abort(transaction) }
        let snapshot = unsafe Int(mdb_txn_id(transaction))
        guard snapshot != 0 else { return }
        // If other processes have committed meanwhile, they have read the lists.
        let problems = try PageChecker.check(
            descriptor, pageSize: pageSize, snapshot: snapshot, extent: .lists)
        if let first = problems?.first {
            throw StorageError(.corrupted, "The database file is damaged. \(first)")
        }
    }

    /// The handle of one of LMDB's databases, if it is open.
    func handle(of database: String) -> MDB_dbi? {
        handles.withLock { $0[database] }
    }

    /// The catalogue of a transaction's snapshot, whose stores then all have their handles.
    ///
    /// - Returns: `nil` when handles had to be opened: the transaction must begin anew.
    func catalogue(in transaction: OpaquePointer?, id: Int) throws -> Catalogue? {
        let fresh = known.withLock { known in
            known.from <= id && id <= known.through ? known.catalogue : nil
        }
        if let fresh {
            return fresh
        }
        let loaded = unsafe try load(in: transaction)
        guard try openHandles(of: loaded) else { return nil }
        known.withLock { known in
            guard id > known.through else { return }
            // This process has not seen the commits between; the former catalogue tells nothing of them.
            if known.catalogue != loaded || id != known.through &+ 1 {
                known.catalogue = loaded
                known.from = id
            }
            known.through = id
        }
        return loaded
    }

    /// Notes what a commit of this process has left.
    func noteCommit(_ catalogue: Catalogue, id: Int, isChanged: Bool) {
        known.withLock { known in
            if isChanged {
                known.catalogue = catalogue
                known.from = id
            }
            known.through = max(known.through, id)
        }
    }

    /// A transaction that began before this changed may not know all the handles there are.
    var handleEpoch: Int { epoch.load(ordering: .acquiring) }

    /// Adds the handles that a commit has made valid.
    func add(_ made: [String: MDB_dbi]) {
        guard !made.isEmpty else { return }
        handles.withLock { handles in
            handles.merge(made) { _, new in new }
            epoch.wrappingAdd(1, ordering: .acquiringAndReleasing)
        }
    }

    /// Reads the catalogue of a transaction's snapshot from the file.
    func load(in transaction: OpaquePointer?) throws -> Catalogue {
        var catalogue = Catalogue()
        guard let database = handle(of: Catalogue.name) else {
            throw StorageError.closed()
        }
        var cursor: OpaquePointer?
        // SAFETY: the transaction runs; the cursor is closed before it can end. What LMDB lends is
        // copied before the cursor moves.
        try unsafe check(mdb_cursor_open(transaction, database, &cursor))
        defer { unsafe mdb_cursor_close(cursor) }
        var key = unsafe MDB_val()
        var value = unsafe MDB_val()
        var code = unsafe mdb_cursor_get(cursor, &key, &value, MDB_FIRST)
        while code == MDB_SUCCESS {
            let (name, entry) = (unsafe key.bytes, unsafe value.bytes)
            try unsafe catalogue.add(Span(_unsafeBytes: name), Span(_unsafeBytes: entry))
            code = unsafe mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
        }
        if code != MDB_NOTFOUND {
            throw StorageError(lmdb: code)
        }
        return catalogue
    }

    /// Opens the handles that are missing; returns whether none was.
    ///
    /// Where another process has made the file larger in this moment, none is opened: the transaction that
    /// begins anew finds that out, too, and has the map adopted.
    private func openHandles(of catalogue: Catalogue) throws -> Bool {
        let databases = catalogue.databases
        func missing() -> [String] {
            handles.withLock { handles in databases.filter { handles[$0] == nil } }
        }
        if missing().isEmpty {
            return true
        }
        handleGate.wait()
        defer { handleGate.signal() }
        var made: [String: MDB_dbi] = [:]
        var transaction: OpaquePointer?
        // SAFETY: `transaction` is a local that the call fills in; it is ended here.
        let code = unsafe mdb_txn_begin(env, nil, UInt32(MDB_RDONLY), &transaction)
        guard code != MDB_MAP_RESIZED else { return false }
        try check(code)
        for database in missing() {
            var handle: MDB_dbi = 0
            let code = unsafe mdb_dbi_open(transaction, database, 0, &handle)
            // No writer removes a database that the snapshot has; it may be damaged, though.
            guard code == MDB_SUCCESS else {
                unsafe mdb_txn_abort(transaction)
                throw StorageError(lmdb: code)
            }
            made[database] = handle
        }
        try unsafe check(mdb_txn_commit(transaction))
        add(made)
        return false
    }

    // MARK: - Writing

    /// Waits for other processes' writers.
    func lockWriter(timeout: Duration) throws {
        if let writerLock, !writerLock.lock(exclusive: true, timeout: timeout) {
            throw StorageError(
                .busy, "Another process has been writing for longer than the busy timeout.")
        }
    }

    /// Lets other processes write.
    func unlockWriter() { writerLock?.unlock() }

    /// Makes every commit so far survive a power loss.
    func sync() throws {
        // SAFETY: the environment is open.
        try unsafe check(mdb_env_sync(env, 1))
    }
}

extension MDB_val {
    /// The bytes that LMDB lends.
    var bytes: UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(start: mv_data, count: mv_size)
    }

    /// Bytes to be lent to LMDB.
    init(_ bytes: UnsafeRawBufferPointer) {
        unsafe self.init(
            mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    }
}
