// SPDX-License-Identifier: Apache-2.0

internal import CLMDB
internal import DivanStorage

extension LMDBTransaction: StorageWriter {
    func set(_ value: Span<UInt8>, forKey key: Span<UInt8>, in store: Store) throws {
        _ = try put(value, key, in: store, replaces: true)
    }

    func set(_ value: Span<UInt8>, forKey key: Int64, in store: Store) throws {
        _ = try put(value, key, in: store, replaces: true)
    }

    func insert(_ value: Span<UInt8>, forKey key: Span<UInt8>, in store: Store) throws -> Bool {
        try put(value, key, in: store, replaces: false)
    }

    func insert(_ value: Span<UInt8>, forKey key: Int64, in store: Store) throws -> Bool {
        try put(value, key, in: store, replaces: false)
    }

    func remove(key: Span<UInt8>, in store: Store) throws -> Bool {
        precondition(store.kind == .bytes, "A byte-string key was used with an integer store.")
        try requireWriting()
        guard let rows = try rows(of: store) else { return false }
        detachCursors(of: store)
        // SAFETY: the key is lent to the call.
        return try unsafe key.withUnsafeBytes { bytes in
            if unsafe LongKeys.isPlain(bytes) {
                return try unsafe delete(bytes, in: rows.rows)
            }
            guard let place = try place(of: key, in: store) else { return false }
            let isRemoved = try unsafe place.key.withUnsafeBytes { end in
                try unsafe delete(end, in: place.database)
            }
            if isRemoved {
                try removeEmptySpaces(place, of: store)
            }
            return isRemoved
        }
    }

    func remove(key: Int64, in store: Store) throws -> Bool {
        precondition(store.kind == .integer, "An integer key was used with a byte-string store.")
        try requireWriting()
        guard let rows = try rows(of: store) else { return false }
        detachCursors(of: store)
        // SAFETY: the key is lent to the call.
        return try unsafe withStored(key) { try unsafe delete($0, in: rows.rows) }
    }

    func removeAll(in store: Store) throws {
        try requireWriting()
        guard let rows = try rows(of: store) else { return }
        detachCursors(of: store)
        try empty(rows.rows)
        if let longKeys = rows.longKeys {
            try empty(longKeys)
        }
    }

    func drop(_ store: Store) throws {
        try requireWriting()
        guard try rows(of: store) != nil else { return }
        try removeAll(in: store)
        try forget(store)
    }

    func syncEarlierCommits() throws {
        try requireWriting()
        try environment.sync()
    }

    func savepoint(_ body: () throws -> Void) throws {
        try requireWriting()
        try nested(body)
    }

    // MARK: - One row

    @inline(__always)
    private func put(
        _ value: Span<UInt8>, _ key: Span<UInt8>, in store: Store, replaces: Bool
    ) throws -> Bool {
        precondition(store.kind == .bytes, "A byte-string key was used with an integer store.")
        let rows = try writableRows(of: store)
        detachCursors(of: store)
        let keyed = ValueChecksum.seed(store.seed, key: key)
        // SAFETY: the key is lent to the call.
        return try unsafe key.withUnsafeBytes { bytes in
            if unsafe LongKeys.isPlain(bytes) {
                return try unsafe put(
                    value, bytes, keyed: keyed, in: rows.rows, replaces: replaces)
            }
            let place = try writablePlace(of: key, in: store)
            return try unsafe place.key.withUnsafeBytes { end in
                try unsafe put(value, end, keyed: keyed, in: place.database, replaces: replaces)
            }
        }
    }

    @inline(__always)
    private func put(
        _ value: Span<UInt8>, _ key: Int64, in store: Store, replaces: Bool
    ) throws -> Bool {
        precondition(store.kind == .integer, "An integer key was used with a byte-string store.")
        let rows = try writableRows(of: store)
        detachCursors(of: store)
        let keyed = ValueChecksum.seed(store.seed, key: key)
        // SAFETY: the key is lent to the call.
        return try unsafe withStored(key) { bytes in
            try unsafe put(value, bytes, keyed: keyed, in: rows.rows, replaces: replaces)
        }
    }
}
