// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
package import DivanJSON
internal import DivanSystem

/// The file `listener.json`: a listener's ID, its secret, and its users.
///
///     {"uuid": "…", "secret": "…",
///      "users": {"ann": {"scheme": "pbkdf2-sha256", "iterations": 600000,
///                        "salt": "…", "key": "…", "roles": ["_admin"]}}}
package struct AccountsFile: Sendable {
    /// What is kept of a user.
    package struct User: Sendable, Equatable {
        var salt: [UInt8]
        var key: [UInt8]
        var iterations: Int
        /// The roles.
        package var roles: NameSet
        /// Hashing more often than this would keep a processor busy for seconds.
        static let mostIterations: Int64 = 10_000_000

        /// Hashes a password with a salt of its own.
        package init(
            password: String, roles: NameSet, iterations: Int = AccountsFile.iterations
        ) {
            // As a text, so that it can be shown in the configuration and taken to a CouchDB.
            salt = Array(Hexadecimal.text(RandomBytes.make(16)).utf8)
            key = Secrets.derive(password, salt: salt, iterations: iterations)
            self.iterations = iterations
            self.roles = roles
        }

        /// Takes a hash that was made elsewhere.
        init(salt: [UInt8], key: [UInt8], iterations: Int, roles: NameSet) {
            self.salt = salt
            self.key = key
            self.iterations = iterations
            self.roles = roles
        }

        init?(_ value: JSONValue) {
            guard value["scheme"]?.string == "pbkdf2-sha256",
                let salt = value["salt"]?.string.flatMap(Hexadecimal.bytes),
                let key = value["key"]?.string.flatMap(Hexadecimal.bytes),
                let iterations = value["iterations"]?.int64,
                (1...Self.mostIterations).contains(iterations)
            else { return nil }
            self.salt = salt
            self.key = key
            self.iterations = Int(clamping: iterations)
            roles = NameSet((value["roles"]?.array ?? []).compactMap(\.string))
        }

        var json: JSONValue {
            [
                "scheme": "pbkdf2-sha256", "iterations": JSONValue(iterations),
                "salt": .string(Hexadecimal.text(salt)), "key": .string(Hexadecimal.text(key)),
                "roles": .array(roles.sorted().map { .string($0) }),
            ]
        }
    }

    /// Rounds of PBKDF2 for new passwords: what OWASP asks for with SHA-256.
    package static let iterations = 600_000

    var uuid: String
    var secret: [UInt8]
    /// The users, by name.
    package var users: NameMap<User> = [:]
    /// When the file was written; nil while there is none.
    var stamp: Stamp?

    /// Tells one writing of a file from the next.
    struct Stamp: Sendable, Equatable {
        var written: FileTime
        var identity: FileIdentity
    }

    init() {
        uuid = Hexadecimal.text(RandomBytes.make(16))
        secret = RandomBytes.make(32)
    }

    /// Reads a file, or makes it; in a place where none can be written, it stays in memory.
    ///
    /// - Throws: `HTTPFailure` when there is one that is malformed.
    package static func load(_ path: String?) throws -> AccountsFile {
        guard let path else { return AccountsFile() }
        guard let stamp = stamp(path) else {
            var file = AccountsFile()
            if file.write(to: path) { file.stamp = Self.stamp(path) }
            return file
        }
        guard let bytes = read(path) else {
            throw HTTPFailure(
                500, "internal_server_error",
                "The file of users cannot be read; give it to the user of this process.")
        }
        guard let value = try? JSONParser.parse(bytes),
            let uuid = value["uuid"]?.string,
            let secret = value["secret"]?.string.flatMap(Hexadecimal.bytes)
        else {
            throw HTTPFailure(500, "internal_server_error", "The file of users is malformed.")
        }
        var file = AccountsFile()
        file.uuid = uuid
        file.secret = secret
        file.stamp = stamp
        for (name, user) in value["users"]?.object ?? [:] { file.users[name] = User(user) }
        return file
    }

    /// Replaces the file; false when it cannot be written.
    package func write(to path: String) -> Bool {
        var users: JSONObject = [:]
        for (name, user) in self.users.sortedByName { users[name] = user.json }
        var text: [UInt8] = []
        JSONWriter.append(
            [
                "uuid": .string(uuid), "secret": .string(Hexadecimal.text(secret)),
                "users": .object(users),
            ], to: &text, pretty: true)
        return OwnersFile.replace(path, text)
    }

    private static func read(_ path: String) -> [UInt8]? { OwnersFile.read(path) }

    static func stamp(_ path: String) -> Stamp? {
        Files.status(of: path).map { Stamp(written: $0.written, identity: $0.identity) }
    }

    static var now: Int64 { WallClock.secondsSince1970 }
}
