// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

extension SQLiteTransaction: StorageReader {
    func withValue(
        forKey key: Span<UInt8>, in store: Store, _ body: (Span<UInt8>) throws -> Void
    ) throws -> Bool {
        precondition(store.kind == .bytes, "A byte-string key was used with an integer store.")
        return try lookUp(
            in: store,
            step: { statement throws(StorageError) in try statement.step(key: key) },
            keyed: { ValueChecksum.seed(store.seed, key: key) },
            keyText: { KeyEncoding.hexadecimal(key) },
            body)
    }

    func withValue(
        forKey key: Int64, in store: Store, _ body: (Span<UInt8>) throws -> Void
    ) throws -> Bool {
        precondition(store.kind == .integer, "An integer key was used with a byte-string store.")
        return try lookUp(
            in: store,
            step: { statement throws(StorageError) in try statement.step(key: key) },
            keyed: { ValueChecksum.seed(store.seed, key: key) },
            keyText: { String(key) },
            body)
    }

    /// Runs a look-up, verifies what it finds, and lends it.
    @inline(__always)
    private func lookUp(
        in store: Store,
        step: (Statement) throws(StorageError) -> Bool,
        keyed: () -> UInt32,
        keyText: () -> String,
        _ body: (Span<UInt8>) throws -> Void
    ) throws -> Bool {
        let statements = try statements(of: store)
        guard let statement = try take(.lookUp, of: statements) else {
            return false
        }
        defer { statements.giveBack(statement, .lookUp) }
        guard try reading(statements, { () throws(StorageError) in try step(statement) }) else {
            return false
        }
        try statement.withBytes(at: 0) { stored in
            guard let length = ValueChecksum.verifiedLength(of: stored, keyed: keyed()) else {
                throw StorageError.checksumMismatch(store: statements.name, key: keyText())
            }
            try body(stored.extracting(0..<length))
        }
        return true
    }

    /// Runs the first step of a statement; a table that is gone has no rows.
    @inline(__always)
    func reading(
        _ statements: StoreStatements, _ step: () throws(StorageError) -> Bool
    ) throws(StorageError) -> Bool {
        do {
            return try step()
        } catch {
            noteFailure()
            return try absence(of: statements, explains: error)
        }
    }

    /// Takes a statement from those of a store; preparing it may fail as running it may.
    @inline(__always)
    func take(
        _ operation: StoreStatements.Operation, of statements: StoreStatements
    ) throws(StorageError) -> Statement? {
        try noting { () throws(StorageError) in
            try statements.take(operation, in: number, schema: schema)
        }
    }

    /// Returns `false` when `error` came of a table that another process has dropped.
    @inline(never)
    func absence(
        of statements: StoreStatements, explains error: StorageError
    ) throws(StorageError) -> Bool {
        guard StoreStatements.isMissingTable(error) else {
            throw StorageError(error, in: statements.name)
        }
        statements.forget()
        if try take(.lookUp, of: statements) == nil {
            return false
        }
        throw StorageError(error, in: statements.name)
    }

    func cursor(in store: Store) throws -> any StorageCursor {
        SQLiteCursor(statements: try statements(of: store), transaction: self)
    }

    func count(of store: Store) throws -> Int {
        let statements = try statements(of: store)
        guard let statement = try take(.count, of: statements) else {
            return 0
        }
        defer { statements.giveBack(statement, .count) }
        let found = try reading(statements) { () throws(StorageError) in try statement.step() }
        return found ? Int(statement.integer(at: 0)) : 0
    }

    func storeNames() throws -> [StoreName] {
        guard kind != .none else {
            throw StorageError.misuse("A reader was used after its transaction.")
        }
        let statement = try noting { () throws(StorageError) in
            try connection.prepare(TableSQL.list)
        }
        defer { statement.reset() }
        var names: [StoreName] = []
        while try noting({ () throws(StorageError) in try statement.step() }) {
            let name = statement.text(at: 0)
            guard StoreName.isValid(name) else {
                throw StorageError(.corrupted, "The database file has a table that is no store.")
            }
            names.append(StoreName(name, statement.integer(at: 1) != 0 ? .bytes : .integer))
        }
        return names
    }
}
