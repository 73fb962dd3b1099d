// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

/// All SQL that names a store's table.
///
///      integer store   CREATE TABLE "revisions" (key INTEGER PRIMARY KEY, value BLOB)
///      bytes store     CREATE TABLE "documents" (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID
///
/// A store's name is its table's name. Names have no quotation mark in them (`StoreName.isValid`),
/// so quoting is putting two around.
enum TableSQL {
    /// Asks whether a table exists.
    static let exists = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1"

    /// Lists the tables with the SQL that made them.
    static let list = """
        SELECT name, sql LIKE '%WITHOUT ROWID' FROM sqlite_schema
        WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name
        """

    static func create(_ name: StoreName) -> String {
        switch name.kind {
        case .integer:
            "CREATE TABLE \"\(name)\" (key INTEGER PRIMARY KEY, value BLOB)"
        case .bytes:
            "CREATE TABLE \"\(name)\" (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID"
        }
    }

    static func drop(_ name: StoreName) -> String {
        "DROP TABLE IF EXISTS \"\(name)\""
    }

    static func sql(_ operation: StoreStatements.Operation, _ name: StoreName) -> String {
        let table = "\"\(name)\""
        return switch operation {
        case .lookUp: "SELECT value FROM \(table) WHERE key = ?1"
        case .replace: replace(name)
        case .insert: "INSERT OR IGNORE INTO \(table) VALUES (?1, ?2)"
        case .remove: "DELETE FROM \(table) WHERE key = ?1"
        case .removeAll: "DELETE FROM \(table)"
        case .count: "SELECT count(*) FROM \(table)"
        case .ascendFrom: "SELECT key, value FROM \(table) WHERE key >= ?1 ORDER BY key"
        case .ascendFromAtMost:
            """
            SELECT key, value FROM \(table) WHERE key >=
            (SELECT key FROM \(table) WHERE key <= ?1 ORDER BY key DESC LIMIT 1) ORDER BY key
            """
        case .descendFrom: "SELECT key, value FROM \(table) WHERE key <= ?1 ORDER BY key DESC"
        case .ascend: "SELECT key, value FROM \(table) ORDER BY key"
        case .walk:
            """
            SELECT 1 FROM \(table) WHERE key >= ?1 AND \(RowWalk.function)(?2, key, value) ORDER BY key
            """
        case .descend: "SELECT key, value FROM \(table) ORDER BY key DESC"
        }
    }

    /// Putting a row, in place of an older one, in the way that is cheapest for the kind of table.
    ///
    /// REPLACE overwrites a row under an integer key where it stands. A table without row IDs deletes
    /// and inserts it instead, which took 2.5 times as long as an update did.
    private static func replace(_ name: StoreName) -> String {
        switch name.kind {
        case .integer:
            "REPLACE INTO \"\(name)\" VALUES (?1, ?2)"
        case .bytes:
            """
            INSERT INTO "\(name)" VALUES (?1, ?2)
            ON CONFLICT (key) DO UPDATE SET value = excluded.value
            """
        }
    }
}
