// SPDX-License-Identifier: Apache-2.0

internal import CLMDB
internal import DivanStorage

// Keys that are cut; see `LongKeys`.

extension LMDBTransaction {
    /// Where a key that is cut ends: the database, the space and the stored key there.
    struct KeyPlace {
        var database: MDB_dbi
        var key: [UInt8]
        /// The keys of the chunks on the way, the store's first, with their databases.
        var chunks: [(database: MDB_dbi, key: [UInt8])] = []
    }

    /// Follows a key to its end; `nil` when no key begins with its chunks.
    func place(of key: Span<UInt8>, in store: Store) throws -> KeyPlace? {
        guard let rows = try rows(of: store) else { return nil }
        let stored = LongKeys.stored(key)
        if stored.count <= LongKeys.limit {
            return KeyPlace(database: rows.rows, key: stored)
        }
        guard let longKeys = rows.longKeys else { return nil }
        var place = KeyPlace(database: longKeys, key: [])
        var rest = stored[...]
        var space: UInt64?
        while rest.count > LongKeys.limit {
            let database = space == nil ? rows.rows : longKeys
            let chunk = LongKeys.chunkKey(rest.prefix(LongKeys.limit), in: space)
            guard let next = try self.space(of: chunk, in: database, of: store) else { return nil }
            place.chunks.append((database, chunk))
            space = next
            rest = rest.dropFirst(LongKeys.limit)
        }
        place.key = LongKeys.endKey(rest, in: space)
        return place
    }

    /// Follows a key to where it is to be written, making the spaces on the way.
    func writablePlace(of key: Span<UInt8>, in store: Store) throws -> KeyPlace {
        let stored = LongKeys.stored(key)
        if stored.count <= LongKeys.limit {
            return KeyPlace(database: try writableRows(of: store).rows, key: stored)
        }
        let longKeys = try writableLongKeys(of: store)
        let rows = try writableRows(of: store).rows
        var rest = stored[...]
        var space: UInt64?
        while rest.count > LongKeys.limit {
            let database = space == nil ? rows : longKeys
            let chunk = LongKeys.chunkKey(rest.prefix(LongKeys.limit), in: space)
            space =
                try self.space(of: chunk, in: database, of: store)
                ?? makeSpace(for: chunk, in: database, longKeys, after: space ?? 0, of: store)
            rest = rest.dropFirst(LongKeys.limit)
        }
        return KeyPlace(database: longKeys, key: LongKeys.endKey(rest, in: space))
    }

    /// The space that a chunk's key stands for.
    func space(
        of chunk: [UInt8], in database: MDB_dbi, of store: Store
    ) throws -> UInt64? {
        let span = chunk.span
        let found: UnsafeRawBufferPointer?
        // SAFETY: the bytes are lent to the call; what it finds is read before anything changes.
        unsafe found = try unsafe span.withUnsafeBytes { bytes in
            try unsafe find(bytes, in: database)
        }
        guard let found = unsafe found else { return nil }
        return try unsafe space(chunk.span, Span(_unsafeBytes: found), of: store)
    }

    /// The space in the value of a chunk's key.
    func space(
        _ chunk: Span<UInt8>, _ value: Span<UInt8>, of store: Store
    ) throws -> UInt64 {
        let keyed = ValueChecksum.seed(store.seed, key: chunk)
        var offset = 0
        guard ValueChecksum.verifiedLength(of: value, keyed: keyed) == LongKeys.spaceSize,
            let space = KeyEncoding.uint64(in: value, at: &offset)
        else {
            throw StorageError.checksumMismatch(
                store: environment.registry.name(of: store), key: KeyEncoding.hexadecimal(chunk))
        }
        return space
    }

    /// Makes a space under a new number; the space it lies in may be as new and have no key yet.
    private func makeSpace(
        for chunk: [UInt8], in database: MDB_dbi, _ longKeys: MDB_dbi, after outer: UInt64,
        of store: Store
    ) throws -> UInt64 {
        let last = try max(lastSpace(in: longKeys), outer)
        guard last < .max else {
            throw StorageError(lmdb: MDB_CORRUPTED, store: environment.registry.name(of: store))
        }
        let space = last + 1
        let keyed = ValueChecksum.seed(store.seed, key: chunk.span)
        let value = LongKeys.value(of: space)
        let key = chunk.span
        // SAFETY: the bytes are lent to the call.
        _ = try unsafe key.withUnsafeBytes { bytes in
            try unsafe put(value.span, bytes, keyed: keyed, in: database, replaces: true)
        }
        return space
    }

    /// The greatest number of a space that has a key; a key follows at once in each that is made.
    private func lastSpace(in longKeys: MDB_dbi) throws -> UInt64 {
        let cursor = try unsafe openCursor(in: longKeys)
        defer { unsafe mdb_cursor_close(cursor) }
        var key = unsafe MDB_val()
        var value = unsafe MDB_val()
        // SAFETY: the transaction runs; what is lent is read before it changes.
        let code = unsafe mdb_cursor_get(cursor, &key, &value, MDB_LAST)
        if code == MDB_NOTFOUND {
            return 0
        }
        try check(code)
        var offset = 0
        let bytes = unsafe key.bytes
        return KeyEncoding.uint64(in: unsafe Span(_unsafeBytes: bytes), at: &offset) ?? 0
    }

    /// Removes the keys of chunks whose spaces are empty, from the last one up.
    func removeEmptySpaces(_ place: KeyPlace, of store: Store) throws {
        for chunk in place.chunks.reversed() {
            guard let space = try space(of: chunk.key, in: chunk.database, of: store),
                try isEmpty(space, in: place.database)
            else { return }
            let key = chunk.key.span
            // SAFETY: the bytes are lent to the call.
            _ = try unsafe key.withUnsafeBytes { bytes in
                try unsafe delete(bytes, in: chunk.database)
            }
        }
    }

    private func isEmpty(_ space: UInt64, in longKeys: MDB_dbi) throws -> Bool {
        let cursor = try unsafe openCursor(in: longKeys)
        defer { unsafe mdb_cursor_close(cursor) }
        let prefix = LongKeys.value(of: space)
        // SAFETY: the transaction runs; what is lent is read before it changes.
        return try unsafe prefix.withUnsafeBytes { prefix in
            var key = unsafe MDB_val(prefix)
            var value = unsafe MDB_val()
            let code = unsafe mdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE)
            if code == MDB_NOTFOUND {
                return true
            }
            try check(code)
            return unsafe !key.bytes.begins(with: prefix)
        }
    }
}
