// SPDX-License-Identifier: Apache-2.0

internal import CLMDB
internal import CReadAhead
internal import DivanStorage

/// A place in a store: a cursor of LMDB's that stands on the place's row.
///
///      state       holds                                  next() or previous()
///      nowhere     nothing                                false
///      standing    what LMDB lends of the row             steps; in and out of spaces
///      detached    a copy of the row                      seeks from the copied key
///
/// It is detached before its store changes and before a savepoint begins or ends.
///
/// A long key lies in spaces (see `LongKeys`). `spaces` are those on the way to the row, and `path` the
/// chunks that lead there; the first cursor stays on the store's chunk meanwhile.
@safe
final class LMDBCursor: StorageCursor {
    let store: Store
    let transaction: LMDBTransaction
    let number: Int

    // SAFETY: both are of the transaction `number` and closed before it ends.
    var rowsCursor: OpaquePointer?
    var longCursor: OpaquePointer?
    var spaces: [UInt64] = []
    var path: [UInt8] = []
    var isStanding = false
    /// What LMDB lends of the row; valid while the cursor stands on it.
    var key = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    var stored = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    var detached: (key: [UInt8], stored: [UInt8])?
    var ahead = divan_read_ahead()

    init(store: Store, transaction: LMDBTransaction) {
        self.store = store
        self.transaction = transaction
        number = transaction.number
    }

    deinit {
        close()
    }

    // MARK: - Seeking

    func seek(toAtLeast key: Span<UInt8>) throws -> Bool {
        precondition(store.kind == .bytes, "A byte-string key was used with an integer store.")
        guard let rows = try start() else { return false }
        // SAFETY: the key is lent to the call.
        return try unsafe key.withUnsafeBytes { bytes in
            if unsafe LongKeys.isPlain(bytes) {
                return try unsafe settle(moveRows(MDB_SET_RANGE, bytes), ascending: true)
            }
            return try seekFollowed(LongKeys.stored(key)[...], rows)
        }
    }

    func seek(toAtLeast key: Int64) throws -> Bool {
        precondition(store.kind == .integer, "An integer key was used with a byte-string store.")
        guard try start() != nil else { return false }
        // SAFETY: the key is lent to the call.
        return try unsafe transaction.withStored(key) { bytes in
            try unsafe settle(moveRows(MDB_SET_RANGE, bytes), ascending: true)
        }
    }

    func seek(toAtMost key: Span<UInt8>) throws -> Bool {
        guard try seek(toAtLeast: key) else { return try seekToLast() }
        var isSame = false
        try withKey { found in isSame = found.equals(key) }
        return try isSame ? true : previous()
    }

    func seek(toAtMost key: Int64) throws -> Bool {
        guard try seek(toAtLeast: key) else { return try seekToLast() }
        return try integerKey == key ? true : previous()
    }

    func seekToFirst() throws -> Bool {
        guard try start() != nil else { return false }
        return try unsafe settle(moveRows(MDB_FIRST), ascending: true)
    }

    func seekToLast() throws -> Bool {
        guard try start() != nil else { return false }
        return try unsafe settle(moveRows(MDB_LAST), ascending: false)
    }

    func next() throws -> Bool {
        try step(ascending: true)
    }

    func previous() throws -> Bool {
        try step(ascending: false)
    }

    // MARK: - The row

    var integerKey: Int64 {
        guard store.kind == .integer else { return 0 }
        if isStanding {
            // SAFETY: it stands on a row of an integer store.
            return unsafe LMDBCursor.integer(key)
        }
        return detached.map { unsafe $0.key.withUnsafeBytes { unsafe LMDBCursor.integer($0) } } ?? 0
    }

    private static func integer(_ bytes: UnsafeRawBufferPointer) -> Int64 {
        guard bytes.count == 8 else { return 0 }
        let stored = unsafe UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
        return Int64(bitPattern: stored ^ 1 << 63)
    }

    func withKey(_ body: (Span<UInt8>) throws -> Void) throws {
        try requireRow()
        if let detached {
            return try body(detached.key.span)
        }
        if !spaces.isEmpty {
            let whole = wholeKey()
            return try body(whole.span)
        }
        if transaction.kind == .write {
            let copy = unsafe [UInt8](key)
            return try lendShown(copy.span, body)
        }
        // SAFETY: it lies in the mapped file, which does not change while the snapshot lives.
        try lendShown(unsafe Span(_unsafeBytes: key), body)
    }

    func withValue(_ body: (Span<UInt8>) throws -> Void) throws {
        try requireRow()
        try transaction.checkInterruption()
        if let detached {
            let sum = try keyed()
            guard let length = ValueChecksum.verifiedLength(of: detached.stored.span, keyed: sum)
            else { throw mismatch() }
            return try body(detached.stored.span.extracting(0..<length))
        }
        // SAFETY: see `LMDBTransaction.lend`.
        try unsafe transaction.lend(stored, keyed: keyed(), body) { mismatch() }
    }

