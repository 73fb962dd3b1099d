// SPDX-License-Identifier: Apache-2.0

import DivanStorage
import DivanTestSupport
import Testing

@testable import DivanSQLite

/// A database of another program, whose SQL and pages may be made to keep its reader busy without end.
@Suite struct ForeignDatabaseTests {
    private let folder: ScratchDirectory

    init() throws { folder = try ScratchDirectory() }

    private func foreign(_ sql: String...) throws -> ForeignDatabase {
        let path = folder.path + "/foreign.sqlite3"
        let connection = try Connection(location: path, flags: 0x06)
        for line in sql { try connection.execute(line) }
        return try ForeignDatabase(path: path)
    }

    @Test func `a view and a virtual table are no tables`() throws {
        let database = try foreign(
            "CREATE TABLE t (a, b)", "CREATE VIEW v AS SELECT a FROM t",
            "CREATE VIRTUAL TABLE f USING fts5(a)")
        #expect(try database.columns(of: "t") == ["a", "b"])
        #expect(try database.columns(of: "none") == [])
        for name in ["v", "V", "f"] {
            let error = #expect(throws: StorageError.self) { try database.columns(of: name) }
            #expect(error?.code == .unsupported)
        }
    }

    @Test func `a step that computes without end is ended`() throws {
        let database = try foreign("CREATE TABLE t (a)")
        database.work = 1_000_000
        let endless = try database.statement(
            "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c")
        let error = #expect(throws: StorageError.self) { try endless.next() }
        #expect(error?.code == .unsupported)
        #expect(error?.message == "A table of the SQLite file takes too long to read.")
    }

    @Test func `rows that the file has no room for are not read`() throws {
        let database = try foreign("CREATE TABLE t (a)", "INSERT INTO t VALUES (1), (2), (3)")
        let rows = try database.statement(
            "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c")
        let error = #expect(throws: StorageError.self) { while try rows.next() {} }
        #expect(
            error?.message == "A table of the SQLite file has more rows than the file has room for."
        )
        let three = try database.statement("SELECT a FROM t")
        var count = 0
        while try three.next() { count += 1 }
        #expect(count == 3)
    }
}
