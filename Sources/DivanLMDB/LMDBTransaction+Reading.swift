// SPDX-License-Identifier: Apache-2.0

internal import CLMDB
internal import DivanStorage

extension LMDBTransaction: StorageReader {
    func withValue(
        forKey key: Span<UInt8>, in store: Store, _ body: (Span<UInt8>) throws -> Void
    ) throws -> Bool {
        precondition(store.kind == .bytes, "A byte-string key was used with an integer store.")
        guard let rows = try rows(of: store) else { return false }
        // SAFETY: the key is lent to the call; what is found is lent as `lend` says.
        return try unsafe key.withUnsafeBytes { bytes in
            if unsafe LongKeys.isPlain(bytes) {
                guard let found = try unsafe find(bytes, in: rows.rows) else { return false }
                try unsafe lend(found, keyed: ValueChecksum.seed(store.seed, key: key), body) {
                    mismatch(store, KeyEncoding.hexadecimal(key))
                }
                return true
            }
            return try withValueFollowed(key, in: store, body)
        }
    }

    private func withValueFollowed(
        _ key: Span<UInt8>, in store: Store, _ body: (Span<UInt8>) throws -> Void
    ) throws -> Bool {
        guard let place = try place(of: key, in: store) else { return false }
        // SAFETY: as above.
        return try unsafe place.key.withUnsafeBytes { bytes in
            guard let found = try unsafe find(bytes, in: place.database) else { return false }
            try unsafe lend(found, keyed: ValueChecksum.seed(store.seed, key: key), body) {
                mismatch(store, KeyEncoding.hexadecimal(key))
            }
            return true
        }
    }

    func withValue(
        forKey key: Int64, in store: Store, _ body: (Span<UInt8>) throws -> Void
    ) throws -> Bool {
        precondition(store.kind == .integer, "An integer key was used with a byte-string store.")
        guard let rows = try rows(of: store) else { return false }
        // SAFETY: as above.
        return try unsafe withStored(key) { bytes in
            guard let found = try unsafe find(bytes, in: rows.rows) else { return false }
            try unsafe lend(found, keyed: ValueChecksum.seed(store.seed, key: key), body) {
                mismatch(store, String(key))
            }
            return true
        }
    }

    func cursor(in store: Store) throws -> any StorageCursor {
        _ = try rows(of: store)
        return LMDBCursor(store: store, transaction: self)
    }

    func count(of store: Store) throws -> Int {
        guard let rows = try rows(of: store) else { return 0 }
        let plain = try entries(of: rows.rows)
        guard let longKeys = rows.longKeys, try entries(of: longKeys) > 0 else { return plain }
        var count = 0
        let cursor = LMDBCursor(store: store, transaction: self)
        defer { cursor.close() }
        var found = try cursor.seekToFirst()
        while found {
            count += 1
            found = try cursor.next()
        }
        return count
    }

    func storeNames() throws -> [StoreName] {
        guard kind != .none else {
            throw StorageError.misuse("A reader was used after its transaction.")
        }
        return catalogue.names
    }

    // MARK: - Lending

    /// Verifies a stored value and lends it; a copy of it in a write transaction.
    @inline(__always)
    func lend(
        _ stored: UnsafeRawBufferPointer, keyed: UInt32, _ body: (Span<UInt8>) throws -> Void,
        mismatch: () -> StorageError
    ) throws {
        let span = unsafe Span<UInt8>(_unsafeBytes: stored)
        guard let length = ValueChecksum.verifiedLength(of: span, keyed: keyed) else {
            throw mismatch()
        }
        if kind == .read {
            // SAFETY: it lies in the mapped file, which does not change while the snapshot lives, and that
            // is at least as long as the closure runs.
            return try body(span.extracting(0..<length))
        }
        let copy = unsafe [UInt8](UnsafeRawBufferPointer(rebasing: stored[..<length]))
        try body(copy.span)
    }

    @inline(never)
    func mismatch(_ store: Store, _ key: String) -> StorageError {
        .checksumMismatch(store: environment.registry.name(of: store), key: key)
    }

    /// Lends the stored form of an integer key: 8 bytes that are in the order of the numbers.
    @inline(__always)
    func withStored<R>(_ key: Int64, _ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        var stored = (UInt64(bitPattern: key) ^ 1 << 63).bigEndian
        // SAFETY: the pointer to the local is used inside the call only.
        return try unsafe withUnsafeBytes(of: &stored) { try unsafe body($0) }
    }
}
