// SPDX-License-Identifier: Apache-2.0

internal import CLMDB
internal import CReadAhead
internal import DivanStorage

// How a cursor goes from row to row, in and out of spaces.

extension LMDBCursor {
    /// Begins anew, standing nowhere; `nil` when the store does not exist.
    func start() throws -> StoreRows? {
        if number != transaction.number || transaction.kind == .none {
            throw StorageError.misuse("A cursor was used after its transaction.")
        }
        detached = nil
        isStanding = false
        spaces.removeAll(keepingCapacity: true)
        path.removeAll(keepingCapacity: true)
        guard let rows = try transaction.rows(of: store) else { return nil }
        if unsafe rowsCursor == nil {
            unsafe rowsCursor = try unsafe transaction.openCursor(in: rows.rows)
            transaction.remember(self)
        }
        return rows
    }

    /// Goes to the neighbour of the row.
    @inline(__always)
    func step(ascending: Bool) throws -> Bool {
        if isStanding, spaces.isEmpty {
            try transaction.checkInterruption()
            return try unsafe settle(
                moveRows(ascending ? MDB_NEXT : MDB_PREV), ascending: ascending)
        }
        if isStanding {
            return try unsafe settleInSpace(
                moveLong(ascending ? MDB_NEXT : MDB_PREV), ascending: ascending)
        }
        return try stepDetached(ascending: ascending)
    }

    private func stepDetached(ascending: Bool) throws -> Bool {
        guard let row = detached else { return false }
        let isAtLeast: Bool
        if store.kind == .integer {
            let key = integerKey
            isAtLeast = try seek(toAtLeast: key)
            guard ascending, isAtLeast, integerKey == key else {
                return try ascending ? isAtLeast : isAtLeast ? previous() : seekToLast()
            }
            return try next()
        }
        isAtLeast = try seek(toAtLeast: row.key.span)
        guard ascending else { return try isAtLeast ? previous() : seekToLast() }
        guard isAtLeast else { return false }
        var isSame = false
        try withKey { found in isSame = found.equals(row.key.span) }
        return try isSame ? next() : true
    }

    /// Seeks a key that is not stored as it is.
    func seekFollowed(_ stored: ArraySlice<UInt8>, _ rows: StoreRows) throws -> Bool {
        if stored.count <= LongKeys.limit {
            return try unsafe stored.withUnsafeBytes { bytes in
                try unsafe settle(moveRows(MDB_SET_RANGE, bytes), ascending: true)
            }
        }
        let chunk = LongKeys.chunkKey(stored.prefix(LongKeys.limit), in: nil)
        let found = try unsafe chunk.withUnsafeBytes { try unsafe moveRows(MDB_SET_RANGE, $0) }
        guard found, rows.longKeys != nil, unsafe chunk.elementsEqual(key) else {
            return try settle(found, ascending: true)
        }
        var rest = stored
        try enter(chunk: chunk[0..<LongKeys.limit])
        while true {
            rest = rest.dropFirst(LongKeys.limit)
            let isCut = rest.count > LongKeys.limit
            let target =
                isCut
                ? LongKeys.chunkKey(rest.prefix(LongKeys.limit), in: spaces.last)
                : LongKeys.endKey(rest, in: spaces.last)
            let found = try unsafe target.withUnsafeBytes {
                try unsafe moveLong(MDB_SET_RANGE, $0)
            }
            guard isCut, found, unsafe target.elementsEqual(key) else {
                return try settleInSpace(found, ascending: true)
            }
            try enter(chunk: rest.prefix(LongKeys.limit))
        }
    }

    /// Makes the row where the first cursor stands the cursor's row, following it into a space.
    @inline(__always)
    func settle(_ found: Bool, ascending: Bool) throws -> Bool {
        guard found else {
            isStanding = false
            return false
        }
        if store.kind == .bytes, unsafe LongKeys.isChunk(length: key.count, inSpace: false) {
            let chunk = unsafe Array(key.prefix(LongKeys.limit))
            try enter(chunk: chunk[...])
            return try settleInSpace(enterEnd(ascending: ascending), ascending: ascending)
        }
        isStanding = true
        return true
    }

