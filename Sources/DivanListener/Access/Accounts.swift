// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanLogging
internal import DivanSystem
internal import Synchronization

/// The users of a listener, its own ID, and the key that signs its cookies.
///
/// They lie in the file `listener.json` beside the databases, readable by its owner only, or in memory
/// when there can be no such file. A password is kept as a salted hash; a cookie names its user and
/// when it ends, and is signed with a key that only this listener has.
///
/// State: `state`, guarded by its mutex. The file is read anew when it has changed, so that `divan users`
/// works beside a running listener.
final class Accounts: Sendable {
    private struct State {
        var file: AccountsFile
        /// Passwords that were right, signed: hashing one takes a good part of a second.
        var verified: Set<[UInt8]> = []
    }

    /// So many passwords that were right are remembered.
    private static let mostVerified = 10_000

    private let path: String?
    /// The signed passwords of users of this run, which were given in clear: there is no file to protect them in.
    private let given: NameMap<[UInt8]>
    /// Users that are kept elsewhere: the documents of `_users`.
    private let others: @Sendable (String) -> AccountsFile.User?
    /// Whether one of those cannot sign in until an administrator has resolved the conflict of the document.
    private let isBlocked: @Sendable (String) -> Bool
    /// The roles that one of those gives an administrator of the same name.
    private let moreRoles: @Sendable (String) -> NameSet
    /// How long sessions hold, and by what they are signed.
    private let configuration: Configuration
    /// Signs what `verified` remembers.
    private let memoryKey = RandomBytes.make(32)
    /// Held over a change of the file, during which requests go on.
    private let editing = Mutex<Void>(())
    private let state: Mutex<State>

    /// Reads the file of a directory, or makes one.
    ///
    /// - Parameters:
    ///   - path: The directory; nil to keep everything in memory.
    ///   - passwords: Users of this run only, who may do everything, by name.
    ///   - configuration: What says how long sessions hold, and by what they are signed.
    ///   - isBlocked: Whether a user that is kept elsewhere cannot sign in because of a conflict.
    ///   - others: Finds users that are kept elsewhere; the file's go before them.
    ///   - moreRoles: The roles that are kept elsewhere for the name of an administrator.
    /// - Throws: `HTTPFailure` when the file is malformed.
    init(
        directory path: String?, passwords: NameMap<String> = [:],
        configuration: Configuration = Configuration(),
        isBlocked: @escaping @Sendable (String) -> Bool = { _ in false },
        others: @escaping @Sendable (String) -> AccountsFile.User? = { _ in nil },
        moreRoles: @escaping @Sendable (String) -> NameSet = { _ in [] }
    ) throws {
        self.others = others
        self.moreRoles = moreRoles
        self.isBlocked = isBlocked
        self.configuration = configuration
        self.path = path.map { $0 + "/listener.json" }
        given = passwords.mapValues { [memoryKey] in Secrets.sign(Array($0.utf8), key: memoryKey) }
        state = Mutex(State(file: try AccountsFile.load(self.path)))
    }

    /// The listener's ID, the same after each start.
    var uuid: String { state.withLock { $0.file.uuid } }

    /// Whether there are no users.
    var isEmpty: Bool { given.isEmpty && state.withLock { $0.file.users.isEmpty } }

    /// The users of the file.
    var storedUsers: NameMap<AccountsFile.User> { state.withLock { $0.file.users } }

    /// The names of the users of this run.
    var givenNames: [String] { Array(given.keys) }

    /// What the configuration says of sessions.
    var settings: ListenerSettings { configuration.settings }

    /// What is kept of a user. An administrator who has a document in `_users`, too, has the roles of both.
    func account(_ name: String) -> AccountsFile.User? {
        guard var account = ownAccount(name) else { return others(name) }
        if account.roles.contains(ListenerUser.adminRole) {
            account.roles.formUnion(moreRoles(name))
        }
        return account
    }

    /// A user of this run or of the file.
    private func ownAccount(_ name: String) -> AccountsFile.User? {
        if let key = given[name] {
            return AccountsFile.User(
                salt: [], key: key, iterations: 0, roles: [ListenerUser.adminRole])
        }
        return state.withLock { $0.file.users[name] }
    }