    func withRow(_ body: (Span<UInt8>, Span<UInt8>) throws -> Void) throws {
        try withKey { key in try lendValue(with: key, body) }
    }

    /// Lends the value beside its key. (A closure's parameter cannot be lent on to a closure inside
    /// it, but a function's can.)
    @inline(__always)
    private func lendValue(
        with key: Span<UInt8>, _ body: (Span<UInt8>, Span<UInt8>) throws -> Void
    ) throws {
        try withValue { value in try body(key, value) }
    }

    func close() {
        detached = nil
        if unsafe isStanding || rowsCursor != nil {
            transaction.forget(self)
        }
        abandon()
    }

    /// Lets go of everything, when the transaction ends.
    func abandon() {
        detached = nil
        letGo()
    }

    /// Copies the row and lets go of LMDB's cursors.
    func detach() {
        if isStanding {
            let copy = spaces.isEmpty ? plainKey() : wholeKey()
            detached = unsafe (copy, [UInt8](stored))
        }
        letGo()
    }

    private func letGo() {
        isStanding = false
        spaces.removeAll(keepingCapacity: true)
        path.removeAll(keepingCapacity: true)
        // SAFETY: LMDB's cursors are of a transaction that has not been freed: a read transaction is kept
        // by this object's, and a write transaction lets its cursors go before it ends.
        if let cursor = unsafe rowsCursor {
            unsafe mdb_cursor_close(cursor)
        }
        if let cursor = unsafe longCursor {
            unsafe mdb_cursor_close(cursor)
        }
        unsafe rowsCursor = nil
        unsafe longCursor = nil
    }

    /// The key of the row as the seam shows it.
    private func plainKey() -> [UInt8] {
        let bytes = unsafe [UInt8](key)
        return store.kind == .bytes && bytes.first == 0 ? Array(bytes.dropFirst()) : bytes
    }

    /// The key of a row in a space, put together.
    private func wholeKey() -> [UInt8] {
        let whole = unsafe path + key.dropFirst(LongKeys.spaceSize)
        return whole.first == 0 ? Array(whole.dropFirst()) : whole
    }

    /// Lends a stored key without the byte that is put before empty keys and keys that begin with zero.
    @inline(__always)
    private func lendShown<R>(_ key: Span<UInt8>, _ body: (Span<UInt8>) throws -> R) rethrows -> R {
        if store.kind == .bytes, key.count > 0, key[0] == 0 {
            return try body(key.extracting(1..<key.count))
        }
        return try body(key)
    }

    /// The checksum of store and key, which the value's continues.
    @inline(__always)
    private func keyed() throws -> UInt32 {
        if store.kind == .integer {
            return ValueChecksum.seed(store.seed, key: integerKey)
        }
        if let detached {
            return ValueChecksum.seed(store.seed, key: detached.key.span)
        }
        if !spaces.isEmpty {
            let whole = wholeKey()
            return ValueChecksum.seed(store.seed, key: whole.span)
        }
        // SAFETY: it stands on a row.
        return lendShown(unsafe Span(_unsafeBytes: key)) {
            ValueChecksum.seed(store.seed, key: $0)
        }
    }

    @inline(never)
    private func mismatch() -> StorageError {
        var text = String(integerKey)
        if store.kind == .bytes {
            try? withKey { text = KeyEncoding.hexadecimal($0) }
        }
        return transaction.mismatch(store, text)
    }

    private func requireRow() throws(StorageError) {
        if !isStanding, detached == nil {
            throw .misuse("A cursor that stands nowhere has no key and no value.")
        }
    }
}

/// A cursor that its caller keeps alive: it removes itself from the list before it is released.
struct OpenCursor {
    /// Stays comparable while the cursor is being released, when `cursor` may not be read any more.
    let identity: ObjectIdentifier
    unowned let cursor: LMDBCursor
}

extension LMDBTransaction {
    /// Lists a cursor that holds one of LMDB's.
    func remember(_ cursor: LMDBCursor) {
        openCursors.append(OpenCursor(identity: ObjectIdentifier(cursor), cursor: cursor))
    }

    /// Takes a cursor from the list.
    func forget(_ cursor: LMDBCursor) {
        let identity = ObjectIdentifier(cursor)
        if let position = openCursors.lastIndex(where: { $0.identity == identity }) {
            openCursors.remove(at: position)
        }
    }
}

extension Span where Element == UInt8 {
    /// Whether two spans have the same bytes.
    func equals(_ other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        for position in indices where self[position] != other[position] {
            return false
        }
        return true
    }
}