    /// The same for the second cursor, which may have left its space.
    private func settleInSpace(_ moved: Bool, ascending: Bool) throws -> Bool {
        var found = moved
        while let space = spaces.last {
            try transaction.checkInterruption()
            let prefix = LongKeys.value(of: space)
            let isInside = unsafe found && prefix.withUnsafeBytes { unsafe key.begins(with: $0) }
            if !isInside {
                found = try leave(ascending: ascending)
                continue
            }
            guard unsafe LongKeys.isChunk(length: key.count, inSpace: true) else {
                isStanding = true
                return true
            }
            let chunk = unsafe Array(key[LongKeys.spaceSize..<LongKeys.spaceSize + LongKeys.limit])
            try enter(chunk: chunk[...])
            found = try enterEnd(ascending: ascending)
        }
        return try settle(found, ascending: ascending)
    }

    /// Notes the space of the chunk on whose key a cursor stands.
    private func enter(chunk: ArraySlice<UInt8>) throws {
        let copy = unsafe [UInt8](key)
        let space = try transaction.space(
            copy.span, unsafe Span(_unsafeBytes: stored), of: store)
        spaces.append(space)
        path += chunk
    }

    /// Goes to the first or the last key of the innermost space.
    private func enterEnd(ascending: Bool) throws -> Bool {
        guard let space = spaces.last else { return false }
        let edge = LongKeys.value(of: ascending ? space : space + 1)
        let found = try unsafe edge.withUnsafeBytes { try unsafe moveLong(MDB_SET_RANGE, $0) }
        if ascending {
            return found
        }
        return try unsafe moveLong(found ? MDB_PREV : MDB_LAST)
    }

    /// Leaves the innermost space for the row beside its chunk.
    private func leave(ascending: Bool) throws -> Bool {
        spaces.removeLast()
        let chunk = LongKeys.chunkKey(path.suffix(LongKeys.limit), in: spaces.last)
        path.removeLast(LongKeys.limit)
        if spaces.isEmpty {
            return try unsafe moveRows(ascending ? MDB_NEXT : MDB_PREV)
        }
        let found = try unsafe chunk.withUnsafeBytes { try unsafe moveLong(MDB_SET_RANGE, $0) }
        guard found else { return false }
        return try unsafe moveLong(ascending ? MDB_NEXT : MDB_PREV)
    }

    // MARK: - LMDB's cursors

    @inline(__always)
    func moveRows(
        _ operation: MDB_cursor_op,
        _ target: UnsafeRawBufferPointer = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    ) throws -> Bool {
        try unsafe move(rowsCursor, operation, target)
    }

    private func moveLong(
        _ operation: MDB_cursor_op,
        _ target: UnsafeRawBufferPointer = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    ) throws -> Bool {
        if unsafe longCursor == nil, let longKeys = try transaction.rows(of: store)?.longKeys {
            unsafe longCursor = try unsafe transaction.openCursor(in: longKeys)
        }
        guard unsafe longCursor != nil else {
            throw StorageError(lmdb: MDB_CORRUPTED)
        }
        return try unsafe move(longCursor, operation, target)
    }

    @inline(__always)
    private func move(
        _ cursor: OpaquePointer?, _ operation: MDB_cursor_op, _ target: UnsafeRawBufferPointer
    ) throws -> Bool {
        var found = unsafe MDB_val(target)
        var value = unsafe MDB_val()
        // SAFETY: the cursor is of a transaction that runs; LMDB reads the target during the call.
        let code = unsafe mdb_cursor_get(cursor, &found, &value, operation)
        if code == MDB_SUCCESS {
            unsafe key = found.bytes
            unsafe stored = value.bytes
            if transaction.kind == .read {
                // SAFETY: nothing is read. The environment's map is longer than its file, so it has no end here.
                unsafe divan_read_ahead_at(&ahead, value.mv_data, 0)
            }
            return true
        }
        if code == MDB_NOTFOUND {
            return false
        }
        isStanding = false
        throw StorageError(lmdb: code)
    }
}
