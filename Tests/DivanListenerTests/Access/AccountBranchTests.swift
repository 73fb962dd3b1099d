// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import Testing

@testable import DivanListener

/// What users may do with the documents of `_users`, on each branch and in each way of writing.
@Suite struct AccountBranchTests {
    private static let path = "/_users/org.couchdb.user:eve"
    private static let older = "1-" + String(repeating: "1", count: 32)
    private static let winner = "2-" + String(repeating: "b", count: 32)
    private static let loser = "2-" + String(repeating: "a", count: 32)

    private static func credentials(_ name: String, _ password: String) -> HTTPHeaders {
        ["Authorization": "Basic " + Base64.encode(Array("\(name):\(password)".utf8))]
    }

    private static let root = credentials("root", "r")
    private static let eve = credentials("eve", "e")

    /// An account as it is stored; few rounds, so that signing in takes no time.
    private static func account(
        _ name: String = "eve", _ password: String = "e", roles: [String] = ["staff"],
        _ special: JSONObject = [:]
    ) -> String {
        let salt = "salt-of-\(password)"
        var body: JSONObject = [
            "name": .string(name), "type": "user", "roles": .array(roles.map { .string($0) }),
            "password_scheme": "pbkdf2", "pbkdf2_prf": "sha256", "iterations": 10,
            "salt": .string(salt),
            "derived_key": .string(
                Hexadecimal.text(
                    Secrets.derive(password, salt: Array(salt.utf8), iterations: 10))),
        ]
        for (key, value) in special { body[key] = value }
        return JSONWriter.string(.object(body))
    }

    private static func history(_ revisions: String...) -> JSONObject {
        let digests = revisions.map { JSONValue.string(String($0.dropFirst(2))) }
        return [
            "_rev": .string(revisions[0]),
            "_revisions": ["start": .integer(Int64(revisions.count)), "ids": .array(digests)],
        ]
    }

