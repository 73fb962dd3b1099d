// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

/// A place in a store: a statement that stands on the place's row.
///
///      state       holds                           next() or previous()
///      nowhere     nothing                         false
///      standing    a statement going one way       steps it; going the other way, seeks
///      detached    a copy of the row               seeks from the copied key
///
/// It is detached when SQLite needs every statement to be at rest, such as to drop a store. Then, and
/// when the direction changes, the next move seeks from the key.
final class SQLiteCursor: StorageCursor {
    private let statements: StoreStatements
    private let transaction: SQLiteTransaction
    private let number: Int
    private var statement: Statement?
    private var operation = StoreStatements.Operation.ascend
    private var detached: (key: [UInt8], integerKey: Int64, stored: [UInt8])?

    init(statements: StoreStatements, transaction: SQLiteTransaction) {
        self.statements = statements
        self.transaction = transaction
        number = transaction.number
    }

    deinit {
        close()
    }

    // MARK: - Seeking

    func seek(toAtLeast key: Span<UInt8>) throws -> Bool {
        try start(.ascendFrom) { statement throws(StorageError) in try statement.step(key: key) }
    }

    func seek(toAtLeast key: Int64) throws -> Bool {
        try start(.ascendFrom) { statement throws(StorageError) in try statement.step(key: key) }
    }

    func seek(toAtMost key: Span<UInt8>) throws -> Bool {
        try start(.descendFrom) { statement throws(StorageError) in try statement.step(key: key) }
    }

    func seekAscending(toAtMost key: Span<UInt8>) throws -> Bool {
        try start(.ascendFromAtMost) { statement throws(StorageError) in
            try statement.step(key: key)
        }
    }

    func seek(toAtMost key: Int64) throws -> Bool {
        try start(.descendFrom) { statement throws(StorageError) in try statement.step(key: key) }
    }

    func seekToFirst() throws -> Bool {
        try start(.ascend) { statement throws(StorageError) in try statement.step() }
    }

    func seekToLast() throws -> Bool {
        try start(.descend) { statement throws(StorageError) in try statement.step() }
    }

    func next() throws -> Bool {
        if let statement, isAscending {
            return try advance(statement)
        }
        return try turn(ascending: true)
    }

    func previous() throws -> Bool {
        if let statement, !isAscending {
            return try advance(statement)
        }
        return try turn(ascending: false)
    }

    func walk(
        _ choose: (Int64) throws -> RowChoice, _ body: (Int64, Span<UInt8>) throws -> Void
    ) throws -> Bool {
        // What a write transaction does on the way may need the statement at rest, or change what lies ahead.
        guard transaction.kind == .read, statements.store.kind == .integer, statement != nil,
            let walking = try transaction.take(.walk, of: statements)
        else {
            return try walkByCalls(choose, body)
        }
        defer { statements.giveBack(walking, .walk) }
        let first = integerKey
        close()
        let seed = statements.store.seed
        var place: Int64?
        var failure: (any Error)?
        _ = try transaction.reading(statements) { () throws(StorageError) in
            try walking.walk(from: first) { key, stored in
                do {
                    switch try choose(key) {
                    case .lend:
                        let keyed = ValueChecksum.seed(seed, key: key)
                        guard let length = ValueChecksum.verifiedLength(of: stored, keyed: keyed)
                        else { throw mismatch(key: String(key)) }
                        try body(key, stored.extracting(0..<length))
                        return false
                    case .pass: return false
                    case .stop: break
                    }
                } catch {
                    failure = error
                }
                place = key
                return true
            }
        }
        close()
        var isStanding = false
        if let place {
            do { isStanding = try seek(toAtLeast: place) } catch { failure = failure ?? error }
        }
        if let failure { throw failure }
        return isStanding
    }

    // MARK: - The row

    var integerKey: Int64 {
        if statements.store.kind == .bytes {
            return 0
        }
        return statement?.integer(at: 0) ?? detached?.integerKey ?? 0
    }

