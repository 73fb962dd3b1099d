// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import DivanTestSupport
import Synchronization
import Testing

/// Users of one server see different documents, so each has a checkpoint.
@Suite(.timeLimit(.minutes(10))) struct UserCheckpointTests {
    let here: Database
    let there: Database
    let stand: CouchStandIn

    init() throws {
        here = try Database.inMemory(named: "here")
        there = try Database.inMemory(named: "there")
        stand = CouchStandIn(there)
    }

    private static func user(_ request: LoopbackRequest) -> String {
        let shown = request.headers["authorization"]?.split(separator: " ").last ?? ""
        return switch shown {
        case "YW5uOngtMQ==": "ann"
        case "Ym9iOngtMg==": "bob"
        default: "?"
        }
    }

    /// A gateway that tells each user of the documents whose IDs begin with the user's name, and takes only those.
    private func serve() throws -> LoopbackServer {
        try stand.serve { [there] request, connection in
            let user = Self.user(request)
            func answer(_ value: JSONValue, _ status: Int = 200) -> Bool {
                connection.respond(
                    status: status, headers: [("Content-Type", "application/json")],
                    body: Array(value.description.utf8))
                return true
            }
            let parts = request.target.split(separator: "?", maxSplits: 1)
            if request.target.contains("/_changes") {
                let since = parts.last?.split(separator: "&").first { $0.hasPrefix("since=") }
                let start = since.flatMap { UInt64($0.dropFirst(6)) } ?? 0
                guard let batch = try? there.changes(since: start) else { return false }
                let rows = batch.changes.filter { $0.id.text.hasPrefix(user) }.map {
                    change -> JSONValue in
                    [
                        "seq": .integer(Int64(change.sequence)), "id": .string(change.id.text),
                        "changes": .array(
                            change.revisions.map { ["rev": .string($0.description)] }),
                    ]
                }
                return answer([
                    "results": .array(rows), "last_seq": .integer(Int64(batch.lastSequence)),
                ])
            }
            let isForeign =
                request.method == "PUT" && parts[0].contains("/db/")
                && !parts[0].contains("_local") && !parts[0].hasPrefix("/db/\(user)")
            if isForeign { return answer(["error": "forbidden", "reason": "not yours"], 403) }
            return false
        }
    }

    private static let passwords = ["ann": "x-1", "bob": "x-2"]

    enum Way: String, CaseIterable { case url, basic, header, proxy }

    private func settings(_ user: String, _ way: Way)
        -> (inout ReplicationConfiguration) -> Void
    {
        let password = Self.passwords[user] ?? ""
        return { settings in
            switch way {
            case .url: break
            case .basic: settings.authenticator = .basic(name: user, password: password)
            case .header:
                let text = Base64.encode(Array("\(user):\(password)".utf8))
                settings.headers["Authorization"] = "Basic \(text)"
            case .proxy:
                settings.authenticator = .proxy(userName: user)
            }
        }
    }

    private func pull(_ server: LoopbackServer, _ user: String, _ way: Way) -> Replication {
        let host = "127.0.0.1:\(server.port)/db"
        let url =
            way == .url
            ? "http://\(user):\(Self.passwords[user] ?? "")@\(host)" : "http://\(host)"
        return here.makePullReplication(from: url, configure: settings(user, way))
    }

    @Test(arguments: [Way.url, .basic, .header])
    func `another user of the server gets what the first one did not see`(way: Way) async throws {
        let server = try serve()
        defer { server.stop() }
        for id in ["ann 1", "bob 1", "ann 2"] { try there.put(DocumentID(id), [:], parent: nil) }
        #expect(try await pull(server, "ann", way).run().transferred == 2)
        #expect(try await pull(server, "bob", way).run().transferred == 1)
        #expect(try here.documentCount == 3)
        // Each goes on after a checkpoint of its own, however the name is shown.
        for other in [Way.url, .basic, .header] {
            #expect(try await pull(server, "ann", other).run().examined == 0)
            #expect(try await pull(server, "bob", other).run().examined == 0)
        }
    }

    @Test func `what the server takes from one user alone is offered again in that user's name`()
        async throws
    {
        let server = try serve()
        defer { server.stop() }
        try here.put("bob 1", [:], parent: nil)
        func push(_ user: String) -> Replication {
            here.makePushReplication(
                to: "http://\(user):\(Self.passwords[user] ?? "")@127.0.0.1:\(server.port)/db")
        }
        #expect(try await push("ann").run().refused == 1)
        #expect(try await push("bob").run().transferred == 1)
        #expect(try there.contains("bob 1"))
    }

    @Test func `users, and none, have names of their own for their checkpoints`() throws {
        let server = try serve()
        defer { server.stop() }
        let url = "http://127.0.0.1:\(server.port)/db"
        var ids = NameSet()
        for user in ["ann", "bob"] {
            for way in Way.allCases { ids.insert(pull(server, user, way).checkpointID) }
        }
        #expect(ids.count == 2)
        ids.insert(here.makePullReplication(from: url).checkpointID)
        // A token is renewed, and says nothing of who has it.
        for token in ["a", "b"] {
            ids.insert(
                here.makePullReplication(from: url) { $0.authenticator = .bearer(token: token) }
                    .checkpointID)
        }
        #expect(ids.count == 3)
    }

    // MARK: - What earlier versions have left

    /// Lets the checkpoint of a user be one without a user, as an earlier version wrote it.
    private func moveCheckpoint(_ server: LoopbackServer, _ user: String, isContinuous: Bool)
        throws
    {
        var settings = ReplicationID.Settings(
            localUUID: here.privateUUID, remoteURL: "http://127.0.0.1:\(server.port)/db",
            isPush: false)
        settings.isContinuous = isContinuous
        let old = ReplicationID(settings).localDocumentID
        let new = DocumentID(pull(server, user, .url).checkpointID)
        for database in [here, there] {
            var document = try #require(try database.localDocument(new))
            document["user_known"] = nil
            try database.putLocalDocument(old, document)
            try database.deleteLocalDocument(new)
        }
    }

    @Test(arguments: [false, true])
    func `the first user goes on after the checkpoint of an earlier version, and no other`(
        isContinuous: Bool
    ) async throws {
        let server = try serve()
        defer { server.stop() }
        for id in ["ann 1", "bob 1", "ann 2"] { try there.put(DocumentID(id), [:], parent: nil) }
        #expect(try await pull(server, "ann", .url).run().transferred == 2)
        try moveCheckpoint(server, "ann", isContinuous: isContinuous)
        // What was purged stays away.
        try here.purge("ann 1")
        #expect(try await pull(server, "ann", .url).run().examined == 0)
        #expect(try await pull(server, "bob", .url).run().transferred == 1)
        #expect(try await pull(server, "ann", .url).run().examined == 0)
        #expect(try here.documentCount == 2)
    }
}
