// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Divan
import DivanHTTP
import DivanJSON
import DivanTestSupport
import FoundationEssentials
import Testing

@testable import DivanListener

/// Replications that users who are no administrators ask for.
///
/// `ann` is a member of `private`, `open` and `target`, `joe` of `open` alone.
@Suite(.timeLimit(.minutes(10))) struct UserReplicationTests {
    let site: TestSite

    init() throws {
        site = try TestSite { $0.access = .users(["root": "r"]) }
        let path = site.manager.directory.path + "/listener.json"
        var file = try AccountsFile.load(path)
        file.users = (["ann": "a", "joe": "j"] as NameMap<String>).mapValues {
            AccountsFile.User(password: $0, roles: [], iterations: 10)
        }
        #expect(file.write(to: path))
        for name in ["private", "open", "target"] {
            let database = try site.manager.database(named: name)
            if name != "open" {
                try SecurityObject.store(["members": ["names": ["ann"]]], in: database)
            }
            guard name != "target" else { continue }
            for id: DocumentID in ["a", "b", "_design/d"] {
                _ = try database.put(id, [:], parent: nil)
            }
        }
    }

    private static func headers(_ user: String) -> HTTPHeaders {
        let password = user.prefix(1)
        return ["Authorization": "Basic " + Base64.encode(Array("\(user):\(password)".utf8))]
    }

    /// Sends `_replicate` from a thread that may wait.
    private func replicate(
        _ source: JSONValue, _ target: JSONValue, by headers: HTTPHeaders,
        _ more: JSONObject = [:]
    ) async -> TestAnswer {
        var body = more
        body["source"] = source
        body["target"] = target
        return await send(JSONValue.object(body).description, by: headers)
    }

    private func send(_ body: String, by headers: HTTPHeaders) async -> TestAnswer {
        let site = site
        return await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(
                    returning: site.send("POST", "/_replicate", body, headers))
            }
        }
    }

    private func ids(_ name: String) -> [String] {
        site.send("GET", "/\(name)/_all_docs", "", Self.headers("root")).json["rows"]?.array?
            .compactMap { $0["id"]?.string } ?? []
    }

    @Test func `a user replicates between databases here, as a member of both`() async {
        let answer = await replicate(
            "private", "http://localhost/target", by: Self.headers("ann"))
        #expect(answer.status == 200)
        #expect(answer.json["history"]?[0]?["docs_written"] == 2)
        // A design document is for the administrators of the database.
        #expect(answer.json["history"]?[0]?["doc_write_failures"] == 1)
        #expect(ids("target") == ["a", "b"])
    }

    @Test
    func `a mark by which a document is taken away is an administrator's, and purges nothing here`()
        async throws
    {
        let target = try site.manager.database(named: "target")
        _ = try target.put("victim", ["n": 1], parent: nil)
        let mark = #"{"_id":"victim","_rev":"1-aaaa","_removed":true}"#
        let bulk = #"{"new_edits":false,"docs":[\#(mark)]}"#
        let (ann, root) = (Self.headers("ann"), Self.headers("root"))
        #expect(site.send("PUT", "/open/victim?new_edits=false", mark, ann).status == 403)
        let refused = site.send("POST", "/open/_bulk_docs", bulk, ann)
        #expect(refused.json[0]?["error"] == "forbidden", "\(refused.json)")
        #expect(site.send("POST", "/open/_bulk_docs", bulk, root).json == [])
        for user in [ann, root] {
            let answer = await replicate("open", "target", by: user)
            #expect(answer.status == 200)
        }
        #expect(try target.leafRevisions(of: "victim").count == 2)
    }

    @Test func `a user who is no member of an end is refused, and makes no database`() async {
        let source = await replicate("private", "open", by: Self.headers("joe"))
        #expect(source.status == 403)
        let target = await replicate("open", "target", by: Self.headers("joe"))
        #expect(target.status == 403)
        #expect(ids("target") == [])
        let made = await replicate(
            "open", "made", by: Self.headers("joe"), ["create_target": true])
        #expect(made.status == 401)
        #expect(site.send("GET", "/made", "", Self.headers("root")).status == 404)
        #expect(site.send("PUT", "/_users", "", Self.headers("root")).status == 201)
        let users = await replicate("_users", "open", by: Self.headers("joe"))
        #expect(users.status == 403)
    }

    @Test func `credentials that go with a URL here count before those of who asks`() async {
        let ann = await replicate(
            "http://ann:a@localhost/private", "open", by: Self.headers("joe"))
        #expect(ann.status == 200)
        let wrong = await replicate(
            "http://ann:x@localhost/private", "open", by: Self.headers("ann"))
        #expect(wrong.status == 401)
    }

    @Test func `another server is for administrators, whichever end it is`() async {
        for (source, target) in [
            ("open", "http://other.example/db"), ("http://127.0.0.1:1/db", "open"),
            ("http://other.example/a", "http://other.example/b"),
        ] {
            let answer = await replicate(
                .string(source), .string(target), by: Self.headers("ann"))
            #expect(answer.status == 403)
            #expect(
                answer.json["reason"]
                    == "Administrators replicate with other servers; you may between databases here, or from the other side."
            )
        }
    }

    @Test func `a client without a name is asked to sign in`() async {
        let answer = await replicate("open", "target", by: [:])
        #expect(answer.status == 401)
        #expect(answer.json["reason"] == "Sign in first: it is done in the name of its user.")
    }

    @Test func `a user ends what that user has started, and nothing else`() async throws {
        let first = await replicate(
            "private", "target", by: Self.headers("ann"), ["continuous": true])
        let id = try #require(first.json["_local_id"]?.string)
        let byID = JSONValue.object(["cancel": true, "replication_id": .string(id)]).description
        #expect(await send(byID, by: Self.headers("joe")).status == 404)
        let other: JSONObject = ["continuous": true, "cancel": true]
        #expect(
            await replicate("private", "target", by: Self.headers("joe"), other).status == 404)
        #expect(site.router.site.replications.jobs.count == 1)
        #expect(
            await replicate("private", "target", by: Self.headers("ann"), other).status == 200)
        let again = await replicate(
            "private", "target", by: Self.headers("ann"), ["continuous": true])
        #expect(again.json["_local_id"]?.string == id)
        #expect(await send(byID, by: Self.headers("root")).status == 200)
        #expect(site.router.site.replications.jobs.isEmpty)
    }

    @Test func `a replication of a user who has lost the right goes no further`() async throws {
        let first = await replicate(
            "private", "target", by: Self.headers("ann"), ["continuous": true])
        #expect(first.status == 202)
        await eventually { ids("target") == ["a", "b"] }
        let database = try site.manager.database(named: "private")
        let members = #"{"members":{"names":["joe"]}}"#
        #expect(
            site.send("PUT", "/private/_security", members, Self.headers("root")).status == 200)
        _ = try database.put("late", [:], parent: nil)
        await eventually {
            let jobs = site.router.site.replications.jobs
            return jobs.first?["history"]?[0]?["type"] == "crashed"
        }
        #expect(ids("target") == ["a", "b"])
    }

    @Test func `a replication of a user whose password is changed goes no further`() async throws {
        let first = await replicate(
            "private", "target", by: Self.headers("ann"), ["continuous": true])
        #expect(first.status == 202)
        await eventually { ids("target") == ["a", "b"] }
        let path = site.manager.directory.path + "/listener.json"
        var file = try AccountsFile.load(path)
        file.users["ann"] = AccountsFile.User(password: "new", roles: [], iterations: 10)
        #expect(file.write(to: path))
        let database = try site.manager.database(named: "private")
        _ = try database.put("late", [:], parent: nil)
        await eventually {
            let jobs = site.router.site.replications.jobs
            return jobs.first?["history"]?[0]?["type"] == "crashed"
        }
        #expect(ids("target") == ["a", "b"])
    }

    @Test func `passwords that a user guesses lock out that user's replications alone`() async {
        let path = "/_node/_local/_config/chttpd_auth_lockout/threshold"
        #expect(site.send("PUT", path, #""1""#, Self.headers("root")).status == 200)
        let guess = await replicate(
            "http://ann:guess@localhost/private", "open", by: Self.headers("joe"))
        #expect(guess.status == 401)
        let right: JSONValue = "http://ann:a@localhost/private"
        #expect(await replicate(right, "open", by: Self.headers("joe")).status == 403)
        #expect(await replicate(right, "open", by: Self.headers("root")).status == 200)
        #expect(await replicate("private", "target", by: Self.headers("ann")).status == 200)
    }

    @Test func `users wait for few replications together, and have two hundred running`() throws {
        let running = RunningReplications()
        try running.waitingAsUser(most: 2) {
            try running.waitingAsUser(most: 2) {
                let refused = #expect(throws: HTTPFailure.self) {
                    try running.waitingAsUser(most: 2) {}
                }
                #expect(refused?.status == 503)
                #expect(
                    refused?.reason
                        == "Too many replications of users are running; try again when some have ended."
                )
            }
            try running.waitingAsUser(most: 2) {}
        }
        #expect(RunningReplications.refusal(own: 19, all: 199) == nil)
        #expect(RunningReplications.refusal(own: 20, all: 20)?.status == 403)
        #expect(RunningReplications.refusal(own: 0, all: 200)?.status == 503)
    }

    @Test func `a read-only listener is no target`() throws {
        let closed = try TestSite { $0.readOnly = true }
        for name in ["a", "b"] { _ = try closed.manager.database(named: name) }
        for body in [
            #"{"source":"a","target":"b"}"#, #"{"source":"http://127.0.0.1:1/a","target":"b"}"#,
        ] {
            let answer = closed.send("POST", "/_replicate", body)
            #expect(answer.status == 403)
            #expect(answer.json["reason"] == "This listener is read-only.")
        }
    }

    @Test func `a user has a bounded number of replications`() async {
        for number in 0..<RunningReplications.mostOfUser {
            let answer = await replicate(
                "private", "target", by: Self.headers("ann"),
                ["continuous": true, "doc_ids": [.string("\(number)")]])
            #expect(answer.status == 202)
        }
        let more = await replicate("private", "target", by: Self.headers("ann"))
        #expect(more.status == 403)
        #expect(
            more.json["reason"]
                == "20 replications of this user are running: cancel one, or wait until one has ended."
        )
        #expect(await replicate("private", "open", by: Self.headers("root")).status == 200)
    }
}
