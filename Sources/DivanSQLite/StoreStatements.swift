// SPDX-License-Identifier: Apache-2.0

internal import CSQLite
internal import DivanStorage

/// The statements of one store on one connection, prepared when first needed and kept.
///
/// A store is a table of two columns. Its statements are found by the store's number and the
/// property's name, so that running one hashes nothing and builds no text.
final class StoreStatements {
    /// What statements do.
    enum Operation {
        case lookUp, replace, insert, remove, removeAll, count
        case ascendFrom, ascendFromAtMost, descendFrom, ascend, descend, walk
    }

    let store: Store
    let name: StoreName
    /// The statements that are kept and not in use.
    private var kept = KeptStatements()
    /// More statements of operations that several cursors had in use at once: preparing one takes as long as several look-ups.
    private var spare: [(operation: Operation, statement: Statement)] = []
    private static let mostSpare = 16
    /// The transaction that found no table; within one, only its own `createTable` makes one.
    private var absence: Int?
    /// The version of the schema in which a snapshot found no table: no other snapshot with that version finds one.
    private var absentSchema: Int64?
    private let connection: Connection

    init(store: Store, name: StoreName, connection: Connection) {
        self.store = store
        self.name = name
        self.connection = connection
    }

    /// Takes a statement out, preparing it if there is none; `nil` when the store does not exist.
    ///
    /// The statement is the caller's alone until it gives it back, so a call made while it is in use
    /// gets another one. Looking for a table in vain takes as long as a dozen look-ups, so it is done
    /// once in each transaction, and in snapshots once for each schema.
    ///
    /// - Parameters:
    ///   - operation: What it is to do.
    ///   - transaction: The transaction's number.
    ///   - schema: The version of the schema that its snapshot has; nil while writing.
    /// - Returns: The statement.
    /// - Throws: `StorageError`.
    @inline(__always)
    func take(
        _ operation: Operation, in transaction: Int, schema: Int64?
    ) throws(StorageError) -> Statement? {
        if let statement = kept[operation] {
            kept[operation] = nil
            return statement
        }
        if let position = spare.lastIndex(where: { $0.operation == operation }) {
            return spare.remove(at: position).statement
        }
        return try makeStatement(operation, transaction, schema)
    }

    @inline(never)
    private func makeStatement(
        _ operation: Operation, _ transaction: Int, _ schema: Int64?
    ) throws(StorageError) -> Statement? {
        guard absence != transaction, schema == nil || schema != absentSchema else { return nil }
        if let statement = try prepare(operation) { return statement }
        absence = transaction
        if let schema { absentSchema = schema }
        return nil
    }

    /// Gives a statement back, reset.
    @inline(__always)
    func giveBack(_ statement: Statement, _ operation: Operation) {
        statement.reset()
        guard kept[operation] != nil else {
            kept[operation] = statement
            return
        }
        keepSpare(statement, operation)
    }

    @inline(never)
    private func keepSpare(_ statement: Statement, _ operation: Operation) {
        guard spare.count < Self.mostSpare else { return }
        spare.append((operation, statement))
    }

    /// Lets go of all kept statements, since the table may be gone.
    func forget() {
        kept = KeptStatements()
        spare = []
        absence = nil
        absentSchema = nil
    }

    /// Creates the store's table.
    func createTable() throws(StorageError) {
        absence = nil
        try connection.execute(TableSQL.create(name))
    }

    /// Removes the store's table with all that is in it.
    func dropTable() throws(StorageError) {
        forget()
        try connection.execute(TableSQL.drop(name))
    }

    private func prepare(_ operation: Operation) throws(StorageError) -> Statement? {
        if let statement = try connection.prepareIfPossible(TableSQL.sql(operation, name)) {
            return statement
        }
        // Either the table is missing, which is a store without values, or it has other columns.
        let error = connection.lastError()
        let exists = try connection.prepare(TableSQL.exists)
        exists.bind(text: name.name, at: 1)
        defer { exists.reset() }
        if try exists.step() {
            throw StorageError(error, store: name)
        }
        return nil
    }
}

/// One statement of each operation.
///
/// Properties and not an array: taking a statement out and giving it back is most of what Divan
/// adds to a short statement, and an array checks each time whether it is uniquely referenced.
private struct KeptStatements {
    private var lookUp: Statement?
    private var replace: Statement?
    private var insert: Statement?
    private var remove: Statement?
    private var removeAll: Statement?
    private var count: Statement?
    private var ascendFrom: Statement?
    private var ascendFromAtMost: Statement?
    private var descendFrom: Statement?
    private var ascend: Statement?
    private var descend: Statement?
    private var walk: Statement?

    @inline(__always)
    subscript(operation: StoreStatements.Operation) -> Statement? {
        get {
            switch operation {
            case .lookUp: lookUp
            case .replace: replace
            case .insert: insert
            case .remove: remove
            case .removeAll: removeAll
            case .count: count
            case .ascendFrom: ascendFrom
            case .ascendFromAtMost: ascendFromAtMost
            case .descendFrom: descendFrom
            case .ascend: ascend
            case .descend: descend
            case .walk: walk
            }
        }
        set {
            switch operation {
            case .lookUp: lookUp = newValue
            case .replace: replace = newValue
            case .insert: insert = newValue
            case .remove: remove = newValue
            case .removeAll: removeAll = newValue
            case .count: count = newValue
            case .ascendFrom: ascendFrom = newValue
            case .ascendFromAtMost: ascendFromAtMost = newValue
            case .descendFrom: descendFrom = newValue
            case .ascend: ascend = newValue
            case .descend: descend = newValue
            case .walk: walk = newValue
            }
        }
    }
}

extension StoreStatements {
    /// Whether an error may come from a table that no longer exists.
    static func isMissingTable(_ error: StorageError) -> Bool {
        guard let cause = error.underlying as? SQLiteError else {
            return false
        }
        return cause.primaryCode == SQLITE_ERROR || cause.primaryCode == SQLITE_SCHEMA
    }
}
