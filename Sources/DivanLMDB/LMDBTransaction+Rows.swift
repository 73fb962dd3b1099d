// SPDX-License-Identifier: Apache-2.0

internal import CLMDB
internal import CLibrary
internal import DivanStorage

// Single rows of LMDB's databases, by stored keys.

extension LMDBTransaction {
    /// Looks up a stored key; what is lent must not be used after the next change.
    @inline(__always)
    func find(
        _ key: UnsafeRawBufferPointer, in database: MDB_dbi
    ) throws -> UnsafeRawBufferPointer? {
        try checkInterruption()
        var key = unsafe MDB_val(key)
        var value = unsafe MDB_val()
        // SAFETY: the transaction runs; LMDB reads the key during the call.
        let code = unsafe mdb_get(current, database, &key, &value)
        if code == MDB_SUCCESS {
            return unsafe value.bytes
        }
        if code == MDB_NOTFOUND {
            return nil
        }
        throw StorageError(lmdb: code)
    }

    /// Puts a value and its checksum under a stored key.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - key: The stored key.
    ///   - keyed: The checksum of store and key, which the value's continues.
    ///   - database: Where to.
    ///   - replaces: Whether an older value goes.
    /// - Returns: `false` when there is an older value, which stays.
    /// - Throws: `StorageError`.
    @inline(__always)
    func put(
        _ value: Span<UInt8>, _ key: UnsafeRawBufferPointer, keyed: UInt32, in database: MDB_dbi,
        replaces: Bool
    ) throws -> Bool {
        let size = value.count + ValueChecksum.size
        guard size < 1 << 30 else { throw StorageError(lmdb: MDB_BAD_VALSIZE) }
        var flags = UInt32(MDB_RESERVE)
        if !replaces {
            flags |= UInt32(MDB_NOOVERWRITE)
        }
        let isAtEnd = try unsafe isBeyondEnd(key, of: database)
        if isAtEnd {
            flags |= UInt32(MDB_APPEND)
        }
        var stored = unsafe MDB_val(key)
        var room = unsafe MDB_val(mv_size: size, mv_data: nil)
        // SAFETY: LMDB reads the key during the call, and gives room for `size` bytes, which are written
        // before anything else changes.
        let code = unsafe mdb_put(current, database, &stored, &room, flags)
        if code == MDB_KEYEXIST, !replaces, !isAtEnd {
            return false
        }
        try check(code)
        guard let target = unsafe room.mv_data else { throw StorageError(lmdb: MDB_CORRUPTED) }
        let sum = ValueChecksum.continued(keyed, over: value)
        unsafe value.withUnsafeBufferPointer { source in
            if let start = source.baseAddress {
                unsafe target.copyMemory(from: start, byteCount: source.count)
            }
            unsafe target.storeBytes(
                of: sum.littleEndian, toByteOffset: source.count, as: UInt32.self)
        }
        return true
    }

    /// Takes a row away; returns whether there was one.
    func delete(
        _ key: UnsafeRawBufferPointer, in database: MDB_dbi
    ) throws -> Bool {
        var stored = unsafe MDB_val(key)
        // SAFETY: the transaction runs; LMDB reads the key during the call.
        let code = unsafe mdb_del(current, database, &stored, nil)
        if code == MDB_NOTFOUND {
            return false
        }
        try check(code)
        return true
    }

    /// Takes every row of a database away.
    func empty(_ database: MDB_dbi) throws {
        // SAFETY: the transaction runs.
        try unsafe check(mdb_drop(current, database, 0))
        if Int(database) < ends.count {
            ends[Int(database)] = []
        }
    }

    /// The number of rows of a database.
    func entries(of database: MDB_dbi) throws -> Int {
        var stat = MDB_stat()
        // SAFETY: the transaction runs; the structure is filled in during the call.
        let code = unsafe mdb_stat(current, database, &stat)
        if code == MDB_NOTFOUND {
            return 0
        }
        try check(code)
        // A row takes more than a byte, so that numbers of rows can be added without care.
        let entries = Int(stat.ms_entries)
        guard 0...environment.mapSize ~= entries else { throw StorageError(lmdb: MDB_CORRUPTED) }
        return entries
    }

