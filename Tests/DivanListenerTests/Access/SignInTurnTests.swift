// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import Testing

@testable import DivanListener

/// Whose turn it is when passwords are checked that come in a form.
@Suite struct SignInTurnTests {
    private static let form: HTTPHeaders = ["Content-Type": "application/x-www-form-urlencoded"]
    private static let json: HTTPHeaders = ["Content-Type": "application/json"]

    /// The name whose turn a sign-in waits for; nil when it waits for none.
    private func name(_ site: TestSite, _ body: String, _ headers: HTTPHeaders = form) -> String? {
        let head = RequestHead(method: "POST", target: "/_session", headers: headers)
        let request = ListenerRequest(head, body: .bytes(Array(body.utf8)))
        guard case .signingIn(let name) = site.router.lane(request) else { return nil }
        return name
    }

    @Test func `a sign-in waits for the turn of the name that it gives`() throws {
        let site = try TestSite { $0.access = .users(["ann": "secret"]) }
        #expect(name(site, "name=ann&password=x") == "ann")
        #expect(name(site, "username=b%20c&password=x") == "b c")
        #expect(name(site, #"{"name":"ann","password":"x"}"#, Self.json) == "ann")
    }

    @Test(arguments: [
        "", "password=x", "name=%", String(repeating: "name=ann&password=x", count: 400),
    ])
    func `a sign-in that gives none, or is long, waits with others of its kind`(body: String) throws
    {
        let site = try TestSite { $0.access = .users(["ann": "secret"]) }
        #expect(name(site, body) == "")
        #expect(name(site, body, Self.json) == "")
    }

    @Test func `a sign-in whose password was right lately waits for no turn`() throws {
        let site = try TestSite { $0.access = .users(["root": "root"]) }
        let root: HTTPHeaders = ["Authorization": "Basic cm9vdDpyb290"]
        site.send("PUT", "/_users", "", root)
        let account = #"{"name":"ann","password":"secret","roles":[],"type":"user"}"#
        site.send("PUT", "/_users/org.couchdb.user:ann", account, root)
        #expect(name(site, "name=ann&password=secret") == "ann")
        #expect(site.send("POST", "/_session", "name=ann&password=secret", Self.form).status == 200)
        #expect(name(site, "name=ann&password=secret") == nil)
        #expect(name(site, "name=ann&password=Secret") == "ann")
    }

    @Test func `within a network the name with the most gives way to another name`() {
        var queue = TurnQueue<Int>()
        for number in 0..<4 { queue.append(number, for: Turn(owner: "a", name: "guessed")) }
        #expect(queue.makeRoom(for: Turn(owner: "a", name: "guessed")) == nil)
        #expect(queue.makeRoom(for: Turn(owner: "a", name: "ann")) == 3)
        queue.append(4, for: Turn(owner: "a", name: "ann"))
        #expect(queue.makeRoom(for: Turn(owner: "a", name: "ann")) == 2)
        #expect(queue.makeRoom(for: Turn(owner: "a", name: "ann")) == nil)
        #expect(queue.makeRoom(for: Turn(owner: "b", name: "ann")) == 4)
    }
}
