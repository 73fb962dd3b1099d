// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanHTTP
internal import DivanJSON
internal import DivanQuery
internal import DivanReplication

/// A `ListenerHub` that was read and checked: which databases are meant, and what the edge says to the hub.
struct EdgeRules: Sendable {
    /// The hub's address without credentials, with a slash at its end.
    let base: String
    let hub: ListenerHub
    let authenticator: ReplicationAuthenticator?
    /// Patterns that choose, and those that leave out.
    let chosen: [DatabasePattern]
    private let left: [DatabasePattern]

    /// Reads a hub.
    ///
    /// - Throws: `DatabaseError` with code `.invalidName` when the address or a pattern is wrong, and `.invalidQuery` for a
    ///   selector, a filter or one of its parameters.
    init(_ hub: ListenerHub) throws {
        self.hub = hub
        guard let url = try? HTTPURL(typed: hub.url), url.query == nil else {
            throw DatabaseError(
                .invalidName,
                "The address of the hub is none; write it as https://hub.example.org:6984.")
        }
        if let problem = hub.trust.problem(for: url) {
            throw DatabaseError(.invalidName, problem)
        }
        authenticator =
            hub.authenticator
            ?? url.user.map { .session(name: $0.name, password: $0.password) }
        base = url.origin + url.path + (url.path.hasByteSuffix("/") ? "" : "/")
        guard hub.databases.count <= ListenerHub.mostDatabases else {
            throw DatabaseError(
                .invalidName,
                "An edge follows \(ListenerHub.mostDatabases) databases at most; name them by a pattern."
            )
        }
        chosen = try hub.databases.filter { !$0.hasBytePrefix("!") }.map(Self.pattern)
        left = try hub.databases.compactMap { $0.afterBytePrefix("!") }.map(Self.pattern)
        guard !chosen.isEmpty || hub.followsUsers else {
            throw DatabaseError(
                .invalidName, "Name the databases that are kept in step with the hub, or say `*`.")
        }
        guard hub.filter == nil || hub.selector == nil else {
            throw DatabaseError(
                .invalidQuery, "A filter and a selector exclude each other; leave out one of them.")
        }
        if let problem = FilterParameters.problem(hub.filterParameters) {
            throw DatabaseError(.invalidQuery, problem)
        }
        if let selector = hub.selector { _ = try DocumentSelector(json: .object(selector)) }
    }

    /// Whether a text has only bytes of names of databases, and some more, and is no longer than such a name.
    private static func isLikeName(_ text: String, and more: String = "") -> Bool {
        !text.isEmpty && text.utf8.count < 240
            && text.utf8.allSatisfy { byte in
                (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
                    || "_$()+-/".utf8.contains(byte) || more.utf8.contains(byte)
            }
    }

    /// Whether a database here can have a name that a hub has told of.
    static func isName(_ text: String) -> Bool {
        isLikeName(text) && text.utf8.first.map { (0x61...0x7A).contains($0) } ?? false
    }

    private static func pattern(_ text: String) throws -> DatabasePattern {
        let isSystem = text.utf8.first == UInt8(ascii: "_")
        guard isLikeName(text, and: "*?"), !isSystem else {
            throw DatabaseError(
                .invalidName,
                "'\(text)' names no databases that an edge follows; use a name such as 'orders' or a pattern such as 'readings-*'."
            )
        }
        return DatabasePattern(text)
    }

    /// Whether a database is followed, as far as patterns say so.
    func isChosen(_ name: String) -> Bool {
        name.utf8.first != UInt8(ascii: "_") && chosen.contains { $0.matches(name) }
            && !isLeftOut(name)
    }

    /// Whether a pattern means a database, so that the hub lists it where it has it.
    func isChosenByList(_ name: String) -> Bool {
        chosen.contains { !$0.isName && $0.matches(name) }
    }

    /// Whether a pattern leaves a database out.
    func isLeftOut(_ name: String) -> Bool { left.contains { $0.matches(name) } }

    /// The settings of requests to the hub.
    var settings: ReplicationConfiguration {
        var settings = ReplicationConfiguration()
        sign(&settings)
        return settings
    }

    /// Adds to a replication of a document that the edge has written what that does not hold: who the edge is, and
    /// whom it trusts.
    ///
    /// - Parameter request: What the document says.
    func sign(_ request: inout ReplicateRequest) {
        for end in [request.source, request.target] {
            // Nowhere else: the document can be edited.
            guard case .url(let url) = end, url.hasBytePrefix(base) else { continue }
            sign(&request.settings)
        }
    }

    private func sign(_ settings: inout ReplicationConfiguration) {
        settings.trust = hub.trust
        settings.isAutomatic = true
        if settings.authenticator == nil { settings.authenticator = authenticator }
    }

    /// The address of a database of the hub.
    func url(of name: String) -> String { base + PercentEncoding.encode(name) }

    /// The database of a user, as CouchDB calls it.
    static func database(ofUser name: String) -> String {
        "userdb-" + Hexadecimal.text(Array(name.utf8))
    }
}
