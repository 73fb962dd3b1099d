// SPDX-License-Identifier: Apache-2.0

internal import CSQLite
package import DivanStorage

/// An SQLite database of another program, opened for reading only: what an import reads.
///
/// The file is opened as one that nobody changes: no lock is taken, no file is made beside it, and a
/// log or a journal there is not looked at. Whoever opens it makes sure of all that, if need be by
/// copying the files first and letting `recover(_:)` put them together.
///
/// One thread at a time uses it and its statements.
package final class ForeignDatabase {
    private let connection: Connection

    /// Opens a file.
    ///
    /// - Throws: `StorageError`; with code `.corrupted` when the file is none of SQLite's.
    package init(path: String) throws(StorageError) {
        let uri = "file:" + DatabasePlace.escaped(path) + "?immutable=1"
        connection = try Connection(location: uri, flags: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
        _ = try connection.integer("PRAGMA schema_version")
    }

    /// Moves the log or the journal beside a file into it, and removes both.
    ///
    /// - Throws: `StorageError`.
    package static func recover(_ path: String) throws(StorageError) {
        let connection = try Connection(location: path, flags: SQLITE_OPEN_READWRITE)
        // Reading rolls a journal back; leaving the mode writes the log into the file.
        _ = try connection.integer("PRAGMA schema_version")
        _ = try connection.text("PRAGMA journal_mode = DELETE")
    }

    /// The columns of a table; none when there is no such table.
    package func columns(of table: String) throws(StorageError) -> Set<String> {
        let rows = try statement("SELECT name FROM pragma_table_info(?1)")
        rows.bind(table, at: 1)
        defer { rows.reset() }
        var names: Set<String> = []
        while try rows.next() {
            if let name = rows.text(at: 0) { names.insert(name) }
        }
        return names
    }

    /// Prepares a statement, whose tables and columns are there.
    ///
    /// - Throws: `StorageError` with code `.corrupted` also when they are not.
    package func statement(_ sql: String) throws(StorageError) -> ForeignStatement {
        ForeignStatement(try connection.prepare(sql))
    }
}

/// A statement of a foreign database: parameters from 1, columns from 0.
package final class ForeignStatement {
    private let statement: Statement

    init(_ statement: Statement) { self.statement = statement }

    /// Binds an integer.
    package func bind(_ number: Int64, at position: Int32) { statement.bind(number, at: position) }

    /// Binds a text.
    package func bind(_ text: String, at position: Int32) {
        statement.bind(text: text, at: position)
    }

    /// Goes to the next row; returns whether there is one. A failure resets the statement.
    package func next() throws(StorageError) -> Bool { try statement.step() }

    /// Makes the statement ready to run again.
    package func reset() { statement.reset() }

    /// Whether a column of the row is NULL.
    package func isNull(at column: Int32) -> Bool { statement.isNull(at: column) }

    /// The integer in a column; 0 for what is none.
    package func integer(at column: Int32) -> Int64 { statement.integer(at: column) }

    /// The text in a column; nil when it is NULL or not UTF-8.
    package func text(at column: Int32) -> String? {
        statement.isNull(at: column)
            ? nil : String(validating: bytes(at: column), as: UTF8.self)
    }

    /// The bytes of a text or a blob in a column.
    package func bytes(at column: Int32) -> [UInt8] {
        statement.withBytes(at: column) { span in
            var bytes: [UInt8] = []
            bytes.reserveCapacity(span.count)
            for index in span.indices { bytes.append(span[index]) }
            return bytes
        }
    }
}
