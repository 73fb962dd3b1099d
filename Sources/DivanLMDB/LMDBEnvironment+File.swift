// SPDX-License-Identifier: Apache-2.0

internal import CLMDB
internal import DivanStorage
internal import DivanSystem
internal import Synchronization

// The file as a whole: its map, its length, and its exchange for another one.

extension LMDBEnvironment {
    /// The bytes of the file that pages are in use or were.
    var usedSize: Int { unsafe place.usedSize(of: env) }

    /// The bytes of a page.
    var pageSize: Int { unsafe place.pageSize(of: env) }

    /// The file, as LMDB reads and writes it, wherever it has been moved since.
    var descriptor: Int32 { unsafe place.descriptor(of: env) }

    /// The number of the newest commit, of this or another process.
    var newestCommit: Int {
        var info = unsafe MDB_envinfo()
        // SAFETY: as above.
        unsafe mdb_env_info(env, &info)
        return unsafe info.me_last_txnid
    }

    /// The bytes of address space reserved for the file.
    var mapSize: Int {
        var info = unsafe MDB_envinfo()
        // SAFETY: as above.
        unsafe mdb_env_info(env, &info)
        return unsafe info.me_mapsize
    }

    /// Reserves more address space when half of it is used, and much more when a transaction did not fit, so
    /// that it need not be tried many times. Called by the writer before it begins.
    ///
    /// To map anew, no reader of this process may look at the map. This waits only briefly for a reader
    /// that stays: as much space again is still free, and the next writer tries again. Where address space is
    /// limited, the map stays as it is when no larger one has room, for LMDB does not survive a failure here.
    func growMap() throws {
        let (used, size) = (usedSize, mapSize)
        let isTooSmall = isMapTooSmall.load(ordering: .relaxed)
        guard used > size / 2 || isTooSmall else { return }
        let wanted = [isTooSmall ? size * 8 : size * 2, size * 2].map { max($0, used * 4) }
        guard let larger = wanted.first(where: FileSystem.hasAddressSpace) else { return }
        let isUrgent = isTooSmall || used > size - size / 8
        guard readers.pause(patience: .milliseconds(isUrgent ? 2_000 : 20)) else { return }
        defer { readers.resume() }
        // SAFETY: no transaction of this process runs.
        try unsafe check(mdb_env_set_mapsize(env, larger))
        isMapTooSmall.store(false, ordering: .relaxed)
    }

    /// Takes over the larger map that another process has made.
    ///
    /// - Throws: `.busy` when this thread or another one keeps reading the old map.
    func adoptMap() throws {
        let deadline = ContinuousClock.now + place.busyTimeout.bounded
        while usedSize > mapSize {
            if readers.pause(patience: .milliseconds(100)) {
                defer { readers.resume() }
                // SAFETY: no transaction of this process runs.
                return try unsafe check(mdb_env_set_mapsize(env, 0))
            }
            guard ContinuousClock.now < deadline else {
                throw StorageError(lmdb: MDB_MAP_RESIZED)
            }
        }
    }

    /// Clears the places of readers whose processes have died, which keep old pages from being used.
    func clearStaleReaders() {
        var dead: Int32 = 0
        // SAFETY: the environment is open; `dead` is a local.
        unsafe _ = mdb_reader_check(env, &dead)
    }

    /// Notes which file was opened.
    func noteFile() {
        let identity = Files.identity(of: place.path)
        fileIdentity.withLock { $0 = identity }
    }

    /// Whether the file that was opened is the one at its path.
    private var isInPlace: Bool {
        let found = Files.identity(of: place.path)
        return found != nil && fileIdentity.withLock { $0 == found }
    }

    /// Refuses to write into a file that was moved or deleted, or that is shorter than what its newest snapshot
    /// refers to. Called with the writers' lock.
    func checkPlace() throws {
        guard isInPlace else {
            throw StorageError(.io, "The database file was moved or deleted while it was open.")
        }
        try unsafe place.checkLength(env)
        try keepLength()
    }

    /// Makes the file as long as it says, also after a commit that gave up pages at its end. Called with the
    /// writers' lock.
    func keepLength() throws { try unsafe place.keepLength(env) }

    // MARK: - Replacing the file

    /// Puts another file in the place of this one, if no other engine has it open. Runs on the writer.
    ///
    /// - Parameter make: Makes the other file at a path.
    /// - Returns: Whether it was done.
    /// - Throws: what `make` throws; `StorageError`. The file is then as it was.
    func replaceFile(_ make: (String) throws -> Void) throws -> Bool {
        guard let usersLock, !readers.isUsedByCurrentThread else { return false }
        // Only the writer tries this, so the shared lock can be taken again.
        guard usersLock.lock(exclusive: true, timeout: .zero) else {
            _ = usersLock.lock(exclusive: false, timeout: place.busyTimeout)
            return false
        }
        defer { _ = usersLock.lock(exclusive: false, timeout: place.busyTimeout) }
        let target = place.path + "-new"
        Files.removeFile(target)
        do {
            try make(target)
            try FileSystem.sync(target)
        } catch {
            Files.removeFile(target)
            throw error
        }
        guard readers.pause(patience: .seconds(2)) else {
            Files.removeFile(target)
            return false
        }
        defer { readers.resume() }
        for reader in readers.removeIdle() { reader.discard() }
        // SAFETY: no transaction of this process runs, and no other process has the file open.
        unsafe mdb_env_close(env)
        let renaming = Result { () throws -> Void in try FileSystem.rename(target, to: place.path) }
        unsafe env = nil
        unsafe env = try place.open()
        noteFile()
        guard try openCatalogue() else { throw StorageError.foreign() }
        try renaming.get()
        try FileSystem.sync(place.directory)
        return true
    }
}
