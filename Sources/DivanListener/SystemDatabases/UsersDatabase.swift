// SPDX-License-Identifier: Apache-2.0

package import DivanDatabase
internal import DivanJSON
internal import DivanModel

// Which database is that of the users: `_users`, or the one that `chttpd_auth/authentication_db` names. Names, passwords and
// roles count from that one alone. What is asked of accounts is asked in both, so that there are no passwords in either.
extension SystemDatabase {
    /// Whether users may be in a database of a name: there is none that the listener needs for other things.
    static func mayBeUsers(_ name: String) -> Bool {
        Manager.isValidDatabaseName(name) && (SystemDatabase(rawValue: name) ?? .users) == .users
    }
}

extension ListenerUsers {
    /// Has this process store nothing in `_users` but accounts, as a listener does: for programs that write without one.
    ///
    /// - Parameter database: The database; another one stays as it is.
    package static func keepRules(of database: Database) {
        if SystemDatabase(rawValue: database.name) == .users { UsersDesign.register(in: database) }
    }
}

extension Site {
    /// What a database is to the listener; nil for the app's.
    func systemDatabase(named name: String) -> SystemDatabase? {
        if let fixed = SystemDatabase(rawValue: name) { return fixed }
        return name.hasSameBytes(as: configuration.usersDatabase) ? .users : nil
    }

    /// Changes the configuration, which may name another database of users.
    ///
    /// - Parameter change: Changes it, and asks first what it is given whether the settings can be.
    /// - Throws: What `change` throws; `HTTPFailure` 400 where the database has passwords that were not hashed, and
    ///   `DatabaseError`.
    func reconfigure(
        _ change: (_ check: (ListenerSettings) throws -> Void) throws -> Void
    ) throws {
        let former = configuration.usersDatabase
        try change { settings in
            let name = settings.usersDatabase
            guard !name.hasSameBytes(as: former), let database = manager[name] else { return }
            try Self.checkHashes(in: database)
        }
        let name = configuration.usersDatabase
        guard !name.hasSameBytes(as: former) else { return }
        if systemDatabase(named: former) == nil,
            let database = manager.openedDatabase(named: former)
        {
            UsersDesign.unregister(in: database)
        }
        guard !options.readOnly, let database = try manager.existingDatabase(named: name) else {
            return
        }
        try takeUsers(database)
    }

    /// Makes a database one of users.
    ///
    /// One that is not `_users` is closed to users where it would be open to those who are signed in: they would read all
    /// accounts once another database is named.
    func takeUsers(_ database: Database) throws {
        try UsersDesign.add(to: database)
        guard SystemDatabase(rawValue: database.name) == nil,
            configuration.settings.openDatabases == .users,
            try SecurityObject.stored(in: database).isEmpty
        else { return }
        try SecurityObject.store(SecurityObject.adminsOnly, in: database)
    }

    /// Refuses a database that has passwords as they were sent.
    private static func checkHashes(in database: Database) throws {
        var options = AllDocumentsOptions()
        options.startID = DocumentID(UserDocument.prefix)
        options.endID = UserDocument.end
        try database.forEachDocumentID(options) { bytes in
            let id = DocumentID(copying: bytes)
            let branches = try UserDocument.branches(id, in: database)
            guard !branches.contains(where: UserDocument.hasPassword) else {
                throw HTTPFailure.badRequest(
                    "The database `\(database.name)` has a password that is not hashed, in `\(id.text)`; delete such documents first."
                )
            }
        }
    }
}
