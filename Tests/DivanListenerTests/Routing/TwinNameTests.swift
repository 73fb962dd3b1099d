// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import Foundation
import Testing

@testable import DivanListener

/// Two names that Swift's `==` holds for one, and that are two by their bytes.
struct Twins: Sendable, CustomTestStringConvertible {
    var one: String
    var other: String

    /// By composition, by a sign of Unicode for a letter of ASCII, and by one for a mark of ASCII.
    static let all = [
        Twins(one: "jos\u{E9}", other: "jose\u{301}"), Twins(one: "K", other: "\u{212A}"),
        Twins(one: "a`b", other: "a\u{1FEF}b"),
    ]

    var testDescription: String { "\(Array(one.utf8)) and \(Array(other.utf8))" }
}

/// Users, roles and what `_security` names are told apart by their bytes.
@Suite(.timeLimit(.minutes(10))) struct TwinNameTests {
    private static let admin: HTTPHeaders = basic("root")

    private static func basic(_ name: String) -> HTTPHeaders {
        ["Authorization": "Basic " + Base64.encode(Array("\(name):pw".utf8))]
    }

    private static func path(_ parts: String...) -> String {
        parts.map { "/" + PercentEncoding.encode($0) }.joined()
    }

    /// A site that knows root, and both names with few rounds of hashing, each with a role of its own.
    private func site(_ twins: Twins, roles: (String, String) = ("r1", "r2")) throws -> TestSite {
        let site = try TestSite { $0.access = .users(["root": "pw"]) }
        let path = site.manager.directory.path + "/listener.json"
        var file = try AccountsFile.load(path)
        for (name, role) in [(twins.one, roles.0), (twins.other, roles.1)] {
            file.users[name] = AccountsFile.User(password: "pw", roles: [role], iterations: 10)
        }
        #expect(file.write(to: path))
        return site
    }

    @Test(arguments: Twins.all)
    func `two users of listener.json have their own roles, and removing one leaves the other`(
        twins: Twins
    ) throws {
        let site = try site(twins)
        func roles(_ name: String) -> JSONValue? {
            site.send("GET", "/_session", "", Self.basic(name)).json["userCtx"]?["roles"]
        }
        #expect(roles(twins.one) == ["r1"])
        #expect(roles(twins.other) == ["r2"])
        let users = ListenerUsers(directory: site.manager.directory.path)
        #expect(try users.all().count == 2)
        #expect(try users.remove(twins.one))
        #expect(roles(twins.one) == nil)
        #expect(roles(twins.other) == ["r2"])
    }

    @Test(arguments: Twins.all)
    func `users given with the listener are two, each with a password of its own`(twins: Twins)
        throws
    {
        let accounts = try Accounts(
            directory: nil, passwords: [twins.one: "1", twins.other: "2"])
        #expect(accounts.rememberedUser(twins.one, password: "1")?.name == twins.one)
        #expect(accounts.rememberedUser(twins.one, password: "2") == nil)
        #expect(accounts.rememberedUser(twins.other, password: "2")?.isNamed(twins.other) == true)
        #expect(ListenerUser(name: twins.one) != ListenerUser(name: twins.other))
        #expect(!ListenerUser(name: twins.one).isNamed(twins.other))
        #expect(!ListenerUser().isNamed(nil))
    }

    @Test(arguments: Twins.all)
    func `a user neither reads nor writes the document of its twin in _users`(twins: Twins) throws {
        let site = try site(twins)
        #expect(site.send("PUT", "/_users", "", Self.admin).status == 201)
        let both = #"{"members":{"roles":["r1","r2"]}}"#
        #expect(site.send("PUT", "/_users/_security", both, Self.admin).status == 200)
        func document(_ name: String) -> String {
            Self.path("_users", UserDocument.prefix + name)
        }
        func text(_ name: String) -> String {
            JSONValue(["name": .string(name), "type": "user", "roles": []]).description
        }
        for name in [twins.one, twins.other] {
            #expect(site.send("PUT", document(name), text(name), Self.admin).status == 201)
        }
        let own = site.send("GET", document(twins.one), "", Self.basic(twins.one))
        #expect(own.status == 200)
        let foreign = document(twins.other)
        #expect(site.send("GET", foreign, "", Self.basic(twins.one)).status == 404)
        let rev = site.send("GET", foreign, "", Self.admin).json["_rev"]?.string ?? ""
        for (body, user, status) in [
            (text(twins.other), Self.basic(twins.one), 404), (text(twins.one), Self.admin, 403),
        ] {
            let answer = site.send("PUT", foreign + "?rev=\(rev)", body, user)
            #expect(answer.status == status)
        }
    }

    @Test(arguments: Twins.all)
    func `who is named in _security is let in, and its twin is not`(twins: Twins) throws {
        let site = try site(twins, roles: (twins.one, twins.other))
        for key in ["names", "roles"] {
            for group in ["members", "admins"] {
                let database = "\(group)-\(key)"
                #expect(site.send("PUT", "/\(database)", "", Self.admin).status == 201)
                let security: JSONValue = [
                    "members": ["names": ["root"]], group: [key: [.string(twins.one)]],
                ]
                #expect(
                    site.send("PUT", "/\(database)/_security", security.description, Self.admin)
                        .status == 200)
                let design = "/\(database)/_design/x"
                let expected = group == "admins" ? 201 : 403
                #expect(
                    site.send("PUT", design, "{}", Self.basic(twins.one)).status == expected)
                #expect(site.send("GET", "/\(database)", "", Self.basic(twins.one)).status == 200)
                #expect(site.send("GET", "/\(database)", "", Self.basic(twins.other)).status == 403)
            }
        }
    }

    @Test func `a role or a name that begins with the bytes of what is reserved is refused`() throws
    {
        let site = try TestSite { $0.access = .users(["root": "pw"]) }
        for (name, role) in [("ann", "_\u{301}admin"), ("a:\u{301}b", "r")] {
            let body: JSONValue = [
                "name": .string(name), "type": "user", "roles": [.string(role)],
            ]
            let path = Self.path("_users", UserDocument.prefix + name)
            let answer = site.send("PUT", path, body.description, Self.admin)
            #expect((400...403).contains(answer.status))
        }
        #expect(throws: DatabaseError.self) {
            try ListenerUsers(directory: site.manager.directory.path)
                .set("a:\u{301}b", password: "pw")
        }
        // The first colon by bytes ends the name, whatever the password begins with.
        let given = Guardian.credentials("Basic " + Base64.encode(Array("ann:\u{301}x".utf8)))
        #expect(given?.name == "ann")
        #expect(given?.password == "\u{301}x")
    }

    @Test(arguments: Twins.all)
    func `wrong passwords for a name do not lock its twin out`(twins: Twins) {
        let throttle = PasswordThrottle(ListenerLimits())
        for _ in 0..<5 { throttle.note(twins.one, from: "10.0.0.1", isRight: false) }
        #expect(throttle.isLocked(twins.one, from: "10.0.0.1"))
        #expect(!throttle.isLocked(twins.other, from: "10.0.0.1"))
    }

    @Test(arguments: Twins.all)
    func `keys of tokens and parameters of a request are two under two such names`(twins: Twins)
        throws
    {
        let keys: NameMap = [
            twins.one: [UInt8](repeating: 1, count: 32),
            twins.other: [UInt8](repeating: 2, count: 32),
        ]
        let tokens = try ListenerTokens(keys: keys)
        for (name, key) in keys {
            let head = #"{"alg":"HS256","kid":\#(JSONValue.string(name).description)}"#
            let parts = [head, #"{"sub":"ann","exp":4000000000}"#].map {
                Base64.encode(Array($0.utf8)).filter { $0 != "=" }
                    .replacing("+", with: "-").replacing("/", with: "_")
            }
            let signed = parts.joined(separator: ".")
            let signature = Base64.encode(Secrets.sign(Array(signed.utf8), key: key))
                .filter { $0 != "=" }.replacing("+", with: "-").replacing("/", with: "_")
            #expect(try tokens.user("\(signed).\(signature)", now: 0).name == "ann")
        }
        let encoded = [twins.one, twins.other].map { PercentEncoding.encode($0) }
        let query = try QueryParameters(Array("\(encoded[0])=1&\(encoded[1])=2".utf8)[...])
        #expect(query[twins.one] == "1" && query[twins.other] == "2")
    }

    @Test(arguments: Twins.all)
    func `lists of documents and of local documents have both, and leave out one by its bytes`(
        twins: Twins
    ) throws {
        let site = try TestSite()
        site.send("PUT", "/db")
        for prefix in ["", "_local/"] {
            for name in [twins.one, twins.other] {
                let body = JSONValue(["name": .string(name)]).description
                let path = "/db/" + prefix + PercentEncoding.encode(name)
                #expect(site.send("PUT", path, body).status == 201)
                #expect(site.send("GET", path).json["name"] == .string(name))
            }
            let list = prefix.isEmpty ? "/db/_all_docs" : "/db/_local_docs"
            let ids = [twins.one, twins.other].map { JSONValue.string(prefix + $0) }
            let keys = JSONValue(["keys": .array(ids)]).description
            let rows =
                site.send("POST", list + "?include_docs=true", keys).json["rows"]?.array ?? []
            #expect(rows.map { $0["id"] } == ids)
            #expect(rows.map { $0["doc"]?["name"] } == [.string(twins.one), .string(twins.other)])
            for end in ids {
                let query = PercentEncoding.encode(end.description)
                let range = site.send("GET", list + "?inclusive_end=false&endkey=" + query)
                #expect(range.json["rows"]?.array?.contains { $0["id"] == end } == false)
            }
        }
    }

    @Test func `a mark on a separator hides nothing behind it`() throws {
        let site = try TestSite { $0.access = .users(["root": "pw"]) }
        site.send("PUT", "/db", "", Self.admin)
        let type: HTTPHeaders = [
            "Content-Type": "text/html;\u{301}x",
            "Authorization": Self.admin["Authorization"] ?? "",
        ]
        #expect(site.send("PUT", "/db/d/a", "<p>", type).status == 201)
        let answer = site.send("GET", "/db/d/a", "", Self.admin)
        #expect(answer.headers["Content-Disposition"] == "attachment")
        let index = #"{"ddoc":"a/\u0301b","name":"n","index":{"fields":["x"]}}"#
        #expect(site.send("POST", "/db/_index", index, Self.admin).status == 400)
    }

    @Test func `who signs in is led to a path here and to no other host`() throws {
        let site = try TestSite { $0.access = .users(["root": "pw"]) }
        func login(_ next: String) -> TestAnswer {
            site.send(
                "POST", "/_session?next=" + PercentEncoding.encode(next),
                "name=root&password=pw", ["Content-Type": "application/x-www-form-urlencoded"])
        }
        for next in [
            "//example.com", "//\u{301}example.com", "/\\example.com", "/\\/example.com",
            "/\t/example.com",
            "/\n/example.com", "\t//example.com", " //example.com", "\\\\example.com",
            "example.com",
            "http://example.com", "/a\r\nSet-Cookie: b=c", "",
        ] {
            let answer = login(next)
            #expect(answer.status == 200 && answer.headers["Location"] == nil, "\(next)")
        }
        for next in ["/", "/db/_design/a?b=c#d", "/a//b"] {
            let answer = login(next)
            #expect(answer.status == 302 && answer.headers["Location"] == next, "\(next)")
        }
    }
}