    func withKey(_ body: (Span<UInt8>) throws -> Void) throws {
        if statements.store.kind == .integer {
            try requireRow()
            var key: [UInt8] = []
            KeyEncoding.append(integerKey, to: &key)
            return try body(key.span)
        }
        if let statement {
            return try statement.withBytes(at: 0, body)
        }
        try requireRow()
        let key = detached?.key ?? []
        try body(key.span)
    }

    func withValue(_ body: (Span<UInt8>) throws -> Void) throws {
        guard let statement else {
            try requireRow()
            let stored = detached?.stored ?? []
            return try lend(stored.span, keyed: keyedSeed(), body)
        }
        if statements.store.kind == .integer {
            let keyed = ValueChecksum.seed(statements.store.seed, key: statement.integer(at: 0))
            return try statement.withBytes(at: 1) { try lend($0, keyed: keyed, body) }
        }
        let keyed = statement.withBytes(at: 0) {
            ValueChecksum.seed(statements.store.seed, key: $0)
        }
        try statement.withBytes(at: 1) { try lend($0, keyed: keyed, body) }
    }

    func withRow(_ body: (Span<UInt8>, Span<UInt8>) throws -> Void) throws {
        if let statement, statements.store.kind == .bytes {
            return try statement.withBytes(at: 0) { try lendValue(with: $0, of: statement, body) }
        }
        try withKey { key in try lendValue(with: key, body) }
    }

    // A closure's parameter cannot be lent on to a closure inside it, but a function's can.

    /// Lends the value beside its key.
    private func lendValue(
        with key: Span<UInt8>, _ body: (Span<UInt8>, Span<UInt8>) throws -> Void
    ) throws {
        try withValue { value in try body(key, value) }
    }

    /// Lends the value beside its key, a byte string, which SQLite is asked for once.
    @inline(__always)
    private func lendValue(
        with key: Span<UInt8>, of statement: Statement,
        _ body: (Span<UInt8>, Span<UInt8>) throws -> Void
    ) throws {
        let keyed = ValueChecksum.seed(statements.store.seed, key: key)
        try statement.withBytes(at: 1) { stored in
            try lend(stored, keyed: keyed) { value in try body(key, value) }
        }
    }

    func close() {
        detached = nil
        letGo()
    }

    /// Lets go without touching SQLite's state, when the transaction ends.
    func abandon() {
        detached = nil
        if let statement {
            statements.giveBack(statement, operation)
        }
        statement = nil
    }

    /// Copies the row and lets go of the statement, when SQLite needs it at rest.
    func detach() throws(StorageError) {
        if let statement, statement.isLent {
            throw .misuse("A store was dropped while one of its values was lent.")
        }
        detachUnlessLent()
    }

    /// Copies the row and lets go of the statement. The statement of a lent row is not given back:
    /// its borrower keeps it, and it is released when the borrower has returned.
    func detachUnlessLent() {
        guard let statement else {
            return
        }
        detached = copyOfRow(statement)
        if !statement.isLent {
            statements.giveBack(statement, operation)
        }
        self.statement = nil
    }

    private func copyOfRow(
        _ statement: Statement
    ) -> (key: [UInt8], integerKey: Int64, stored: [UInt8]) {
        let key =
            statements.store.kind == .bytes
            ? statement.withBytes(at: 0) { [UInt8](copying: $0) } : []
        let stored = statement.withBytes(at: 1) { [UInt8](copying: $0) }
        return (key, integerKey, stored)
    }

    /// Gives the statement back, if there is one.
    private func letGo() {
        guard let statement else {
            return
        }
        self.statement = nil
        statements.giveBack(statement, operation)
        transaction.forget(self)
    }

    // MARK: - Moving

    private var isAscending: Bool {
        switch operation {
        case .ascend, .ascendFrom, .ascendFromAtMost: true
        default: false
        }
    }

