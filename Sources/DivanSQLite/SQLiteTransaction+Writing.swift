// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

extension SQLiteTransaction: StorageWriter {
    func set(_ value: Span<UInt8>, forKey key: Span<UInt8>, in store: Store) throws {
        try put(value, .replace, in: store, keyed: key)
    }

    func set(_ value: Span<UInt8>, forKey key: Int64, in store: Store) throws {
        try put(value, .replace, in: store, keyed: key)
    }

    func insert(_ value: Span<UInt8>, forKey key: Span<UInt8>, in store: Store) throws -> Bool {
        try put(value, .insert, in: store, keyed: key)
        return connection.changes > 0
    }

    func insert(_ value: Span<UInt8>, forKey key: Int64, in store: Store) throws -> Bool {
        try put(value, .insert, in: store, keyed: key)
        return connection.changes > 0
    }

    func remove(key: Span<UInt8>, in store: Store) throws -> Bool {
        precondition(store.kind == .bytes, "A byte-string key was used with an integer store.")
        return try change(.remove, in: store) { statement throws(StorageError) in
            _ = try statement.step(key: key)
        }
    }

    func remove(key: Int64, in store: Store) throws -> Bool {
        precondition(store.kind == .integer, "An integer key was used with a byte-string store.")
        return try change(.remove, in: store) { statement throws(StorageError) in
            _ = try statement.step(key: key)
        }
    }

    func removeAll(in store: Store) throws {
        _ = try change(.removeAll, in: store) { statement throws(StorageError) in
            _ = try statement.step()
        }
    }

    func drop(_ store: Store) throws {
        let statements = try writable(store)
        // SQLite drops no table while a statement stands on a row, whichever table it is of.
        try detachCursors()
        try noting { () throws(StorageError) in try statements.dropTable() }
        didChangeStores = true
    }

    func syncEarlierCommits() throws {
        try requireWriting()
        try connection.syncLog()
    }

    func savepoint(_ body: () throws -> Void) throws {
        try requireWriting()
        depth += 1
        defer { depth -= 1 }
        try noting { () throws(StorageError) in try connection.execute("SAVEPOINT s\(depth)") }
        do {
            try body()
            // Releasing would succeed even where no transaction is left.
            guard !isUndone else {
                throw StorageError.undone()
            }
            try connection.execute("RELEASE s\(depth)")
        } catch {
            undoSavepoint()
            throw error
        }
    }

    /// Undoes the innermost savepoint, unless SQLite has already undone the whole transaction.
    ///
    /// When that fails, the transaction must not commit, since it would then hold half a batch.
    private func undoSavepoint() {
        noteFailure()
        if isUndone {
            return
        }
        if didChangeStores {
            // Going back over a change of tables ends every statement that stands on a row. Going
            // back over rows does not, so cursors stay where they are.
            detachCursorsUnlessLent()
            forgetStatements()
        }
        do {
            try connection.execute("ROLLBACK TO s\(depth)")
            try connection.execute("RELEASE s\(depth)")
        } catch {
            condemn()
        }
    }

    // MARK: - One row

    @inline(__always)
    private func put(
        _ value: Span<UInt8>, _ operation: StoreStatements.Operation, in store: Store,
        keyed key: Span<UInt8>
    ) throws(StorageError) {
        precondition(store.kind == .bytes, "A byte-string key was used with an integer store.")
        try run(operation, in: store) { statement throws(StorageError) in
            let keyed = ValueChecksum.seed(store.seed, key: key)
            try sealing.withSealed(value, keyed: keyed) { sealed throws(StorageError) in
                _ = try statement.step(key: key, value: sealed)
            }
        }
    }

    @inline(__always)
    private func put(
        _ value: Span<UInt8>, _ operation: StoreStatements.Operation, in store: Store,
        keyed key: Int64
    ) throws(StorageError) {
        precondition(store.kind == .integer, "An integer key was used with a byte-string store.")
        try run(operation, in: store) { statement throws(StorageError) in
            let keyed = ValueChecksum.seed(store.seed, key: key)
            try sealing.withSealed(value, keyed: keyed) { sealed throws(StorageError) in
                _ = try statement.step(key: key, value: sealed)
            }
        }
    }

    /// Runs a statement that puts a row, creating the store when it does not exist.
    @inline(__always)
    private func run(
        _ operation: StoreStatements.Operation, in store: Store,
        _ step: (Statement) throws(StorageError) -> Void
    ) throws(StorageError) {
        let statements = try writable(store)
        guard let statement = try take(operation, of: statements) else {
            return try createAndRun(operation, in: statements, step)
        }
        do {
            try step(statement)
            statements.giveBack(statement, operation)
        } catch {
            noteFailure()
            // Another process may have dropped the store since the statement was prepared.
            guard StoreStatements.isMissingTable(error) else {
                throw StorageError(error, in: statements.name)
            }
            statements.forget()
            if let again = try take(operation, of: statements) {
                statements.giveBack(again, operation)
                throw StorageError(error, in: statements.name)
            }
            try createAndRun(operation, in: statements, step)
        }
    }

    @inline(never)
    private func createAndRun(
        _ operation: StoreStatements.Operation, in statements: StoreStatements,
        _ step: (Statement) throws(StorageError) -> Void
    ) throws(StorageError) {
        didChangeStores = true
        try noting { () throws(StorageError) in try statements.createTable() }
        guard let statement = try take(operation, of: statements) else {
            throw StorageError(.corrupted, "A store could not be created.", store: statements.name)
        }
        defer { statements.giveBack(statement, operation) }
        do {
            try step(statement)
        } catch {
            noteFailure()
            throw StorageError(error, in: statements.name)
        }
    }

    /// Runs a statement that only takes rows away; returns whether it took any.
    @inline(__always)
    private func change(
        _ operation: StoreStatements.Operation, in store: Store,
        _ step: (Statement) throws(StorageError) -> Void
    ) throws(StorageError) -> Bool {
        let statements = try writable(store)
        guard let statement = try take(operation, of: statements) else {
            return false
        }
        do {
            try step(statement)
            statements.giveBack(statement, operation)
        } catch {
            noteFailure()
            return try absence(of: statements, explains: error)
        }
        return connection.changes > 0
    }

    @inline(__always)
    private func writable(_ store: Store) throws(StorageError) -> StoreStatements {
        try requireWriting()
        return try statements(of: store)
    }

    @inline(__always)
    private func requireWriting() throws(StorageError) {
        guard kind == .write else {
            throw isUndone ? .undone() : .misuse("A writer was used after its transaction.")
        }
    }
}
