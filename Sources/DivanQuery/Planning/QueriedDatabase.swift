// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase

/// The database that a query asks.
///
/// A query keeps it open, so that it can be made and run without a variable for the database. A live query does not:
/// it ends when the app lets go of the database.
struct QueriedDatabase: Sendable {
    let core: DatabaseCore
    /// What is kept for the database object, and knows whether that has been closed.
    let states: ModuleStates
    /// Keeps it open; nil in a live query.
    private var database: Database?

    init(_ database: Database) {
        core = database.core
        states = database.states
        self.database = database
    }

    /// The same database, not kept open.
    var unheld: QueriedDatabase {
        var unheld = self
        unheld.database = nil
        return unheld
    }

    /// Refuses a closed database with `.databaseClosed`. One that is not kept open refuses to be read then.
    func checkOpen() throws { try database?.checkOpen() }
}