    /// Makes a cursor of LMDB's.
    func openCursor(in database: MDB_dbi) throws -> OpaquePointer? {
        var cursor: OpaquePointer?
        // SAFETY: the transaction runs; `cursor` is filled in during the call.
        try unsafe check(mdb_cursor_open(current, database, &cursor))
        return unsafe cursor
    }

    /// The number of pages that the snapshot does not use.
    ///
    /// They are listed in LMDB's own first database: the value of each row is a count, in a machine
    /// word, and as many numbers of pages. A count beyond the row's end is damage, and what there is counts.
    func unusedPages() throws -> Int {
        let cursor = try unsafe openCursor(in: 0)
        defer { unsafe mdb_cursor_close(cursor) }
        var key = unsafe MDB_val()
        var value = unsafe MDB_val()
        var pages = 0
        // SAFETY: the transaction runs; each value has at least the word that is read.
        var code = unsafe mdb_cursor_get(cursor, &key, &value, MDB_FIRST)
        while code == MDB_SUCCESS {
            let list = unsafe value.bytes
            let room = list.count / MemoryLayout<UInt>.size - 1
            if room >= 0 {
                pages += Int(min(unsafe list.loadUnaligned(as: UInt.self), UInt(room)))
            }
            code = unsafe mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
        }
        if code != MDB_NOTFOUND {
            throw StorageError(lmdb: code)
        }
        return pages
    }

    // MARK: - The end

    /// Whether a key is greater than all of a database; then it will be the greatest.
    ///
    /// LMDB fills its pages to the brim when told that a key goes to the end, and only half when not.
    /// What is kept is the greatest key that was ever put, so taking rows away makes no difference.
    @inline(__always)
    private func isBeyondEnd(
        _ key: UnsafeRawBufferPointer, of database: MDB_dbi
    ) throws -> Bool {
        let position = Int(database)
        if position >= ends.count || ends[position] == nil {
            try learnEnd(of: database)
        }
        let isBeyond = unsafe ends[position]?.withUnsafeBytes { unsafe $0.precedes(key) } ?? false
        if isBeyond {
            ends[position]?.removeAll(keepingCapacity: true)
            unsafe ends[position]?.append(contentsOf: key)
        }
        return isBeyond
    }

    @inline(never)
    private func learnEnd(of database: MDB_dbi) throws {
        while ends.count <= Int(database) {
            ends.append(nil)
        }
        ends[Int(database)] = try lastKey(of: database) ?? []
    }

    private func lastKey(of database: MDB_dbi) throws -> [UInt8]? {
        let cursor = try unsafe openCursor(in: database)
        defer { unsafe mdb_cursor_close(cursor) }
        var key = unsafe MDB_val()
        var value = unsafe MDB_val()
        // SAFETY: the transaction runs; what is lent is copied before it changes.
        let code = unsafe mdb_cursor_get(cursor, &key, &value, MDB_LAST)
        if code == MDB_NOTFOUND {
            return nil
        }
        try check(code)
        return unsafe Array(key.bytes)
    }
}

extension UnsafeRawBufferPointer {
    /// Whether these bytes come before others in bytewise order.
    @inline(__always)
    func precedes(_ other: UnsafeRawBufferPointer) -> Bool {
        let order = unsafe comparison(with: other)
        return order == 0 ? count < other.count : order < 0
    }

    /// Whether these bytes begin with others.
    @inline(__always)
    func begins(with other: UnsafeRawBufferPointer) -> Bool {
        unsafe count >= other.count && comparison(with: other) == 0
    }

    /// Compares as many bytes as both have.
    @inline(__always)
    private func comparison(with other: UnsafeRawBufferPointer) -> Int32 {
        guard let start = baseAddress, let otherStart = other.baseAddress else {
            return 0
        }
        // SAFETY: both have at least as many bytes as are compared.
        return unsafe memcmp(start, otherStart, Swift.min(count, other.count))
    }
}