    /// A listener whose `_users` lets eve and mallory at the document of their own.
    private static func site() throws -> TestSite {
        let site = try TestSite { $0.access = .users(["root": "r"]) }
        site.send(
            "PUT", "/_users/_security", #"{"members":{"names":["eve","mallory"]}}"#, root)
        return site
    }

    /// Stores a revision as another server's administrator would bring it.
    private static func bring(
        _ site: TestSite, _ revisions: JSONObject, _ name: String = "eve", _ password: String = "e",
        roles: [String] = ["staff"]
    ) {
        var revisions = revisions
        revisions["_attachments"] = ["a": ["data": "aGk="]]
        let answer = site.send(
            "PUT", "/_users/org.couchdb.user:\(name)?new_edits=false",
            account(name, password, roles: roles, revisions), root)
        #expect(answer.status == 201)
    }

    private static func leaves(_ site: TestSite) throws -> [String] {
        let database = try site.manager.database(named: "_users")
        return try database.revisionTree(of: "org.couchdb.user:eve")?.leaves.map(\.id.description)
            ?? []
    }

    // MARK: - Writing

    /// A way of writing; it gets the revision that is edited.
    private typealias Way = (
        name: String, isEdit: Bool,
        send: @Sendable (TestSite, _ revision: String, HTTPHeaders) -> TestAnswer
    )

    private static let ways: [Way] = [
        (
            "PUT", true,
            { $0.send("PUT", path + "?rev=\($1)", account(["x": 1]), $2) }
        ),
        (
            "PUT of a deletion", true,
            { $0.send("PUT", path, #"{"_rev":"\#($1)","_deleted":true}"#, $2) }
        ),
        ("DELETE", true, { $0.send("DELETE", path + "?rev=\($1)", "", $2) }),
        (
            "PUT of an attachment", true,
            { $0.send("PUT", path + "/b?rev=\($1)", "content", $2) }
        ),
        ("DELETE of an attachment", true, { $0.send("DELETE", path + "/a?rev=\($1)", "", $2) }),
        (
            "COPY", true,
            {
                var headers = $2
                headers["Destination"] = "org.couchdb.user:eve?rev=\($1)"
                return $0.send("COPY", path, "", headers)
            }
        ),
        (
            "PUT in parts", true,
            {
                var headers = $2
                headers["Content-Type"] = "multipart/related; boundary=b"
                let document = account(["_rev": .string($1)])
                return $0.send("PUT", path, "--b\r\n\r\n\(document)\r\n--b--", headers)
            }
        ),
        (
            "a revision made elsewhere", false,
            {
                let revisions = history("3-" + String(repeating: "f", count: 32), $1, older)
                return $0.send("PUT", path + "?new_edits=false", account(revisions), $2)
            }
        ),
        (
            "a deletion made elsewhere", false,
            {
                var revisions = history("3-" + String(repeating: "f", count: 32), $1, older)
                revisions["_deleted"] = true
                return $0.send("PUT", path + "?new_edits=false", account(revisions), $2)
            }
        ),
    ]

    private static func account(_ special: JSONObject) -> String {
        account("eve", "e", roles: ["staff"], special)
    }

    @Test(arguments: ways.indices)
    func `a user edits the one live revision of the own account, and nothing else`(_ index: Int)
        throws
    {
        let way = Self.ways[index]
        let site = try Self.site()
        Self.bring(site, Self.history(Self.winner, Self.older))
        let before = try Self.leaves(site)
        // A revision that is edited already.
        let stale = way.send(site, Self.older, Self.eve)
        #expect([403, 409].contains(stale.status), "\(way.name): \(stale.status)")
        #expect(try Self.leaves(site) == before)
        let answer = way.send(site, Self.winner, Self.eve)
        #expect([200, 201].contains(answer.status) == way.isEdit, "\(way.name): \(answer.text)")
        #expect(try (Self.leaves(site) != before) == way.isEdit)
    }

    @Test(arguments: ways.indices)
    func `while an account has conflicting revisions only an administrator writes it`(_ index: Int)
        throws
    {
        let way = Self.ways[index]
        for revision in [Self.winner, Self.loser] {
            let site = try Self.site()
            Self.bring(site, Self.history(Self.winner, Self.older))
            Self.bring(site, Self.history(Self.loser, Self.older), roles: ["staff", "boss"])
            let before = try Self.leaves(site)
            #expect(before.count == 2)
            let refused = way.send(site, revision, Self.eve)
            #expect(refused.status == 403, "\(way.name): \(refused.status)")
            #expect(try Self.leaves(site) == before)
            let done = way.send(site, revision, Self.root)
            #expect([200, 201].contains(done.status), "\(way.name): \(done.text)")
        }
    }

    @Test func `a branch that was deleted cannot be taken up again by the user`() throws {
        let site = try Self.site()
        Self.bring(site, Self.history(Self.winner, Self.older))
        Self.bring(site, Self.history(Self.loser, Self.older), roles: ["staff", "boss"])
        let deleted = site.send("DELETE", Self.path + "?rev=\(Self.loser)", "", Self.root)
        let tombstone = deleted.json["rev"]?.string ?? ""
        for revision in [Self.loser, tombstone] {
            let answer = site.send(
                "PUT", Self.path + "?rev=\(revision)",
                Self.account(roles: ["staff", "boss"]), Self.eve)
            #expect([403, 409].contains(answer.status))
        }
        #expect(site.send("DELETE", Self.path + "?rev=\(Self.winner)", "", Self.eve).status == 200)
        #expect(site.send("GET", "/_session", "", Self.eve).status == 401)
    }

    @Test func `a role that is taken away stays away, whatever branches the user has made`() throws
    {
        let site = try Self.site()
        Self.bring(site, Self.history(Self.older))
        let own = site.send("GET", Self.path, "", Self.eve)
        #expect(own.status == 200)
        let branch = site.send(
            "PUT", Self.path + "?new_edits=false",
            own.text.replacing(Self.older, with: "1-" + String(repeating: "0", count: 32)),
            Self.eve)
        #expect(branch.status == 403)
        let taken = site.send(
            "PUT", Self.path + "?rev=\(Self.older)", Self.account(roles: []), Self.root)
        let rev = taken.json["rev"]?.string ?? ""
        #expect(site.send("GET", "/_session", "", Self.eve).json["userCtx"]?["roles"] == [])
        #expect(site.send("DELETE", Self.path + "?rev=\(rev)", "", Self.eve).status == 200)
        #expect(site.send("GET", "/_session", "", Self.eve).status == 401)
    }

    @Test(
        arguments: [
            ["roles": ["boss"]], ["roles": ["staff", "boss"]], ["iterations": 10_000_000],
            ["derived_key": "00"], ["salt": "other"], ["password_scheme": "simple"],
            ["iterations": nil], ["name": "mallory"], ["type": "admin"],
        ] as [NameMap<JSONValue?>])
    func `a user changes neither roles nor the hash of the password`(
        changes: NameMap<JSONValue?>
    ) throws {
        let site = try Self.site()
        Self.bring(site, Self.history(Self.older))
        var body = site.send("GET", Self.path, "", Self.eve).json.object ?? [:]
        for (key, value) in changes { body[key] = value }
        let text = JSONWriter.string(.object(body))
        let answer = site.send("PUT", Self.path, text, Self.eve)
        #expect(answer.status == 403, "\(changes)")
        // Twice the same name in the text: the later one counts, and is the one that is looked at.
        for (key, value) in changes where value != nil {
            let twice = text.dropLast() + ",\(JSONWriter.string(.string(key))):\((value ?? .null))}"
            #expect(site.send("PUT", Self.path, String(twice), Self.eve).status >= 400)
        }
    }

    @Test
    func
        `a database administrator of _users who is no administrator of the listener is like others`()
        throws
    {
        let site = try Self.site()
        Self.bring(site, Self.history(Self.older))
        site.send("PUT", "/_users/_security", #"{"admins":{"names":["eve"]}}"#, Self.root)
        var headers = Self.eve
        for destination in ["_design/d", "_design%2Fd", "plain", "org.couchdb.user:zed"] {
            headers["Destination"] = destination
            let status = destination.hasPrefix("_design") ? 403 : 404
            #expect(site.send("COPY", Self.path, "", headers).status == status, "\(destination)")
        }
        #expect(site.send("PUT", "/_users/_design/d", "{}", Self.eve).status == 403)
        #expect(site.send("PUT", "/_users/_security", "{}", Self.eve).status == 403)
        #expect(site.send("POST", "/_users/_bulk_docs", #"{"docs":[]}"#, Self.eve).status == 403)
    }

    // MARK: - Signing in

    private static func roles(_ site: TestSite, _ password: String) -> JSONValue? {
        site.send("GET", "/_session", "", credentials("eve", password)).json["userCtx"]?["roles"]
    }

    @Test func `while an account has conflicting revisions its user has the roles of all of them`()
        throws
    {
        let site = try Self.site()
        Self.bring(site, Self.history(Self.loser, Self.older), roles: ["boss", "staff"])
        #expect(Self.roles(site, "e") == ["boss", "staff"])
        Self.bring(site, Self.history(Self.winner, Self.older), roles: ["staff", "more"])
        #expect(Self.roles(site, "e") == ["staff"])
        site.send("DELETE", Self.path + "?rev=\(Self.winner)", "", Self.root)
        #expect(Self.roles(site, "e") == ["boss", "staff"])
    }

    @Test func `a password counts only if all live revisions of the account have it`() throws {
        let site = try Self.site()
        Self.bring(site, Self.history(Self.loser, Self.older), "eve", "old")
        let cookie = site.send(
            "POST", "/_session", "name=eve&password=old",
            ["Content-Type": "application/x-www-form-urlencoded"]
        ).headers["Set-Cookie"].map { String($0.prefix { $0 != ";" }) }
        let session: HTTPHeaders = ["Cookie": cookie ?? ""]
        #expect(site.send("GET", "/_session", "", session).json["userCtx"]?["name"] == "eve")
        Self.bring(site, Self.history(Self.winner, Self.older), "eve", "new")
        #expect(Self.roles(site, "old") == nil && Self.roles(site, "new") == nil)
        #expect(site.send("GET", "/_session", "", session).json["userCtx"]?["name"] == .null)
        site.send("DELETE", Self.path + "?rev=\(Self.loser)", "", Self.root)
        #expect(Self.roles(site, "new") == ["staff"] && Self.roles(site, "old") == nil)
    }

    @Test func `who has an account with different passwords is told why, and is never locked out`()
        throws
    {
        let site = try Self.site()
        Self.bring(site, Self.history(Self.loser, Self.older), "eve", "old")
        Self.bring(site, Self.history(Self.winner, Self.older), "eve", "new")
        for number in 0..<7 {
            let password = ["old", "new", "guess"][number % 3]
            let answer = site.send("GET", "/_session", "", Self.credentials("eve", password))
            #expect(answer.status == 401)
            #expect(
                answer.json["reason"]
                    == "User document conflicts must be resolved before the document is used for authentication purposes."
            )
        }
        site.send("DELETE", Self.path + "?rev=\(Self.loser)", "", Self.root)
        #expect(Self.roles(site, "new") == ["staff"])
    }

    @Test func `a user of the listener signs in whatever conflicts a document of the name has`()
        throws
    {
        let site = try Self.site()
        Self.bring(site, Self.history(Self.loser, Self.older), "root", "old")
        Self.bring(site, Self.history(Self.winner, Self.older), "root", "new")
        #expect(site.send("GET", "/_session", "", Self.root).status == 200)
        let wrong = site.send("GET", "/_session", "", Self.credentials("root", "new"))
        #expect(wrong.json["reason"] == "Name or password is incorrect.")
    }

    // MARK: - Reading

    @Test func `a user sees nothing of another account, by whatever route`() throws {
        let site = try Self.site()
        Self.bring(site, Self.history(Self.older))
        Self.bring(site, Self.history(Self.older), "mallory", "m")
        let other = "/_users/org.couchdb.user:mallory"
        let reads = Router.table.filter { $0.pattern.hasPrefix("/{db}") }
        #expect(reads.count > 40)
        for route in reads {
            for document in ["org.couchdb.user:mallory", "org.couchdb.user%3amallory"] {
                let target = route.pattern.replacing("{db}", with: "_users")
                    .replacing("{doc}", with: document).replacing("{attachment}", with: "a")
                    .replacing("{ddoc}", with: "d").replacing("{name}", with: "v")
                    .replacing("{id}", with: "_divan%2Fsecurity")
                var headers = Self.eve
                headers["Destination"] = "org.couchdb.user:eve"
                let answer = site.send(route.method, target, "{}", headers)
                let isDocument =
                    route.pattern.hasPrefix("/{db}/{doc}")
                    || route.pattern.hasSuffix("/_show/{name}/{id}")
                    || route.pattern == "/{db}" && route.method == "POST"
                #expect(
                    isDocument ? answer.status == 404 : [401, 403].contains(answer.status),
                    "\(route.method) \(target): \(answer.status)")
                #expect(!answer.text.contains("derived_key"))
            }
        }
        #expect(site.send("GET", other + "?open_revs=all", "", Self.eve).status == 404)
        #expect(site.send("GET", Self.path + "/a", "", Self.eve).text == "hi")
    }

    @Test func `a member of _replicator who is no administrator uses nothing of it`() throws {
        let site = try Self.site()
        Self.bring(site, Self.history(Self.older))
        site.send("PUT", "/_replicator/_security", #"{"members":{"names":["eve"]}}"#, Self.root)
        let body = #"{"source":"a","target":"b","owner":"eve","user_ctx":{"name":"eve"}}"#
        let made = site.send("PUT", "/_replicator/r", body, Self.root)
        #expect(made.status == 201)
        let rev = made.json["rev"]?.string ?? ""
        for (method, target) in [
            ("GET", "/_replicator/r"), ("PUT", "/_replicator/r?rev=\(rev)"),
            ("DELETE", "/_replicator/r?rev=\(rev)"), ("PUT", "/_replicator/r?new_edits=false"),
            ("PUT", "/_replicator/org.couchdb.user:eve"), ("PUT", "/_replicator/r/a?rev=\(rev)"),
            ("POST", "/_replicator/_bulk_docs"),
        ] {
            #expect(site.send(method, target, body, Self.eve).status == 403, "\(method) \(target)")
        }
        #expect(site.send("GET", "/_replicator/_all_docs", "", Self.eve).status == 401)
    }

    @Test func `a replication with a user's credentials brings nothing into _users`() throws {
        let site = try Self.site()
        Self.bring(site, Self.history(Self.older))
        _ = try site.manager.database(named: "source").put("x", [:], parent: nil)
        let answer = site.send(
            "POST", "/_replicate", #"{"source":"source","target":"http://eve:e@localhost/_users"}"#,
            Self.root)
        #expect([401, 403].contains(answer.status), "\(answer.text)")
        #expect(try site.manager.database(named: "_users").document(withID: "x") == nil)
    }

    @Test func `a user makes the own account no longer than what each request may read`() throws {
        let site = try Self.site()
        site.send("PUT", Self.path, Self.account(), Self.root)
        func status(_ count: Int, _ user: HTTPHeaders) -> Int {
            let rev = site.send("GET", Self.path, "", Self.root).json["_rev"]?.string ?? ""
            let note = JSONValue.string(String(repeating: "x", count: count))
            let body = Self.account("eve", "e", roles: ["staff"], ["note": note])
            return site.send("PUT", Self.path + "?rev=" + rev, body, user).status
        }
        #expect(status(10_000, Self.eve) == 201)
        #expect(status(70_000, Self.eve) == 413)
        #expect(status(70_000, Self.root) == 201)
    }
}
