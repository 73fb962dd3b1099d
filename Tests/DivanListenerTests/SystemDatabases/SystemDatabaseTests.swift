// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Divan
import DivanHTTP
import DivanJSON
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// `_users`, `_replicator` and `_db_updates`, as clients of CouchDB use them.
@Suite(.timeLimit(.minutes(10))) struct SystemDatabaseTests {
    private static let admin: HTTPHeaders = ["Authorization": Self.basic("root", "secret")]

    private static func basic(_ name: String, _ password: String) -> String {
        "Basic " + Base64.encode(Array("\(name):\(password)".utf8))
    }

    private static func withUsers() throws -> TestSite {
        try TestSite { $0.access = .users(["root": "secret"]) }
    }

    private static let ann =
        #"{"name":"ann","password":"pw","roles":["staff"],"type":"user"}"#

    // MARK: - Users

    @Test func `a user's document lets its user sign in, and does not keep the password`() throws {
        let site = try Self.withUsers()
        let made = site.send("PUT", "/_users/org.couchdb.user:ann", Self.ann, Self.admin)
        #expect(made.status == 201)
        let stored = site.send("GET", "/_users/org.couchdb.user:ann", "", Self.admin).json
        #expect(stored["password"] == nil)
        #expect(stored["password_scheme"] == "pbkdf2")
        #expect(stored["derived_key"]?.string?.count == 64)
        let session = site.send(
            "GET", "/_session", "", ["Authorization": Self.basic("ann", "pw")])
        #expect(session.json["userCtx"]?["name"] == "ann")
        #expect(session.json["userCtx"]?["roles"] == ["staff"])
        let wrong = site.send("GET", "/_session", "", ["Authorization": Self.basic("ann", "no")])
        #expect(wrong.status == 401)
        #expect(site.send("GET", "/_all_dbs", "", Self.admin).json == ["_users"])
    }

    @Test func `a changed password holds at once and ends sessions, a deleted user is out`() throws
    {
        let site = try Self.withUsers()
        let path = "/_users/org.couchdb.user:ann"
        let first = site.send("PUT", path, Self.ann, Self.admin).json["rev"]?.string ?? ""
        let login = site.send(
            "POST", "/_session", "name=ann&password=pw",
            ["Content-Type": "application/x-www-form-urlencoded"])
        let cookie: HTTPHeaders = [
            "Cookie": String(login.headers["Set-Cookie"]?.prefix { $0 != ";" } ?? "")
        ]
        #expect(site.send("GET", "/_session", "", cookie).json["userCtx"]?["name"] == "ann")
        let changed = site.send(
            "PUT", path + "?rev=\(first)", Self.ann.replacingOccurrences(of: "pw", with: "other"),
            Self.admin)
        #expect(changed.status == 201)
        #expect(site.send("GET", "/_session", "", cookie).json["userCtx"]?["name"] == .null)
        let new = ["Authorization": Self.basic("ann", "other")] as HTTPHeaders
        #expect(site.send("GET", "/_session", "", new).status == 200)
        let rev = changed.json["rev"]?.string ?? ""
        #expect(site.send("DELETE", path + "?rev=\(rev)", "", Self.admin).status == 200)
        #expect(site.send("GET", "/_session", "", new).status == 401)
    }

    @Test(arguments: [
        (#"{"roles":[]}"#, 403), (#"{"type":"user","roles":[]}"#, 403),
        (#"{"name":"ann","type":"x","roles":[]}"#, 403),
        (#"{"name":"ann","type":null,"roles":[]}"#, 403),
        (#"{"name":"bob","roles":[]}"#, 403),
        (#"{"name":"bob","type":"user","roles":[]}"#, 403),
        (#"{"name":"ann","type":"user"}"#, 403),
        (#"{"name":"ann","type":"user","roles":"staff"}"#, 403),
        (#"{"name":"ann","type":"user","roles":["_admin"]}"#, 403),
        (#"{"name":"ann","type":"user","roles":[7]}"#, 403),
        (#"{"name":"ann","type":"user","roles":[],"password":7}"#, 403),
    ])
    func `a document that describes no user is refused, also among others`(
        body: String, status: Int
    ) throws {
        let site = try Self.withUsers()
        #expect(
            site.send("PUT", "/_users/org.couchdb.user:ann", body, Self.admin).status == status)
        let bulk = site.send(
            "POST", "/_users/_bulk_docs",
            #"{"docs":[{"_id":"org.couchdb.user:ann",\#(body.dropFirst())]}"#, Self.admin)
        #expect(bulk.json[0]?["error"] == (status == 403 ? "forbidden" : "bad_request"))
    }

    @Test(arguments: [
        (#""name":"bob","roles":[]"#, "Doc ID must be of the form org.couchdb.user:name"),
        (#""name":"ann","roles":"x""#, "doc.roles must be an array"),
        (#""name":"ann","roles":[7]"#, "doc.roles can only contain strings"),
        (
            #""name":"ann","roles":[],"password_scheme":"foo""#,
            "Password scheme `foo` not supported."
        ),
        (#""name":"ann","roles":[],"password_scheme":7"#, "Password scheme `7` not supported."),
        (
            #""name":"ann","roles":[],"password_scheme":"pbkdf2","derived_key":"0""#,
            "iterations must be a number."
        ),
        (
            #""name":"ann","roles":[],"password_scheme":"pbkdf2","iterations":1"#,
            "derived_key must be a string."
        ),
    ])
    func `what is wrong with an account is told in CouchDB's words`(body: String, reason: String)
        throws
    {
        let site = try Self.withUsers()
        let path = "/_users/org.couchdb.user:ann"
        let answer = site.send("PUT", path, #"{"type":"user",\#(body)}"#, Self.admin)
        #expect(answer.status == 403 && answer.json["reason"]?.string == reason)
    }

    @Test(arguments: ["", #","password":"pw""#])
    func `an account without a type is stored as one of a user`(password: String) throws {
        let site = try Self.withUsers()
        let path = "/_users/org.couchdb.user:ann"
        let body = #"{"name":"ann","roles":["staff"]\#(password)}"#
        #expect(site.send("PUT", path, body, Self.admin).status == 201)
        let stored = site.send("GET", path, "", Self.admin).json
        #expect(stored["type"] == "user" && stored["password"] == nil)
        let ann = ["Authorization": Self.basic("ann", "pw")] as HTTPHeaders
        #expect(site.send("GET", "/_session", "", ann).status == (password.isEmpty ? 401 : 200))
    }

    @Test func `a scheme beside a password that is sent is replaced by that of its hash`() throws {
        let site = try Self.withUsers()
        let path = "/_users/org.couchdb.user:ann"
        let body = #"{"name":"ann","type":"user","roles":[],"password":"p","password_scheme":"x"}"#
        #expect(site.send("PUT", path, body, Self.admin).status == 201)
        #expect(site.send("GET", path, "", Self.admin).json["password_scheme"] == "pbkdf2")
    }

    @Test(arguments: ["a:b", "_why"])
    func `a name that no header or cookie can hold is refused`(name: String) throws {
        let site = try Self.withUsers()
        let body = #"{"name":"\#(name)","type":"user","roles":[]}"#
        let answer = site.send("PUT", "/_users/org.couchdb.user:\(name)", body, Self.admin)
        #expect(answer.status == 403)
        #expect(answer.json["reason"]?.string?.lowercased().contains("username") == true)
    }

    @Test func `an account may have the role of those who see metrics`() throws {
        let site = try Self.withUsers()
        let body = #"{"name":"ann","type":"user","roles":["_metrics"],"password":"pw"}"#
        #expect(site.send("PUT", "/_users/org.couchdb.user:ann", body, Self.admin).status == 201)
        let ann = ["Authorization": Self.basic("ann", "pw")] as HTTPHeaders
        #expect(site.send("GET", "/_node/_local/_stats", "", ann).status == 200)
        #expect(site.send("GET", "/_all_dbs", "", ann).status == 401)
    }

    @Test
    func `only administrators use it, unless members are named: then each their own document`()
        throws
    {
        let site = try Self.withUsers()
        let own = "/_users/org.couchdb.user:ann"
        site.send("PUT", own, Self.ann, Self.admin)
        site.send(
            "PUT", "/_users/org.couchdb.user:bob",
            Self.ann.replacingOccurrences(of: "ann", with: "bob"),
            Self.admin)
        let ann: HTTPHeaders = ["Authorization": Self.basic("ann", "pw")]
        #expect(site.send("GET", own).status == 401)
        #expect(site.send("GET", own, "", ann).status == 403)
        site.send("PUT", "/_users/_security", #"{"members":{"roles":["staff"]}}"#, Self.admin)
        let document = site.send("GET", own, "", ann)
        #expect(document.status == 200)
        #expect(site.send("GET", "/_users/org.couchdb.user:bob", "", ann).status == 404)
        #expect(site.send("GET", "/_users/_all_docs", "", ann).status == 401)
        #expect(site.send("GET", "/_users/_changes", "", ann).status == 401)
        let rev = document.json["_rev"]?.string ?? ""
        let same = site.send("PUT", own + "?rev=\(rev)", Self.ann, ann)
        #expect(same.status == 201)
        let more = site.send(
            "PUT", own + "?rev=\(same.json["rev"]?.string ?? "")",
            Self.ann.replacingOccurrences(of: "staff", with: "boss"), ann)
        #expect(more.json["reason"] == "Only _admin may edit roles")
    }

    @Test func `five wrong passwords lock a name out from one address, for a while`() throws {
        let site = try Self.withUsers()
        func send(_ password: String, from address: String) -> Int {
            var head = RequestHead(
                method: "GET", target: "/_session",
                headers: ["Authorization": Self.basic("root", password), "Host": "localhost"])
            head.network = address
            return site.router.respond(ListenerRequest(head)).status
        }
        for _ in 0..<5 { #expect(send("wrong", from: "10.0.0.1") == 401) }
        #expect(send("secret", from: "10.0.0.1") == 403)
        #expect(send("secret", from: "10.0.0.2") == 200)
        let throttle = PasswordThrottle(ListenerLimits())
        let start = ContinuousClock.now
        for _ in 0..<5 { throttle.note("ann", from: "a", isRight: false, now: start) }
        #expect(throttle.isLocked("ann", from: "a", now: start + .seconds(299)))
        #expect(!throttle.isLocked("bob", from: "a", now: start))
        #expect(!throttle.isLocked("ann", from: "a", now: start + .seconds(300)))
        for _ in 0..<4 { throttle.note("ann", from: "a", isRight: false, now: start) }
        throttle.note("ann", from: "a", isRight: true, now: start)
        throttle.note("ann", from: "a", isRight: false, now: start)
        #expect(!throttle.isLocked("ann", from: "a", now: start))
    }

    // MARK: - Replications

    private func state(_ site: TestSite, _ id: String) -> String? {
        site.send("GET", "/_replicator/\(id)").json["_replication_state"]?.string
    }

    @Test func `a document starts a replication and tells that it is completed`() async throws {
        let site = try TestSite()
        let source = try site.manager.database(named: "source")
        try source.save(MutableDocument(["n": 1], id: "a"))
        let put = site.send(
            "PUT", "/_replicator/r",
            #"{"source":"source","target":"target","create_target":true}"#)
        #expect(put.status == 201)
        await eventually { state(site, "r") == "completed" }
        #expect(site.send("GET", "/target/a").status == 200)
        let document = site.send("GET", "/_replicator/r").json
        #expect(document["_replication_stats"]?["docs_written"] == 1)
        #expect(document["_replication_state_time"]?.string?.hasSuffix("Z") == true)
        // The scheduler hears of it a moment after the document.
        await eventually {
            let scheduled = site.send("GET", "/_scheduler/docs").json["docs"]?[0]
            return scheduled?["doc_id"] == "r" && scheduled?["state"] == "completed"
        }
        // A document that is put anew, without its state, runs anew.
        try source.save(MutableDocument(["n": 2], id: "b"))
        let rev = document["_rev"]?.string ?? ""
        #expect(
            site.send(
                "PUT", "/_replicator/r?rev=\(rev)", #"{"source":"source","target":"target"}"#
            ).status == 201)
        await eventually { site.send("GET", "/target/b").status == 200 }
    }

    @Test func `URLs under this listener's own name mean databases here`() async throws {
        let site = try TestSite()
        let source = try site.manager.database(named: "source")
        try source.save(MutableDocument([:], id: "a"))
        site.send(
            "PUT", "/_replicator/r",
            #"{"source":"http://u:p@localhost/source","target":"http://127.0.0.1/target","#
                + #""create_target":true}"#)
        await eventually { state(site, "r") == "completed" }
        #expect(site.send("GET", "/target/a").status == 200)
    }

    @Test func `a continuous one goes on until its document is deleted`() async throws {
        let site = try TestSite()
        let source = try site.manager.database(named: "source")
        _ = try site.manager.database(named: "target")
        let body = #"{"source":"source","target":"target","continuous":true}"#
        let rev = site.send("PUT", "/_replicator/r", body).json["rev"]?.string ?? ""
        for number in 0..<3 {
            try source.save(MutableDocument([:], id: "d\(number)"))
            await eventually { site.send("GET", "/target/d\(number)").status == 200 }
        }
        #expect(site.send("GET", "/_scheduler/jobs").json["total_rows"] == 1)
        // It is noted as running by the thread that has started it.
        await eventually {
            site.send("GET", "/_scheduler/docs/_replicator/r").json["state"] == "running"
        }
        let one = site.send("GET", "/_scheduler/docs/_replicator/r").json
        #expect(one["state"] == "running" && one["source"] == "source")
        #expect(site.send("GET", "/_active_tasks").json[0]?["doc_id"] == "r")
        func listed(_ query: String) -> JSONValue? {
            site.send("GET", "/_scheduler/docs\(query)").json["total_rows"]
        }
        #expect(listed("/_replicator") == 1 && listed("?states=running,failed") == 1)
        #expect(listed("?states=[%22failed%22]") == 0)
        #expect(site.send("GET", "/_scheduler/docs?states=odd").status == 400)
        #expect(site.send("GET", "/_scheduler/docs/other").status == 404)
        let job = one["id"]?.string ?? ""
        let named = site.send("GET", "/_scheduler/jobs/\(PercentEncoding.encode(job))").json
        #expect(named["doc_id"] == "r")
        #expect(site.send("GET", "/_scheduler/jobs/none").status == 404)
        #expect(site.send("DELETE", "/_replicator/r?rev=\(rev)").status == 200)
        await eventually { site.send("GET", "/_scheduler/jobs").json["total_rows"] == 0 }
        #expect(site.send("GET", "/_scheduler/docs/_replicator/r").status == 404)
        try source.save(MutableDocument([:], id: "late"))
        try await Task.sleep(for: .milliseconds(100))
        #expect(site.send("GET", "/target/late").status == 404)
    }

    @Test func `the next listener of the directory takes it up again`() async throws {
        let site = try TestSite()
        let source = try site.manager.database(named: "source")
        _ = try site.manager.database(named: "target")
        let first = try site.listen()
        site.send(
            "PUT", "/_replicator/r", #"{"source":"source","target":"target","continuous":true}"#)
        try source.save(MutableDocument([:], id: "a"))
        await eventually { site.send("GET", "/target/a").status == 200 }
        first.stop()
        // The router of the test has followed the document, too; it ends with this.
        site.router.site.end()
        try source.save(MutableDocument([:], id: "b"))
        let second = try site.listen()
        await eventually { site.send("GET", "/target/b").status == 200 }
        #expect(state(site, "r") == nil)
        second.stop()
    }

    @Test func `one that cannot be says failed, and why; one without ends is refused`() async throws
    {
        let site = try TestSite()
        #expect(site.send("PUT", "/_replicator/none", #"{"source":"a"}"#).status == 403)
        site.send("PUT", "/_replicator/r", #"{"source":"missing","target":"target"}"#)
        await eventually { state(site, "r") == "failed" }
        let document = site.send("GET", "/_replicator/r").json
        #expect(document["_replication_state_reason"]?.string?.contains("missing") == true)
        let malformed = #"{"source":"a","target":"b","since_seq":{}}"#
        #expect(site.send("PUT", "/_replicator/s", malformed).status == 403)
    }

    // MARK: - Updates

    @Test func `databases that are made, changed and deleted are news`() async throws {
        let site = try TestSite()
        let old = try site.manager.database(named: "old")
        let first = site.send("GET", "/_db_updates").json
        #expect(first["results"]?.array?.count == 1)
        #expect(first["results"]?[0]?["db_name"] == "old")
        #expect(first["results"]?[0]?["type"] == "created")
        let since = first["last_seq"]?.string ?? ""
        func news() -> [String] {
            site.send("GET", "/_db_updates?since=\(since)").json["results"]?.array?.map {
                "\($0["db_name"]?.string ?? "") \($0["type"]?.string ?? "")"
            } ?? []
        }
        #expect(news() == [])
        try old.save(MutableDocument([:], id: "a"))
        await eventually { news() == ["old updated"] }
        site.send("PUT", "/new")
        #expect(news() == ["old updated", "new created"])
        _ = try site.manager.database(named: "made-by-the-app")
        #expect(news().last == "made-by-the-app created")
        site.send("DELETE", "/new")
        #expect(news().last == "new deleted")
        try site.manager.deleteDatabase(named: "made-by-the-app")
        #expect(news().last == "made-by-the-app deleted")
        // A place of another run is the beginning.
        let again = site.send("GET", "/_db_updates?since=7-00000000").json["results"]?.array
        #expect(again?.count == 3)
    }

    @Test(arguments: ["longpoll", "continuous", "eventsource"])
    func `a feed of them waits, and is woken`(mode: String) throws {
        let site = try TestSite()
        _ = try site.manager.database(named: "old")
        let waiting = site.send("GET", "/_db_updates?feed=\(mode)&since=now")
        #expect(waiting.isWaiting)
        let response = site.router.respond(
            ListenerRequest(
                RequestHead(
                    method: "GET", target: "/_db_updates?feed=\(mode)&since=now",
                    headers: ["Host": "localhost"])))
        guard case .stream(let producer, _) = response.body else {
            Issue.record("It has no stream.")
            return
        }
        let woken = DispatchSemaphore(value: 0)
        producer.whenReady { woken.signal() }
        while case .bytes = try producer.next() {}
        site.send("PUT", "/new")
        #expect(woken.wait(timeout: .now() + 600) == .success)
        guard case .bytes(let bytes) = try producer.next() else {
            Issue.record("It says nothing.")
            return
        }
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text.contains(#""db_name":"new","type":"created""#))
        #expect(text.hasPrefix("data: ") == (mode == "eventsource"))
        producer.cancel()
    }
}
