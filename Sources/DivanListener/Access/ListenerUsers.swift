// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
public import DivanJSON
internal import DivanSystem

/// The users that the listeners of a directory know, kept in its `listener.json`.
///
/// A listener that runs follows changes at once; changing a password ends the user's sessions.
public struct ListenerUsers: Sendable {
    private let path: String

    /// The users of a directory with databases.
    public init(directory: String) { path = directory + "/listener.json" }

    /// The names, sorted, with the roles of each.
    ///
    /// - Throws: `DatabaseError` with code `.io` when the file is malformed.
    public func all() throws -> [(name: String, roles: [String])] {
        try load().users.sortedByName.map { ($0.key, $0.value.roles.sorted()) }
    }

    /// Adds a user, or replaces the password and roles of one.
    ///
    /// - Parameters:
    ///   - name: The name: not empty, and without a colon, which ends it in HTTP.
    ///   - password: The password; a salted hash of it is kept.
    ///   - roles: Roles, which the `_security` of databases may name; `_admin` may do everything.
    /// - Throws: `DatabaseError` with code `.invalidName` or `.io`.
    public func set(_ name: String, password: String, roles: NameSet = []) throws {
        guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: ":")), name.utf8.count <= 200 else {
            throw DatabaseError(
                .invalidName, "A user's name has 1 to 200 bytes and no colon; choose another one.")
        }
        // Hashed before the file is locked, since that takes a while.
        let user = AccountsFile.User(password: password, roles: roles)
        try change { $0.users[name] = user }
    }

    /// Removes a user.
    ///
    /// - Returns: Whether there was one.
    @discardableResult
    public func remove(_ name: String) throws -> Bool {
        // A user who is not there needs no right to write.
        guard try load().users[name] != nil else { return false }
        return try change { $0.users.removeValue(forKey: name) } != nil
    }

    private func load() throws -> AccountsFile {
        do { return try AccountsFile.load(path) } catch {
            throw DatabaseError(
                .io, "The file of users, listener.json, is malformed; mend or remove it.",
                underlying: error)
        }
    }

    private func change<T>(_ change: (inout AccountsFile) -> T) throws -> T {
        let unwritable = DatabaseError(
            .io, "The file of users, listener.json, cannot be written; check the directory.")
        // Until the end: other processes change it, too.
        guard let lock = OwnersFile.lock(path) else { throw unwritable }
        defer { lock.unlock() }
        var file = try load()
        let result = change(&file)
        guard file.write(to: path) else { throw unwritable }
        return result
    }
}
