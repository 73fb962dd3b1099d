// SPDX-License-Identifier: Apache-2.0

internal import CSQLite
package import DivanStorage

/// An SQLite database of another program, opened for reading only: what an import reads.
///
/// The file is opened as one that does not change: no lock is taken, no file is made beside it, and
/// a log or a journal there is not looked at. The caller makes sure that this is so, if need be by
/// copying the files first and calling `recover(_:)` to put them together.
///
/// The file may have been made to harm its reader. So only real tables are read, never a view or a virtual table, whose rows
/// another's SQL computes without end; a step
/// ends after so much work of SQLite's machine; and a statement has no more rows than the file has room for, which it would
/// have where its pages name one another in a circle.
///
/// One thread at a time uses it and its statements.
package final class ForeignDatabase {
    private let connection: Connection
    /// More rows than any statement can have: each takes four bytes of a page.
    private let mostRows: Int
    /// Instructions of SQLite's machine in one step of a statement that is made now. So many take a few seconds; to count
    /// ten million rows takes a tenth of them.
    package var work = 300_000_000

    /// Opens a file.
    ///
    /// - Throws: `StorageError`; with code `.corrupted` when the file is none of SQLite's.
    package init(path: String) throws(StorageError) {
        let uri = "file:" + DatabasePlace.escaped(path) + "?immutable=1"
        connection = try Connection(location: uri, flags: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
        connection.boundWork()
        _ = try connection.integer("PRAGMA schema_version")
        let pages = try connection.integer("PRAGMA page_count")
        let pageSize = try connection.integer("PRAGMA page_size")
        // What SQLite keeps of the schema by itself has rows, too.
        mostRows = Int(
            clamping: max(2_000, pages.multipliedReportingOverflow(by: pageSize).partialValue / 4))
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
    ///
    /// - Throws: `StorageError` with code `.unsupported` where a view or a virtual table has the name.
    package func columns(of table: String) throws(StorageError) -> Set<String> {
        let kinds = try statement(
            "SELECT type, rootpage FROM sqlite_master"
                + " WHERE name = ?1 COLLATE NOCASE AND type IN ('table', 'view')")
        kinds.bind(table, at: 1)
        defer { kinds.reset() }
        while try kinds.next() {
            // A virtual table has no page of its own.
            guard kinds.text(at: 0) == "table", kinds.integer(at: 1) > 0 else {
                throw StorageError(
                    .unsupported,
                    "'\(table)' of the SQLite file is a view or a virtual table, and no table.")
            }
        }
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
        ForeignStatement(try connection.prepare(sql), mostRows: mostRows, work: work)
    }
}

/// A statement of a foreign database: parameters from 1, columns from 0.
package final class ForeignStatement {
    private let statement: Statement
    private let mostRows: Int
    private let work: Int
    private var rows = 0

    init(_ statement: Statement, mostRows: Int, work: Int) {
        self.statement = statement
        self.mostRows = mostRows
        self.work = work
    }

    /// Binds an integer.
    package func bind(_ number: Int64, at position: Int32) { statement.bind(number, at: position) }

    /// Binds a text.
    package func bind(_ text: String, at position: Int32) {
        statement.bind(text: text, at: position)
    }

    /// Goes to the next row; returns whether there is one. A failure resets the statement.
    ///
    /// - Throws: `StorageError` with code `.unsupported` when the step is too much work, or the rows are more than the file
    ///   can hold.
    package func next() throws(StorageError) -> Bool {
        do throws(StorageError) {
            guard try statement.step(within: work) else { return false }
        } catch  where error.code == .interrupted {
            throw StorageError(
                .unsupported, "A table of the SQLite file takes too long to read.",
                underlying: error)
        }
        rows += 1
        guard rows <= mostRows else {
            throw StorageError(
                .unsupported, "A table of the SQLite file has more rows than the file has room for."
            )
        }
        return true
    }

    /// Makes the statement ready to run again.
    package func reset() {
        rows = 0
        statement.reset()
    }

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