    /// Begins anew with the statement of an operation.
    private func start(
        _ operation: StoreStatements.Operation,
        _ step: (Statement) throws(StorageError) -> Bool
    ) throws -> Bool {
        try requireTransaction()
        close()
        guard let taken = try transaction.take(operation, of: statements) else {
            return false
        }
        self.operation = operation
        let found: Bool
        do {
            found = try transaction.reading(statements) { () throws(StorageError) in
                try step(taken)
            }
        } catch {
            statements.giveBack(taken, operation)
            throw error
        }
        if found {
            statement = taken
            transaction.remember(self)
        } else {
            statements.giveBack(taken, operation)
        }
        return found
    }

    @inline(__always)
    private func advance(_ statement: Statement) throws -> Bool {
        do {
            if try statement.step() {
                return true
            }
        } catch {
            // The statement is reset, so another step would begin anew with bytes that are gone.
            letGo()
            transaction.noteFailure()
            throw error
        }
        letGo()
        return false
    }

    /// Goes to the neighbour of the current row by seeking.
    private func turn(ascending: Bool) throws -> Bool {
        if let statement {
            detached = copyOfRow(statement)
        }
        guard let row = detached else {
            return false
        }
        if statements.store.kind == .integer {
            let (key, isBeyond) =
                ascending
                ? row.integerKey.addingReportingOverflow(1)
                : row.integerKey.subtractingReportingOverflow(1)
            if isBeyond {
                close()
                return false
            }
            return try ascending ? seek(toAtLeast: key) : seek(toAtMost: key)
        }
        let key = row.key
        let found = try ascending ? seek(toAtLeast: key.span) : seek(toAtMost: key.span)
        guard found, let statement else {
            return false
        }
        // The row itself may have been removed; if not, its neighbour is one step on.
        let isSame = statement.withBytes(at: 0) { [UInt8](copying: $0) } == key
        return isSame ? try advance(statement) : true
    }

    private func requireTransaction() throws(StorageError) {
        if number != transaction.number || transaction.kind == .none {
            throw .misuse("A cursor was used after its transaction.")
        }
    }

    private func requireRow() throws(StorageError) {
        if statement == nil, detached == nil {
            throw .misuse("A cursor that stands nowhere has no key and no value.")
        }
    }

    private func keyedSeed() -> UInt32 {
        let seed = statements.store.seed
        guard statements.store.kind == .bytes else {
            return ValueChecksum.seed(seed, key: integerKey)
        }
        let key = detached?.key ?? []
        return ValueChecksum.seed(seed, key: key.span)
    }

    @inline(__always)
    private func lend(
        _ stored: Span<UInt8>, keyed: UInt32, _ body: (Span<UInt8>) throws -> Void
    ) throws {
        guard let length = ValueChecksum.verifiedLength(of: stored, keyed: keyed) else {
            throw mismatch(key: keyText())
        }
        try body(stored.extracting(0..<length))
    }

    @inline(never)
    private func keyText() -> String {
        guard statements.store.kind == .bytes else { return String(integerKey) }
        var text = ""
        try? withKey { text = KeyEncoding.hexadecimal($0) }
        return text
    }

    @inline(never)
    private func mismatch(key: String) -> StorageError {
        .checksumMismatch(store: statements.name, key: key)
    }
}

/// A cursor that its caller keeps alive: it removes itself from the list before it is released.
struct OpenCursor {
    /// Stays comparable while the cursor is being released, when `cursor` may not be read any more.
    let identity: ObjectIdentifier
    unowned let cursor: SQLiteCursor
}

extension SQLiteTransaction {
    /// Notes a cursor that stands on a row.
    func remember(_ cursor: SQLiteCursor) {
        openCursors.append(OpenCursor(identity: ObjectIdentifier(cursor), cursor: cursor))
    }

    /// Forgets a cursor that has let go. It is mostly the last one.
    func forget(_ cursor: SQLiteCursor) {
        let identity = ObjectIdentifier(cursor)
        if let position = openCursors.lastIndex(where: { $0.identity == identity }) {
            openCursors.remove(at: position)
        }
    }
}
