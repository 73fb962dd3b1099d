// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Divan
import DivanHTTP
import DivanJSON
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// Replications of databases here in the name of the users whose credentials go with their URLs.
///
/// `root` is the administrator who asks; `ann` is a member of `private` and `open`, `joe` of `open` alone.
@Suite(.timeLimit(.minutes(10))) struct ReplicationAccessTests {
    private static let key = Array("a key of thirty-two bytes or more".utf8)
    private static let members = #"{"members":{"names":["ann"]}}"#
    let site: TestSite

    init() throws {
        let tokens = try ListenerTokens(key: Self.key)
        site = try TestSite { options in
            options.access = .users(["root": "r"])
            options.tokens = tokens
        }
        try Self.setPasswords(["ann": "a", "joe": "j"], of: site)
        for name in ["private", "open", "target"] {
            let database = try site.manager.database(named: name)
            if name != "open" {
                try SecurityObject.store(
                    JSONParser.parse(Self.members).object ?? [:], in: database)
            }
            guard name != "target" else { continue }
            for id: DocumentID in ["a", "b", "_design/d"] {
                _ = try database.put(id, [:], parent: nil)
            }
        }
    }

    private static func setPasswords(_ passwords: NameMap<String>, of site: TestSite) throws {
        let path = site.manager.directory.path + "/listener.json"
        var file = try AccountsFile.load(path)
        file.users = passwords.mapValues {
            AccountsFile.User(password: $0, roles: [], iterations: 10)
        }
        #expect(file.write(to: path))
    }

    private static let root: HTTPHeaders = ["Authorization": basic("root", "r")]

    private static func basic(_ name: String, _ password: String) -> String {
        "Basic " + Base64.encode(Array("\(name):\(password)".utf8))
    }

    private static func bearer(_ name: String, roles: [JSONValue] = []) -> String {
        func encoded(_ bytes: [UInt8]) -> String {
            Base64.encode(bytes).replacingOccurrences(of: "+", with: "-")
                .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
        }
        let claims: JSONObject = [
            "sub": .string(name), "exp": .integer(Accounts.now + 600),
            "_couchdb.roles": .array(roles),
        ]
        let body = [["alg": "HS256"], claims]
            .map { encoded(Array(JSONWriter.string(.object($0)).utf8)) }.joined(separator: ".")
        return "Bearer \(body).\(encoded(Secrets.sign(Array(body.utf8), key: key)))"
    }

    /// How credentials stand beside a URL.
    enum Way: CaseIterable {
        case url, auth, header, token, cookie
    }

    /// An end with the credentials of a user; a wrong password begins with `wrong`.
    private func end(_ name: String, _ user: String, _ password: String, _ way: Way) -> JSONValue {
        let url = "http://localhost/\(name)"
        switch way {
        case .url: return .string("http://\(user):\(password)@localhost/\(name)")
        case .auth:
            return [
                "url": .string(url),
                "auth": ["basic": ["username": .string(user), "password": .string(password)]],
            ]
        case .header: return Self.withHeader(url, "Authorization", Self.basic(user, password))
        case .token:
            let token = Self.bearer(user, roles: user == "root" ? ["_admin"] : [])
            let isWrong = password.hasPrefix("wrong")
            return Self.withHeader(url, "Authorization", isWrong ? token + "A" : token)
        case .cookie:
            let login = site.send(
                "POST", "/_session", "name=\(user)&password=\(password)",
                ["Content-Type": "application/x-www-form-urlencoded"])
            let cookie = login.headers["Set-Cookie"] ?? "AuthSession=YW5uOjE6bm9uZQ"
            return Self.withHeader(url, "Cookie", String(cookie.prefix { $0 != ";" }))
        }
    }

    private static func withHeader(_ url: String, _ name: String, _ value: String) -> JSONValue {
        ["url": .string(url), "headers": .object([name: .string(value)])]
    }

    /// Sends `_replicate` as root, from a thread that may wait.
    private func replicate(_ source: JSONValue, _ target: JSONValue, _ more: JSONObject = [:])
        async -> TestAnswer
    {
        var body = more
        body["source"] = source
        body["target"] = target
        let text = JSONValue.object(body).description
        let site = site
        return await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(
                    returning: site.send("POST", "/_replicate", text, Self.root))
            }
        }
    }

    private func ids(_ name: String) -> [String] {
        site.send("GET", "/\(name)/_all_docs", "", Self.root).json["rows"]?.array?
            .compactMap { $0["id"]?.string } ?? []
    }

    // MARK: - Refusals

    @Test(arguments: Way.allCases)
    func `wrong credentials in the URL of a database here are refused, at either end`(way: Way)
        async
    {
        let source = await replicate(end("private", "ann", "wrong-pw", way), "target")
        #expect(source.status == 401)
        #expect(source.json["error"] == "unauthorized")
        #expect(!source.text.contains("wrong-pw"))
        let target = await replicate("private", end("target", "ann", "wrong-pw", way))
        #expect(target.status == 401)
        #expect(ids("target") == [])
    }

    @Test(arguments: Way.allCases)
    func `who is no member of a database can neither read nor write it`(way: Way) async {
        let source = await replicate(end("private", "joe", "j", way), "target")
        #expect(source.status == 403)
        #expect(source.json["error"] == "forbidden")
        let target = await replicate("open", end("target", "joe", "j", way))
        #expect(target.status == 403)
        #expect(ids("target") == [])
    }

    @Test(arguments: Way.allCases)
    func `a member's design documents are refused and counted, an administrator's are not`(
        way: Way
    ) async {
        let ann = await replicate(
            end("private", "ann", "a", way), end("target", "ann", "a", way))
        #expect(ann.status == 200)
        #expect(ann.json["history"]?[0]?["docs_written"] == 2)
        #expect(ann.json["history"]?[0]?["doc_write_failures"] == 1)
        #expect(ids("target") == ["a", "b"])
        // Another user has another checkpoint, so what the first one could not write is looked at.
        let root = await replicate(
            end("private", "root", "r", way), end("target", "root", "r", way))
        #expect(root.status == 200)
        #expect(root.json["history"]?[0]?["docs_written"] == 1)
        #expect(ids("target") == ["_design/d", "a", "b"])
    }

    @Test func `without credentials a database here is used as the administrator who asks`()
        async
    {
        let byName = await replicate("private", "target")
        #expect(byName.status == 200)
        #expect(ids("target") == ["_design/d", "a", "b"])
        let byURL = await replicate("http://localhost/private", "http://localhost/open")
        #expect(byURL.status == 200)
    }

    @Test func `of credentials in several places auth goes first, then the URL, then fields`()
        throws
    {
        func credentials(_ end: JSONValue) throws -> String? {
            let request = try ReplicateRequest(
                ["source": end, "target": "x"], hosts: ["localhost"])
            return request.sourceCredentials?["Authorization"]
        }
        let url: JSONValue = "http://u:p%40@localhost/db"
        let headers: JSONValue = ["authorization": .string(Self.basic("h", "p"))]
        let auth: JSONValue = ["basic": ["username": "a", "password": "p"]]
        #expect(try credentials(url) == Self.basic("u", "p@"))
        #expect(try credentials(["url": url, "headers": headers]) == Self.basic("u", "p@"))
        #expect(
            try credentials(["url": url, "headers": headers, "auth": auth])
                == Self.basic("a", "p"))
        #expect(
            try credentials(["url": "http://localhost/db", "headers": headers])
                == Self.basic("h", "p"))
        #expect(try credentials("http://localhost/db") == nil)
        #expect(try credentials("db") == nil)
    }

    @Test func `a target is made for users only who may make databases`() async {
        let joe = await replicate(
            "open", end("made", "joe", "j", .url), ["create_target": true])
        #expect(joe.status == 401)
        #expect(site.send("GET", "/made", "", Self.root).status == 404)
        let root = await replicate(
            "open", end("made", "root", "r", .url), ["create_target": true])
        #expect(root.status == 200)
    }

    @Test func `system databases are for administrators, in replications as well`() async {
        #expect(site.send("PUT", "/_users", "", Self.root).status == 201)
        let joe = await replicate(end("_users", "joe", "j", .url), "target")
        #expect(joe.status == 403)
    }

    @Test func `the app's rule for requests holds in a replication, too`() async throws {
        let careful = try TestSite { options in
            options.access = .users(["root": "r", "ann": "a"])
            options.authorization.request = { user, _, path in
                user.name == "root" || path.first != "private"
            }
        }
        for name in ["private", "target"] { _ = try careful.manager.database(named: name) }
        let body = #"{"source":"http://ann:a@localhost/private","target":"target"}"#
        #expect(careful.send("POST", "/_replicate", body, Self.root).status == 403)
    }

    @Test func `a running replication is joined only by who could have started it`() async {
        let ann = end("private", "ann", "a", .url)
        let first = await replicate(ann, "target", ["continuous": true])
        #expect(first.status == 202)
        let wrong = await replicate(
            end("private", "ann", "wrong-pw", .url), "target", ["continuous": true])
        #expect(wrong.status == 401)
        let same = await replicate(ann, "target", ["continuous": true])
        #expect(same.json["_local_id"] == first.json["_local_id"])
        let own = await replicate("private", "target", ["continuous": true])
        #expect(own.json["_local_id"] != first.json["_local_id"])
        // Cancelling needs no right to read.
        let gone = await replicate(
            end("private", "ann", "old", .url), "target", ["continuous": true, "cancel": true])
        #expect(gone.status == 200)
        #expect(gone.json["_local_id"] == first.json["_local_id"])
    }

    // MARK: - Documents of _replicator

    private func put(_ id: String, _ source: JSONValue, continuous: Bool = false) {
        let body: JSONValue = [
            "source": source, "target": "target", "continuous": .bool(continuous),
        ]
        let answer = site.send("PUT", "/_replicator/\(id)", body.description, Self.root)
        #expect(answer.status == 201)
    }

    private func scheduled(_ id: String) -> JSONValue {
        site.send("GET", "/_scheduler/docs/_replicator/\(id)", "", Self.root).json
    }

    @Test func `a document with wrong credentials, or those of a stranger, fails and says why`()
        async throws
    {
        for (id, password, user) in [("wrong", "x", "ann"), ("stranger", "j", "joe")] {
            put(id, end("private", user, password, .url))
            await eventually { scheduled(id)["state"] == "failed" }
            let document = site.send("GET", "/_replicator/\(id)", "", Self.root).json
            #expect(document["_replication_state"] == "failed")
            #expect(document["_replication_state_reason"]?.string?.isEmpty == false)
        }
        #expect(ids("target") == [])
        put("right", end("private", "ann", "a", .url))
        await eventually { scheduled("right")["state"] == "completed" }
        #expect(ids("target") == ["_design/d", "a", "b"])
    }

    @Test(arguments: ["password", "user", "security"])
    func `a right that is taken away pauses what runs by it, and comes back with it`(what: String)
        async throws
    {
        put("r", end("private", "ann", "a", .url), continuous: true)
        await eventually { ids("target").count == 3 }
        func set(_ isAllowed: Bool) throws {
            switch what {
            case "password":
                try Self.setPasswords(["ann": isAllowed ? "a" : "new", "joe": "j"], of: site)
            case "user":
                try Self.setPasswords(isAllowed ? ["ann": "a"] : ["joe": "j"], of: site)
            default:
                let names = isAllowed ? #"["ann"]"# : #"["joe"]"#
                let security = site.send(
                    "PUT", "/private/_security", #"{"members":{"names":\#(names)}}"#, Self.root)
                #expect(security.status == 200)
            }
        }
        try set(false)
        let database = try site.manager.database(named: "private")
        try database.put("late", [:], parent: nil)
        await eventually { scheduled("r")["state"] == "crashing" }
        #expect(scheduled("r")["info"]?["error"]?.string?.contains("private") == true)
        #expect(ids("target").count == 3)
        try set(true)
        for (_, job) in site.router.site.replicator.jobs { job.running?.replication.retryNow() }
        await eventually { ids("target").contains("late") }
        #expect(scheduled("r")["state"] == "running")
    }
}
