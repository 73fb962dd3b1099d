// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import Foundation
import Testing

@testable import DivanListener

/// Requests and answers that go on while the account of their user changes.
///
/// `joe` is a user, and `boss` an administrator.
@Suite struct LateBodyTests {
    private let site: TestSite
    private let file: String

    init() throws {
        site = try TestSite { $0.access = .users(["root": "r"]) }
        file = site.manager.directory.path + "/listener.json"
        try edit { users in
            users["joe"] = Self.account("joe")
            users["boss"] = Self.account("boss", [ListenerUser.adminRole])
        }
        let database = try site.manager.database(named: "db")
        try database.put("a", ["n": 1], parent: nil)
    }

    private static func account(_ password: String, _ roles: NameSet = []) -> AccountsFile.User {
        AccountsFile.User(password: password, roles: roles, iterations: 10)
    }

    private func edit(_ change: (inout NameMap<AccountsFile.User>) -> Void) throws {
        var accounts = try AccountsFile.load(file)
        change(&accounts.users)
        #expect(accounts.write(to: file))
    }

    private func basic(_ user: String) -> HTTPHeaders {
        ["Authorization": "Basic " + Base64.encode(Array("\(user):\(user)".utf8))]
    }

    /// A session of a user that has lasted for a while, so that it is renewed.
    private func session(_ name: String) throws -> HTTPHeaders {
        let accounts = site.router.site.accounts
        let user = try #require(accounts.user(name, password: name))
        let cookie = accounts.cookie(for: user, secure: false, now: Accounts.now - 100)
        return ["Cookie": String(try #require(cookie).prefix { $0 != ";" })]
    }

    /// A request of which the head has come, and so shown who makes it.
    private func begun(
        _ method: String, _ target: String, _ headers: HTTPHeaders, _ body: String = "{}"
    ) -> ListenerRequest {
        var head = RequestHead(method: method, target: target, headers: headers)
        head.headers["Host"] = "localhost"
        head.headers["Content-Type"] = "application/json"
        head.headers["Content-Length"] = "\(body.utf8.count)"
        var request = ListenerRequest(head, body: .bytes(Array(body.utf8)))
        request.identity = site.router.identity(of: head, mayTakeLong: true)
        return request
    }

    private func feed(_ headers: HTTPHeaders, _ target: String = "/db/_changes") throws
        -> any ResponseProducer
    {
        let request = begun("GET", target + "?feed=continuous", headers, "")
        let response = site.router.respond(request)
        guard response.status == 200, case .stream(let feed, _) = response.body else {
            throw HTTPFailure(response.status, "refused", "It is no feed.")
        }
        feed.whenReady {}
        for _ in 0..<3 { _ = try feed.next() }
        return feed
    }

    // MARK: - Bodies

    @Test(arguments: ["joe", "boss"], [true, false])
    func `a body that ends after the account is gone, or has another password, is refused`(
        name: String, isGone: Bool
    ) throws {
        let late = try [basic(name), session(name)].map { begun("PUT", "/db/late", $0) }
        let read = begun("GET", "/db/a", basic(name))
        #expect(site.router.answerAtOnce(read)?.status == 200)
        try edit { users in
            let roles = users[name]?.roles ?? []
            users[name] = isGone ? nil : Self.account("other", roles)
        }
        for request in late {
            let answer = site.router.respond(request)
            #expect(answer.status == 401 && answer.headers["Set-Cookie"] == nil)
        }
        #expect(site.router.answerAtOnce(read)?.status == 401)
        #expect(try !site.manager.database(named: "db").contains("late"))
    }

    @Test func `a body that ends after a role was taken away is that of a user without it`() throws
    {
        let late = begun("PUT", "/made", basic("boss"))
        try edit { $0["boss"]?.roles = [] }
        #expect(site.router.respond(late).status == 401)
        #expect(!site.manager.databaseExists(named: "made"))
    }

    @Test func `a body on a socket that ends after its user was deleted is refused`() throws {
        let served = try ServedSite { $0.access = .users(["root": "r"]) }
        let path = served.site.manager.directory.path + "/listener.json"
        var accounts = try AccountsFile.load(path)
        accounts.users["joe"] = Self.account("joe")
        #expect(accounts.write(to: path))
        let client = try served.client()
        let field = basic("joe")["Authorization"] ?? ""
        client.write(
            "PUT /db/late HTTP/1.1\r\nHost: localhost\r\nAuthorization: \(field)\r\n"
                + "Content-Type: application/json\r\nContent-Length: 7\r\n"
                + "Expect: 100-continue\r\n\r\n")
        // The body is asked for once it is known who sends it.
        #expect(client.read(until: "\r\n\r\n")?.hasPrefix("HTTP/1.1 100") == true)
        client.write("{\"n\"")
        accounts.users["joe"] = nil
        #expect(accounts.write(to: path))
        client.write(":1}")
        #expect(client.answer()?.status == 401)
        #expect(try !served.database.contains("late"))
    }

    // MARK: - Sessions

    @Test func `a session is renewed while the password is the same, and ends with it`() throws {
        let path = "/_users/org.couchdb.user:sue"
        let body = #"{"name":"sue","type":"user","roles":[],"password":"sue"}"#
        let root: HTTPHeaders = ["Authorization": "Basic " + Base64.encode(Array("root:r".utf8))]
        #expect(site.send("PUT", path, body, root).status == 201)
        let users = try site.manager.database(named: "_users")
        try SecurityObject.store(["members": ["names": []]], in: users)
        let session = try session("sue")
        let read = site.send("GET", path, "", session)
        let cookie = try #require(read.headers["Set-Cookie"])
        let renewed: HTTPHeaders = ["Cookie": String(cookie.prefix { $0 != ";" })]
        #expect(site.send("GET", path, "", renewed).status == 200)
        // The user's own request ends it, too: what it was begun by no longer holds.
        var document = try #require(read.json.object)
        document["password"] = "other"
        let change = begun("PUT", path, session, JSONValue.object(document).description)
        let answer = site.router.respond(change)
        #expect(answer.status == 201 && answer.headers["Set-Cookie"] == nil)
        #expect(site.send("GET", path, "", renewed).status == 401)
    }

    @Test func `a password that is changed while it is checked begins no session`() throws {
        let accounts = site.router.site.accounts
        let user = try #require(accounts.user("joe", password: "joe"))
        #expect(accounts.cookie(for: user, secure: false) != nil)
        try edit { $0["joe"] = Self.account("other") }
        #expect(accounts.cookie(for: user, secure: false) == nil)
        try edit { $0["joe"] = nil }
        #expect(accounts.cookie(for: user, secure: false) == nil)
    }

    @Test func `what proved a user neither tells users apart nor is printed`() throws {
        let user = try #require(site.router.site.accounts.user("joe", password: "joe"))
        #expect(user == ListenerUser(name: "joe", method: "default"))
        var text = ""
        dump(user, to: &text)
        let byte = try #require(user.proof.passwordHash?.first)
        #expect(!text.contains("passwordHash") && !text.contains("- \(byte)\n"))
        #expect(!"\(user)".contains("passwordHash"))
    }

    // MARK: - Answers

    @Test(arguments: [true, false])
    func `a feed ends once its user is gone, or has another password`(isGone: Bool) throws {
        let feed = try feed(basic("joe"))
        try site.manager.database(named: "db").put("b", [:], parent: nil)
        guard case .bytes = try feed.next() else {
            Issue.record("A user whose account is the same goes on.")
            return
        }
        try edit { $0["joe"] = isGone ? nil : Self.account("other") }
        #expect(throws: HTTPFailure.self) { try feed.next() }
        feed.cancel()
    }

    @Test func `a feed ends once its user is no member of the database any more`() throws {
        let database = try site.manager.database(named: "db")
        let feed = try feed(session("joe"))
        try SecurityObject.store(["members": ["names": ["joe"]]], in: database)
        _ = try feed.next()
        try SecurityObject.store(["members": ["names": ["sue"]]], in: database)
        #expect(throws: HTTPFailure.self) { try feed.next() }
        feed.cancel()
    }

    @Test func `a feed ends once its user has a role no more, and goes on with one more`() throws {
        let feeds = try ["/db/_changes", "/_db_updates"].map { try feed(basic("boss"), $0) }
        try edit { $0["boss"]?.roles.insert("staff") }
        for feed in feeds { _ = try feed.next() }
        try edit { $0["boss"]?.roles = ["staff"] }
        for feed in feeds {
            #expect(throws: HTTPFailure.self) { try feed.next() }
            feed.cancel()
        }
    }

    @Test func `a feed of a user ends in order when its database is deleted`() throws {
        let feed = try feed(basic("joe"))
        try site.manager.database(named: "db").delete()
        var production = try feed.next()
        while case .bytes = production { production = try feed.next() }
        #expect(production == .end)
        feed.cancel()
    }
}
