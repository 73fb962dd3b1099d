// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
package import DivanJSON

/// A server of databases behind HTTP, apart from any replication with one of them.
///
/// ```swift
/// let server = try RemoteServer("https://hub.example.org:6984", settings)
/// let names = try await server.databaseNames(beginning: "readings-", limit: 1_000) { _ in true }
/// ```
///
/// Each call is one request, or some for a long list. It throws `ReplicationError`, whose `status` is that of the answer.
package struct RemoteServer: Sendable {
    /// The longest answer, in bytes.
    private static let longestAnswer = 4 << 20
    /// How many names are asked for at a time, and how often.
    private static let (page, mostPages) = (1_000, 1_000)

    /// What a server tells of one of its databases.
    package struct DatabaseInformation: Sendable {
        /// Whether the IDs of its documents name partitions.
        package var isPartitioned: Bool
    }

    private let connection: any WireConnection

    /// Makes a server of its URL and of what a replication's settings say about how to speak to it.
    ///
    /// - Throws: `ReplicationError` with code `.invalidSetting` when the URL or a setting is wrong.
    package init(_ url: String, _ settings: ReplicationConfiguration) throws {
        connection = try RemotePeers.connection(url, settings)
    }

    /// What the server calls itself; nil when it does not say.
    package func uuid() async throws -> String? {
        try await value(WireRequest(.get, ""), "the server")?["uuid"]?.string
    }

    /// The names of databases, of those that the user may list.
    ///
    /// - Parameters:
    ///   - prefix: What they begin with.
    ///   - limit: How many names at most.
    ///   - isMeant: Whether a name counts.
    /// - Returns: The names in the server's order; one more than the limit where there are more.
    /// - Throws: `ReplicationError`.
    package func databaseNames(
        beginning prefix: String, limit: Int, where isMeant: (String) -> Bool
    ) async throws -> [String] {
        var names: [String] = []
        var last: String?
        // A server that does not know these parameters would give the same again and again.
        for _ in 0..<Self.mostPages where names.count <= limit {
            var query = [("limit", "\(Self.page)")]
            // Names of databases are ASCII, so this is behind all that begin so.
            if !prefix.isEmpty { query.append(("end_key", "\"\(prefix)\u{7F}\"")) }
            let start = last ?? prefix
            if !start.isEmpty { query.append(("start_key", "\"\(start)\"")) }
            let answer = try await value(
                WireRequest(.get, "_all_dbs", query: query.map { (name: $0.0, value: $0.1) }),
                "the list of databases")
            guard let list = answer?.array else {
                throw ReplicationError(
                    .invalidAnswer, "'\(connection.name)' lists its databases with no array.",
                    isTransient: true)
            }
            // The last name of the page before comes first once more.
            let new = list.compactMap(\.string).filter {
                Self.isName($0) && !last.hasSameBytes(as: $0)
            }
            names += new.filter(isMeant)
            last = new.last
            if list.count < Self.page || new.isEmpty { break }
        }
        return Array(names.prefix(limit.addingSaturated(1)))
    }

    /// What the server tells of a database; nil when it has none of that name.
    package func information(of name: String) async throws -> DatabaseInformation? {
        let request = WireRequest(.get, PercentEncoding.encode(name))
        do {
            let value = try await value(request, "the database")
            return DatabaseInformation(
                isPartitioned: value?["props"]?["partitioned"]?.bool ?? false)
        } catch let error as ReplicationError where error.code == .notFound { return nil }
    }

    /// Makes a database; one that another client has made meanwhile will do.
    package func create(_ name: String, partitioned: Bool) async throws {
        let request = WireRequest(
            .put, PercentEncoding.encode(name), query: partitioned ? [("partitioned", "true")] : [])
        do { _ = try await value(request, "the new database") } catch let error as ReplicationError
            where error.status == 412
        {
            // It is there.
        }
    }

    /// Who may use a database.
    package func security(of name: String) async throws -> JSONObject {
        try await object(PercentEncoding.encode(name) + "/_security")
    }

    /// Says who may use a database.
    package func setSecurity(_ security: JSONObject, of name: String) async throws {
        let text = Array(JSONValue.object(security).description.utf8)
        _ = try await value(
            WireRequest(
                .put, PercentEncoding.encode(name) + "/_security", body: .json(text)), "_security")
    }

    /// The object that the server answers a request for something below its address with.
    ///
    /// - Parameters:
    ///   - path: What is asked for, percent-encoded.
    ///   - query: The query, not encoded.
    /// - Returns: The object.
    /// - Throws: `ReplicationError`, also when it answers with something else.
    package func object(_ path: String, query: [(name: String, value: String)] = []) async throws
        -> JSONObject
    {
        guard let object = try await value(WireRequest(.get, path, query: query), path)?.object
        else {
            throw ReplicationError(
                .invalidAnswer, "'\(connection.name)' answers \(path) with no object.", status: 200)
        }
        return object
    }

    /// The value of a successful answer.
    private func value(_ request: WireRequest, _ what: String) async throws -> JSONValue? {
        let response = try await connection.respond(to: request)
        guard (200...299).contains(response.status) else {
            throw ReplicationError(
                response, try await response.beginning(), what, at: connection.name)
        }
        let bytes = try await response.bytes(limit: Self.longestAnswer)
        guard HTTPPeer.isFit(bytes), let value = try? JSONParser.parse(bytes) else {
            throw ReplicationError(
                .invalidAnswer, "'\(connection.name)' answers \(what) with no JSON.",
                status: response.status, isTransient: true)
        }
        return value
    }

    /// Whether a text can be the name of a database, and so be asked for.
    private static func isName(_ text: String) -> Bool {
        text.utf8.count <= 1_000 && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != 0x22 }
    }
}
