// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Divan
import DivanHTTP
import DivanJSON
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// Replications that a client has the listener run.
@Suite(.timeLimit(.minutes(10))) struct ReplicateTests {
    let site: TestSite
    let source: Database

    init() throws {
        site = try TestSite()
        source = try site.manager.database(named: "source")
        for (id, n) in [("a", 1), ("b", 2), ("c", 3)] {
            try source.save(MutableDocument(["n": .integer(Int64(n))], id: DocumentID(id)))
        }
    }

    /// Sends `_replicate` from a thread that may wait, since its work is done on those of tasks.
    private func replicate(_ body: JSONValue, on site: TestSite? = nil) async -> TestAnswer {
        let site = site ?? self.site
        return await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(
                    returning: site.send("POST", "/_replicate", body.description))
            }
        }
    }

    @Test func `another filter of the same name begins anew`() async throws {
        let site = try TestSite { $0.scripts = [PathRuntime()] }
        for name in ["one", "two"] { _ = try site.manager.database(named: name) }
        func design(_ filter: String, _ revision: String) -> String {
            let answer = site.send(
                "PUT", "/one/_design/d\(revision)",
                #"{"language":"path","filters":{"f":"\#(filter)"}}"#)
            return answer.json["rev"]?.string ?? ""
        }
        let revision = design("n", "")
        site.send("PUT", "/one/a", #"{"n":1}"#)
        site.send("PUT", "/one/b", #"{"m":1}"#)
        let body: JSONValue = ["source": "one", "target": "two", "filter": "d/f"]
        let first = await replicate(body, on: site)
        #expect(first.json["history"]?[0]?["docs_written"] == 1, "\(first.text)")
        #expect(await replicate(body, on: site).json["no_changes"] == true)
        _ = design("m", "?rev=\(revision)")
        let second = await replicate(body, on: site)
        #expect(second.json["history"]?.array?.count == 1)
        #expect(second.json["history"]?[0]?["docs_written"] == 1, "\(second.text)")
        #expect(site.send("GET", "/two/b").status == 200)
    }

    @Test func `where no document takes part there are no changes`() async throws {
        site.send("PUT", "/target")
        let answer = await replicate(
            ["source": "source", "target": "target", "doc_ids": ["none"]])
        #expect(answer.json["no_changes"] == true, "\(answer.text)")
        let impossible = await replicate(
            ["source": "source", "target": "target", "doc_ids": ["_none", "a"]])
        #expect(impossible.json["docs_written"] == 1, "\(impossible.text)")
        site.send("PUT", "/source/b%2Fc", "{}")
        site.send("PUT", "/source/b%252Fd", "{}")
        let encoded = await replicate(
            ["source": "source", "target": "target", "doc_ids": ["b%2Fc", "b%2Fd", "%"]])
        #expect(encoded.json["docs_written"] == 2, "\(encoded.text)")
    }

    private func ids(_ name: String) -> [String] {
        site.send("GET", "/\(name)/_all_docs").json["rows"]?.array?
            .compactMap { $0["id"]?.string } ?? []
    }

    @Test func `a replication between databases here is answered with its history`() async throws {
        let body: JSONValue = ["source": "source", "target": "target", "create_target": true]
        let first = await replicate(body)
        #expect(first.status == 200)
        #expect(first.json["ok"] == true)
        #expect(first.json["no_changes"] == nil)
        #expect(first.json["source_last_seq"]?.place == 3)
        let newest = first.json["history"]?[0]
        #expect(newest?["session_id"] == first.json["session_id"])
        #expect(newest?["docs_written"] == 3)
        #expect(newest?["docs_read"] == 3)
        #expect(newest?["doc_write_failures"] == 0)
        #expect(newest?["start_last_seq"] == 0)
        #expect(newest?["recorded_seq"]?.place == 3)
        #expect(newest?["start_time"]?.string?.hasSuffix(" GMT") == true)
        #expect(ids("target") == ["a", "b", "c"])

        let second = await replicate(body)
        #expect(second.status == 200)
        #expect(second.json["no_changes"] == true)
        #expect(second.json["session_id"] == first.json["session_id"])

        try source.save(MutableDocument([:], id: "d"))
        let third = await replicate(body)
        #expect(third.json["history"]?.array?.count == 2)
        // Counts go on from those of the checkpoint, as in CouchDB 3.
        #expect(third.json["history"]?[0]?["docs_written"] == 4)
        #expect(third.json["history"]?[0]?["start_last_seq"]?.place == 3)
        #expect(ids("target") == ["a", "b", "c", "d"])
    }

    @Test func `a URL of this listener is a database here`() async throws {
        let answer = await replicate([
            "source": "http://ann:secret@localhost/source/", "create_target": true,
            "target": "http://127.0.0.1/a%2Ftarget",
        ])
        #expect(answer.status == 200)
        #expect(ids("a%2Ftarget") == ["a", "b", "c"])
        for elsewhere in ["localhost:81", "localhost.example.org", "127.0.0.1:1"] {
            let request = try ReplicateRequest(
                ["source": .string("http://\(elsewhere)/source"), "target": "x"],
                hosts: ["localhost"])
            #expect(request.source == .url("http://\(elsewhere)/source"))
        }
    }

    @Test func `IDs, a selector or a filter say which documents go`() async throws {
        source.setFilter(named: "least") { document, parameters in
            (document["n"].int ?? 0) >= (parameters["n"]?.string.flatMap { Int($0) } ?? 0)
        }
        let kinds: [(String, String, JSONValue, [String])] = [
            ("ids", "doc_ids", ["a", "c", "none"], ["a", "c"]),
            ("selected", "selector", ["n": ["$lt": 3]], ["a", "b"]),
            ("filtered", "filter", "least", ["b", "c"]),
        ]
        for (target, key, value, expected) in kinds {
            var body: JSONObject = [
                "source": "source", "target": .string(target), "create_target": true,
            ]
            body[key] = value
            body["query_params"] = ["n": "2"]
            let answer = await replicate(.object(body))
            #expect(answer.status == 200)
            #expect(ids(target) == expected)
        }
        let unknown = await replicate(["source": "source", "target": "ids", "filter": "none"])
        #expect(unknown.status == 400)
    }

    @Test func `a starting sequence leaves out what came before it`() async throws {
        let body: JSONValue = [
            "source": "source", "target": "target", "create_target": true, "since_seq": 1,
        ]
        let first = await replicate(body)
        #expect(first.status == 200)
        #expect(ids("target") == ["b", "c"])
        try source.save(MutableDocument([:], id: "d"))
        let second = await replicate(body)
        #expect(second.json["history"]?[0]?["docs_written"] == 3)
        // Without it everything goes: it has a checkpoint of its own.
        let whole = await replicate(["source": "source", "target": "target"])
        #expect(whole.json["history"]?[0]?["docs_written"] == 1)
        #expect(ids("target") == ["a", "b", "c", "d"])
        // A place that was counted elsewhere is the beginning; what is none is refused.
        let foreign = await replicate([
            "source": "source", "target": "again", "create_target": true, "since_seq": "1-g1AAAA",
        ])
        #expect(foreign.json["history"]?[0]?["docs_written"] == 4)
        let own = await replicate([
            "source": "source", "target": "rest", "create_target": true,
            "since_seq": first.json["source_last_seq"] ?? .null,
        ])
        #expect(own.json["history"]?[0]?["docs_written"] == 1)
        let malformed = await replicate([
            "source": "source", "target": "target", "since_seq": "first",
        ])
        #expect(malformed.status == 400)
    }

    @Test func `winning revisions alone leave conflicts where they are`() async throws {
        let first = try source.put("x", ["n": 0], parent: nil).revisionID
        try source.put("x", ["n": 1], parent: first)
        try source.put("x", ["n": 2], parent: first, options: .allowConflict)
        let answer = await replicate([
            "source": "source", "target": "target", "create_target": true,
            "winning_revs_only": true,
        ])
        #expect(answer.status == 200)
        let target = try #require(try site.manager.existingDatabase(named: "target"))
        #expect(try target.leafRevisions(of: "x").count == 1)
        let winner = try source.document(withID: "x")?.revisionID
        #expect(try target.document(withID: "x")?.revisionID == winner)
        // All leaves are another replication, with a checkpoint of its own.
        let all = await replicate(["source": "source", "target": "target"])
        #expect(all.status == 200)
        #expect(try target.leafRevisions(of: "x").count == 2)
    }

    @Test func `without checkpoints nothing is kept, and nothing sent twice`() async throws {
        let body: JSONValue = [
            "source": "source", "target": "target", "create_target": true,
            "use_checkpoints": false,
        ]
        let first = await replicate(body)
        #expect(first.json == ["ok": true, "use_checkpoints": false])
        #expect(ids("target") == ["a", "b", "c"])
        for name in ["source", "target"] {
            let kept = site.send("GET", "/\(name)/_local_docs").json["rows"]?.array
            #expect(kept?.isEmpty == true)
        }
        let second = await replicate(body)
        #expect(second.status == 200)
    }

    @Test func `options of the transfer are read`() throws {
        func request(_ more: JSONObject) throws -> ReplicateRequest {
            var body: JSONObject = ["source": "http://there:1/db", "target": "here"]
            for (key, value) in more { body[key] = value }
            return try ReplicateRequest(body, hosts: [])
        }
        let timed = try request(["connection_timeout": 5_000, "checkpoint_interval": 500]).settings
        #expect(timed.timeouts.connect == .seconds(5))
        #expect(timed.checkpointInterval == .milliseconds(500))
        let user = HTTPURL.User(name: "u", password: "p")
        let proxies: [(String, String, HTTPProxy)] = [
            ("proxy", "http://u:p@host:3128", .server("http://host:3128", user: user)),
            ("source_proxy", "http://host/", .server("http://host:80", user: nil)),
            ("source_proxy", "socks5://host", .server("socks5://host:1080", user: nil)),
            ("proxy", "socks5://u:p@host:9", .server("socks5://host:9", user: user)),
            // That of the end that is here is not gone through.
            ("target_proxy", "http://host:3128", .environment),
        ]
        for (name, text, expected) in proxies {
            #expect(try request([name: .string(text)]).settings.proxy == expected)
        }
    }

    @Test func `a database behind a URL is pushed to and pulled from, with a password`()
        async throws
    {
        let other = try TestSite()
        let listener = try other.listen { $0.access = .users(["ann": "secret"]) }
        defer { listener.stop() }
        let url = "http://127.0.0.1:\(try #require(listener.port))/there"
        let signedIn: JSONValue = [
            "url": .string(url), "auth": ["basic": ["username": "ann", "password": "secret"]],
        ]
        let missing = await replicate(["source": "source", "target": signedIn])
        #expect(missing.status == 404)
        #expect(missing.json["error"] == "db_not_found")
        let push = await replicate(
            ["source": "source", "target": signedIn, "create_target": true])
        #expect(push.status == 200)
        #expect(push.json["history"]?[0]?["docs_written"] == 3)

        let token = Data("ann:secret".utf8).base64EncodedString()
        let pull = await replicate([
            "source": [
                "url": .string(url), "headers": ["Authorization": .string("Basic " + token)],
            ],
            "target": "back", "create_target": true,
        ])
        #expect(pull.status == 200)
        #expect(ids("back") == ["a", "b", "c"])

        let stranger = await replicate(["source": .string(url), "target": "back"])
        #expect(stranger.status == 401)
        let liar = await replicate([
            "source": .string(url.replacingOccurrences(of: "//", with: "//ann:wrong@")),
            "target": "back",
        ])
        #expect(liar.status == 401)
        #expect(!liar.text.contains("wrong"))
    }

    @Test func `a continuous replication goes on until it is cancelled`() async throws {
        let body: JSONValue = [
            "source": "source", "target": "target", "create_target": true, "continuous": true,
        ]
        let started = await replicate(body)
        #expect(started.status == 202)
        let id = try #require(started.json["_local_id"]?.string)
        #expect(id.hasSuffix("+continuous"))
        let joined = await replicate(body)
        #expect(joined.json["_local_id"]?.string == id)
        try source.save(MutableDocument([:], id: "later"))
        await eventually { ids("target") == ["a", "b", "c", "later"] }
        await eventually {
            site.send("GET", "/_active_tasks").json[0]?["docs_written"] == 4
        }
        let tasks = site.send("GET", "/_active_tasks").json
        #expect(tasks.array?.count == 1)
        #expect(tasks[0]?["type"] == "replication")
        #expect(tasks[0]?["replication_id"]?.string == id)
        #expect(tasks[0]?["source"] == "source")
        #expect(tasks[0]?["continuous"] == true)

        let cancelled = await replicate(["cancel": true, "replication_id": .string(id)])
        #expect(cancelled.status == 200)
        #expect(cancelled.json["_local_id"]?.string == id)
        #expect(site.send("GET", "/_active_tasks").json == [])
        let again = await replicate(["cancel": true, "replication_id": .string(id)])
        #expect(again.status == 404)
    }

    @Test func `a replication is cancelled by what it was started with`() async throws {
        var body: JSONObject = [
            "source": "source", "target": "target", "create_target": true, "continuous": true,
        ]
        let started = await replicate(.object(body))
        #expect(started.status == 202)
        body["cancel"] = true
        let cancelled = await replicate(.object(body))
        #expect(cancelled.status == 200)
        let again = await replicate(.object(body))
        #expect(again.status == 404)
    }

    @Test func `replications end with the listener, and none begins after it`() async throws {
        let body: JSONValue = [
            "source": "source", "target": "target", "create_target": true, "continuous": true,
        ]
        let started = await replicate(body)
        #expect(started.status == 202)
        let replications = site.router.site.replications
        replications.close(within: .zero)
        await eventually { replications.list.isEmpty }
        let late = await replicate(body)
        #expect(late.status == 503)
    }

    @Test func `a listener whose app decides about documents runs no replications`() async throws {
        let careful = try TestSite { $0.authorization.reading = { _, _, _ in true } }
        _ = try careful.manager.database(named: "source")
        let answer = await replicate(
            ["source": "source", "target": "x", "create_target": true], on: careful)
        #expect(answer.status == 403)
    }
}
