// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

// Administrators as CouchDB's configuration has them, in its section `admins`:
//
//     ann = -pbkdf2:sha256-<the key, hexadecimal>,<the salt>,<rounds>
//
// They are the users of `listener.json` with the role `_admin`.
extension Accounts {
    /// The names of administrators, with what is told of the password of each.
    var admins: NameMap<String> {
        refresh()
        var admins: NameMap<String> = [:]
        for (name, user) in storedUsers where user.roles.contains(ListenerUser.adminRole) {
            admins[name] = user.hashText
        }
        // A password that was given in clear has no hash that could be shown.
        for name in givenNames { admins[name] = "-given-" }
        return admins
    }

    /// Makes an administrator, or gives one another password.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - text: A password, or what is told of one.
    /// - Throws: `HTTPFailure` 400 where the name cannot be one or the hash is of another kind, 403 where the program gives
    ///   the password, 500 where the file cannot be written.
    func setAdmin(_ name: String, _ text: String) throws {
        try checkAdmin(name)
        guard !text.isEmpty else {
            throw HTTPFailure.badRequest("A password cannot be empty; delete the key instead.")
        }
        refresh()
        let former = storedUsers[name]
        let formerRoles = former?.roles ?? []
        // Scripts write back what they were shown.
        if let former, formerRoles.contains(ListenerUser.adminRole),
            former.hashText.hasSameBytes(as: text)
        {
            return
        }
        let roles = formerRoles.union([ListenerUser.adminRole])
        let user: AccountsFile.User
        if ["-pbkdf2", "-hashed-"].contains(where: text.hasBytePrefix) {
            guard let known = AccountsFile.User(hashText: text, roles: roles) else {
                throw HTTPFailure.badRequest(
                    "The hash is not of the form -pbkdf2:sha256-KEY,SALT,ROUNDS; send a password.")
            }
            user = known
        } else {
            user = AccountsFile.User(password: text, roles: roles)
        }
        try edit { $0.users[name] = user }
    }

    /// Removes an administrator.
    ///
    /// - Throws: As `setAdmin`.
    func removeAdmin(_ name: String) throws {
        try checkAdmin(name)
        try edit { $0.users[name] = nil }
    }

    private func checkAdmin(_ name: String) throws {
        guard !givenNames.contains(where: { $0.hasSameBytes(as: name) }) else {
            throw HTTPFailure.forbidden(
                "The program that runs the listener gives the password of this administrator; change it there."
            )
        }
        guard (1...200).contains(name.utf8.count), !name.utf8.contains(UInt8(ascii: ":")) else {
            throw HTTPFailure.badRequest(
                "A user's name has 1 to 200 bytes and no colon; choose another one.")
        }
    }
}

extension AccountsFile.User {
    private static let hashPrefix = "-pbkdf2:sha256-"

    /// What is told of the password. The salt of one that an earlier release has hashed is no text, so it is shown as
    /// hexadecimal digits.
    var hashText: String {
        let isText = salt.allSatisfy { (0x21..<0x7F).contains($0) && $0 != UInt8(ascii: ",") }
        let salt = isText ? String(decoding: salt, as: UTF8.self) : Hexadecimal.text(salt)
        return Self.hashPrefix + "\(Hexadecimal.text(key)),\(salt),\(iterations)"
    }

    /// A user by what is told of the password; nil where that is of another kind.
    init?(hashText text: String, roles: NameSet) {
        guard
            let parts = text.afterBytePrefix(Self.hashPrefix)?
                .split(separator: ",", omittingEmptySubsequences: false),
            parts.count == 3, let key = Hexadecimal.bytes(String(parts[0])), key.count == 32,
            !parts[1].isEmpty, let rounds = Int64(parts[2], radix: 10),
            (1...Self.mostIterations).contains(rounds)
        else { return nil }
        self.init(
            salt: Array(parts[1].utf8), key: key, iterations: Int(clamping: rounds), roles: roles)
    }
}
