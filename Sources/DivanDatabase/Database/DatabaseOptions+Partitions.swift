// SPDX-License-Identifier: Apache-2.0

extension DatabaseOptions {
    /// Refuses to open a database as the other kind.
    ///
    /// - Parameters:
    ///   - isPartitioned: Whether the database is partitioned.
    ///   - name: Its name, for the error.
    /// - Throws: `DatabaseError` with code `.databaseExists`.
    func checkKind(_ isPartitioned: Bool, _ name: String) throws {
        guard let partitioned, partitioned != isPartitioned else { return }
        throw DatabaseError(
            .databaseExists,
            partitioned
                ? "The database '\(name)' exists and has no partitions, which cannot be changed; copy its "
                    + "documents into a partitioned one."
                : "The database '\(name)' exists and is partitioned, which cannot be changed; copy its "
                    + "documents into another one.")
    }
}
