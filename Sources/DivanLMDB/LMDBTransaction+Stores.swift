// SPDX-License-Identifier: Apache-2.0

internal import CLMDB
internal import Dispatch
internal import DivanStorage

// Which stores there are in a transaction, and where each lies.

extension LMDBTransaction {
    /// Where the rows of a store lie; `nil` when it does not exist.
    @inline(__always)
    func rows(of store: Store) throws -> StoreRows? {
        guard kind != .none else {
            throw isUndone
                ? StorageError.undone()
                : StorageError.misuse("A reader, writer or cursor was used after its transaction.")
        }
        if store.index < rows.count, let known = rows[store.index] {
            return known.isMissing ? nil : known
        }
        return try meet(store)
    }

    @inline(never)
    private func meet(_ store: Store) throws -> StoreRows? {
        let name = environment.registry.name(of: store)
        var met = StoreRows.missing
        if let entry = catalogue[name] {
            guard entry.kind == store.kind else {
                throw StorageError(
                    .corrupted, "A store has another kind of keys than it should.", store: name)
            }
            met = try StoreRows(
                rows: handle(Catalogue.rows(entry.number), name),
                longKeys: entry.hasLongKeys
                    ? handle(Catalogue.longKeys(entry.number), name) : nil)
        }
        while rows.count <= store.index {
            rows.append(nil)
        }
        rows[store.index] = met
        return met.isMissing ? nil : met
    }

    private func handle(_ database: String, _ name: StoreName) throws -> MDB_dbi {
        if let handle = made[database] ?? environment.handle(of: database) {
            return handle
        }
        throw StorageError(lmdb: MDB_BAD_DBI, store: name)
    }

    func adopt(_ fresh: Catalogue) {
        if fresh != catalogue {
            catalogue = fresh
            rows.removeAll(keepingCapacity: true)
        }
    }

    /// Where the rows of a store are to be written; makes the store when it does not exist.
    func writableRows(of store: Store) throws -> StoreRows {
        try requireWriting()
        if let known = try rows(of: store) {
            return known
        }
        let name = environment.registry.name(of: store)
        let entry = Catalogue.Entry(kind: store.kind, number: catalogue.freeNumber)
        _ = try open(Catalogue.rows(entry.number))
        try change(name, to: entry)
        guard let met = try rows(of: store) else {
            throw StorageError(.corrupted, "A store could not be created.", store: name)
        }
        return met
    }

    /// The database for the ends of a store's long keys; makes it when there is none.
    func writableLongKeys(of store: Store) throws -> MDB_dbi {
        let name = environment.registry.name(of: store)
        if let known = try writableRows(of: store).longKeys {
            return known
        }
        guard var entry = catalogue[name] else {
            throw StorageError(.corrupted, "A store could not be created.", store: name)
        }
        let handle = try open(Catalogue.longKeys(entry.number))
        entry.hasLongKeys = true
        try change(name, to: entry)
        return handle
    }

    /// Takes a store out of the catalogue. Its databases are empty.
    func forget(_ store: Store) throws {
        try change(environment.registry.name(of: store), to: nil)
    }

    private func change(
        _ name: StoreName, to entry: Catalogue.Entry?
    ) throws {
        guard let database = environment.handle(of: Catalogue.name) else {
            throw StorageError.closed()
        }
        let key = Array(name.name.utf8)
        let value = entry.map { Catalogue.encode($0, name: name.name) } ?? []
        // SAFETY: LMDB reads key and value during the call.
        let code = unsafe key.withUnsafeBytes { key in
            unsafe value.withUnsafeBytes { value in
                var key = unsafe MDB_val(key)
                var value = unsafe MDB_val(value)
                return entry == nil
                    ? unsafe mdb_del(current, database, &key, nil)
                    : unsafe mdb_put(current, database, &key, &value, 0)
            }
        }
        try check(code)
        catalogue[name] = entry
        isCatalogueChanged = true
        rows.removeAll(keepingCapacity: true)
    }

    /// Opens one of LMDB's databases for the transaction, making it when there is none.
    private func open(_ database: String) throws -> MDB_dbi {
        if let known = made[database] ?? environment.handle(of: database) {
            return known
        }
        if !holdsHandleGate {
            environment.handleGate.wait()
            holdsHandleGate = true
        }
        var handle: MDB_dbi = 0
        // SAFETY: the transaction runs, and is the only one that opens handles now.
        try unsafe check(mdb_dbi_open(current, database, UInt32(MDB_CREATE), &handle))
        made[database] = handle
        return handle
    }

    @inline(__always)
    func requireWriting() throws {
        guard kind == .write else {
            throw isUndone
                ? StorageError.undone()
                : StorageError.misuse("A writer was used after its transaction.")
        }
    }
}

/// The databases in which the rows of one store lie.
struct StoreRows {
    /// Short keys, and the beginnings of long ones.
    var rows: MDB_dbi
    /// The ends of long keys.
    var longKeys: MDB_dbi?

    /// Stands for a store that does not exist. LMDB's own databases have the numbers 0 and 1.
    static let missing = StoreRows(rows: 0, longKeys: nil)

    var isMissing: Bool { rows == 0 }
}
