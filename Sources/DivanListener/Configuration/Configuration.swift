// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanLogging
internal import DivanSystem
internal import Synchronization

/// What administrators have set by `_node/…/_config`.
///
/// It lies in the file `listener-config.json` beside the databases, readable by its owner only, since some keys are
/// secrets:
///
///     {"chttpd": {"enable_cors": "true"}, "cors": {"origins": "https://app.example.org"}}
///
/// The section `admins` is not in it: these are users of `listener.json`. What the listener makes of the texts are its
/// `settings`; the options of the app say what counts where nothing is set.
///
/// State: `state`, guarded by its mutex. The file is written under another one, so that it says what was decided last and
/// requests go on meanwhile.
final class Configuration: Sendable {
    /// The most keys, the longest name of a section or key, the longest text, and the most bytes of all together.
    static let mostKeys = 1_000
    static let longestName = 250
    static let longestText = 16 << 10
    static let mostBytes = 256 << 10

    private struct State {
        /// What is on the disk.
        var kept = ConfigurationTable()
        /// What counts, also what is to be forgotten when the listener starts anew.
        var table = ConfigurationTable()
        var settings: ListenerSettings
    }

    private let path: String?
    private let options: ListenerOptions
    /// What the program says.
    var given: ListenerOptions { options }
    /// Whether clients cannot change it.
    let isFrozen: Bool
    private let state: Mutex<State>
    /// Held over a change of the file; `state` changes under it only.
    private let writing = Mutex<Void>(())

    /// Reads the file of a directory, if there is one.
    ///
    /// - Parameters:
    ///   - path: The directory; nil to keep everything in memory.
    ///   - options: What counts where nothing is set.
    /// - Throws: `HTTPFailure` when the file is malformed.
    init(directory path: String?, options: ListenerOptions) throws {
        self.path = path.map { $0 + "/listener-config.json" }
        self.options = options
        isFrozen = options.fixesConfiguration
        let kept = isFrozen ? ConfigurationTable() : try Self.load(self.path)
        state = Mutex(
            State(kept: kept, table: kept, settings: ListenerSettings(kept, options)))
    }

    /// One that says what options say, and keeps nothing.
    init(options: ListenerOptions = ListenerOptions()) {
        path = nil
        self.options = options
        isFrozen = true
        state = Mutex(State(settings: ListenerSettings(ConfigurationTable(), options)))
    }

    /// What the listener makes of the texts.
    var settings: ListenerSettings { state.withLock { $0.settings } }

    /// The name of the database of users, which is asked for with each request.
    var usersDatabase: String { state.withLock { $0.settings.usersDatabase } }

    /// What was set.
    var table: ConfigurationTable { state.withLock { $0.table } }

    // MARK: - Changing

    /// Sets a key, or removes it.
    ///
    /// - Parameters:
    ///   - section: The section.
    ///   - key: The key.
    ///   - text: The text; nil to remove the key.
    ///   - isKept: Whether it is kept on the disk.
    ///   - check: Throws where what would count then cannot be.
    /// - Throws: `HTTPFailure` 400 when there is no room or the name or text cannot be kept, 403 when clients may change
    ///   nothing, 500 when the file cannot be written; what `check` throws. Nothing is changed then.
    func set(
        _ section: String, _ key: String, to text: String?, isKept: Bool,
        check: (ListenerSettings) throws -> Void = { _ in }
    ) throws {
        guard !isFrozen else { throw Self.frozen }
        if let text { try Self.check(section, key, text) }
        try writing.withLock { _ in
            var (kept, table) = state.withLock { ($0.kept, $0.table) }
            // Another process may have changed the file.
            if isKept, path != nil { kept = try Self.load(path) }
            table[section, key] = text
            if isKept { kept[section, key] = text }
            for one in [kept, table] where text != nil {
                guard one.count <= Self.mostKeys, one.byteCount <= Self.mostBytes else {
                    throw HTTPFailure.badRequest(
                        "The configuration is full; delete keys that nothing needs.")
                }
            }
            try check(ListenerSettings(table, options))
            if isKept { try write(kept) }
            let (newKept, newTable) = (kept, table)
            state.withLock { state in
                state.kept = newKept
                apply(newTable, &state)
            }
        }
    }

    /// Forgets what is not on the disk, and reads what is.
    ///
    /// - Parameter check: Throws where what would count then cannot be.
    /// - Throws: `HTTPFailure` when the file is malformed; what `check` throws. Nothing is changed then.
    func reload(check: (ListenerSettings) throws -> Void = { _ in }) throws {
        guard !isFrozen else { return }
        try writing.withLock { _ in
            let kept = try Self.load(path)
            try check(ListenerSettings(kept, options))
            state.withLock { state in
                state.kept = kept
                apply(kept, &state)
            }
        }
    }

    private func apply(_ table: ConfigurationTable, _ state: inout State) {
        state.table = table
        state.settings = ListenerSettings(table, options)
    }

    static let frozen = HTTPFailure.forbidden(
        "The configuration of this listener cannot be changed by clients; change its options.")

    /// Refuses names and texts that cannot be kept.
    static func check(_ section: String, _ key: String, _ text: String) throws {
        func isName(_ name: String) -> Bool {
            (1...longestName).contains(name.utf8.count)
                && name.utf8.allSatisfy {
                    $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "[") && $0 != UInt8(ascii: "]")
                }
        }
        guard isName(section) else {
            throw HTTPFailure.badRequest("Invalid configuration section")
        }
        guard isName(key) else { throw HTTPFailure.badRequest("Invalid configuration key") }
        // A line feed stands in the PEM of a key.
        guard text.utf8.count <= longestText,
            text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 || $0 == 0x0A })
        else { throw HTTPFailure.badRequest("Invalid configuration value") }
    }

    // MARK: - The file

    private static func load(_ path: String?) throws -> ConfigurationTable {
        guard let path, Files.exists(path) else { return ConfigurationTable() }
        // What cannot be read may ask every client for a name.
        guard let bytes = OwnersFile.read(path) else {
            throw HTTPFailure(
                500, "internal_server_error",
                "The file listener-config.json cannot be read; give its owner the right to.")
        }
        let malformed = HTTPFailure(
            500, "internal_server_error",
            "The file listener-config.json is malformed; mend or remove it.")
        guard let object = (try? JSONParser.parse(bytes))?.object else { throw malformed }
        var table = ConfigurationTable()
        for (section, keys) in object {
            guard let keys = keys.object else { throw malformed }
            for (key, text) in keys {
                guard let text = text.string else { throw malformed }
                table[section, key] = text
            }
        }
        return table
    }

    private func write(_ table: ConfigurationTable) throws {
        guard let path else { return }
        var object: JSONObject = [:]
        for (section, keys) in table.sections.sortedByName {
            object[section] = .object(
                JSONObject(keys.sortedByName.map { ($0.key, JSONValue.string($0.value)) }))
        }
        var text: [UInt8] = []
        JSONWriter.append(.object(object), to: &text, pretty: true)
        guard OwnersFile.replace(path, text) else {
            Log.listener.error("The file listener-config.json could not be written.")
            throw HTTPFailure(
                500, "internal_server_error", "The configuration could not be written.")
        }
    }
}