    /// Whether a user cannot sign in by any password until an administrator has resolved a conflict.
    func isBlocked(_ name: String) -> Bool {
        guard given[name] == nil, state.withLock({ $0.file.users[name] }) == nil else {
            return false
        }
        return isBlocked(name)
    }

    // MARK: - Passwords

    /// The user of a name and password that were found to be right before, without hashing; nil otherwise.
    func rememberedUser(_ name: String, password: String) -> ListenerUser? {
        refresh()
        guard let account = account(name) else { return nil }
        let isRight =
            account.iterations == 0
            ? Secrets.areEqual(Secrets.sign(Array(password.utf8), key: memoryKey), account.key)
            : state.withLock { $0.verified.contains(mark(name, password, account)) }
        return isRight ? user(name, of: account, method: "default") : nil
    }

    /// The user whom an account proves, as it is now.
    func user(_ name: String, of account: AccountsFile.User, method: String) -> ListenerUser {
        var user = ListenerUser(name: name, roles: account.roles, method: method)
        user.proof = AccountProof(
            passwordHash: account.key, signingKey: signingKey(of: account))
        return user
    }

    /// The user of a name and password; nil when either is wrong.
    ///
    /// Whatever is wrong takes the same time: as many rounds of hashing as a password that is made today. So the time
    /// does not tell which names are known.
    func user(_ name: String, password: String) -> ListenerUser? {
        if let user = rememberedUser(name, password: password) { return user }
        let known = account(name)
        let rounds = known?.iterations ?? 0
        if let known, rounds > 0,
            Secrets.areEqual(
                Secrets.derive(password, salt: known.salt, iterations: rounds), known.key)
        {
            state.withLock { state in
                if state.verified.count >= Self.mostVerified { state.verified = [] }
                state.verified.insert(mark(name, password, known))
            }
            // A password that was changed meanwhile leaves a user whose proof no longer holds.
            return user(name, of: known, method: "default")
        }
        if rounds < AccountsFile.iterations {
            _ = Secrets.derive(
                password, salt: memoryKey, iterations: AccountsFile.iterations - rounds)
        }
        return nil
    }

    private func mark(_ name: String, _ password: String, _ account: AccountsFile.User) -> [UInt8] {
        Secrets.sign(Array("\(name)\0\(password)\0".utf8) + account.key, key: memoryKey)
    }

    /// Reads the file anew if it has changed.
    func refresh() {
        guard let path else { return }
        state.withLock { state in
            let stamp = AccountsFile.stamp(path)
            guard stamp != state.file.stamp else { return }
            do {
                state.file = try AccountsFile.load(path)
                state.verified = []
            } catch {
                // Once for each such file: the former users hold until it can be read.
                state.file.stamp = stamp
                Log.listener.error(
                    "The file '\(path)' was changed and cannot be read, so the former users hold: \(error)"
                )
            }
        }
    }

    /// Changes the users of the file.
    ///
    /// - Throws: `HTTPFailure` 500 when the file cannot be written; nothing is changed then.
    func edit(_ change: (inout AccountsFile) -> Void) throws {
        try editing.withLock { _ in
            let lock = path.flatMap(OwnersFile.lock)
            defer { lock?.unlock() }
            guard path == nil || lock != nil else {
                throw HTTPFailure(
                    500, "internal_server_error", "The file of users could not be written.")
            }
            // What another process has changed stays, and a file that is malformed is not replaced.
            var file = try path.map(AccountsFile.load) ?? state.withLock { $0.file }
            change(&file)
            if let path {
                guard file.write(to: path) else {
                    throw HTTPFailure(
                        500, "internal_server_error", "The file of users could not be written.")
                }
                file.stamp = AccountsFile.stamp(path)
            }
            let changed = file
            state.withLock { state in
                state.file = changed
                state.verified = []
            }
        }
    }

    /// The key of an account's cookies: it changes with the password, which so ends all sessions, and with the secret of the
    /// configuration.
    func signingKey(of account: AccountsFile.User) -> [UInt8] {
        (settings.secret ?? state.withLock { $0.file.secret }) + account.key
    }

    static var now: Int64 { AccountsFile.now }
}
