// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// Who an edge is at its hub, and whom the edge lets in.
@Suite(.timeLimit(.minutes(10))) struct HubAccessTests {
    let hub: EdgeHost

    init() throws {
        hub = try EdgeHost { $0.access = .users(["admin": "secret", "shop": "word"]) }
    }

    private func edge(
        _ databases: [String], password: String = "secret",
        _ edit: @escaping (inout ListenerHub) -> Void = { _ in }
    ) throws -> EdgeHost {
        try EdgeHost(of: hub, databases) {
            $0.authenticator = .session(name: "admin", password: password)
            edit(&$0)
        }
    }

    @Test func `documents hold no credentials, and go to the hub only`() async throws {
        try hub.save(1, "a", in: "orders")
        let edge = try edge(["orders"])
        try await eventually { try edge.has(1, "a", in: "orders") }
        for direction in EdgeDocument.Direction.allCases {
            let document = try #require(try edge.document(direction, "orders"))
            #expect(!document.body.jsonValue().description.contains("secret"))
        }
        let rules = edge.edge.rules
        for (url, isSigned) in [
            ("http://127.0.0.1:\(hub.port)/orders", true),
            ("http://127.0.0.1:\(hub.port)1/orders", false),
            ("http://127.0.0.1:\(hub.port)@evil.example/orders", false),
            ("https://127.0.0.1:\(hub.port)/orders", false),
        ] {
            var request = try ReplicateRequest(["source": .string(url), "target": "a"], hosts: [])
            rules.sign(&request)
            #expect((request.settings.authenticator != nil) == isSigned, "\(url)")
        }
    }

    @Test func `a wrong password is told of, and right the next time`() async throws {
        try hub.save(1, "a", in: "orders")
        var password = "wrong"
        let edge = try EdgeHost { [hub] options in
            options.hub = hub.address(["orders"])
            options.hub?.authenticator = .session(name: "admin", password: password)
            // So many wrong passwords would lock the edge out.
            options.hub?.interval = .seconds(600)
        }
        await eventually { edge.edge.report.reach == .refused }
        #expect(edge.edge.report.reason?.contains("wrong") == false)
        #expect(edge.send("GET", "/_edge").json["state"] == "refused")
        edge.stop()
        password = "secret"
        try edge.start()
        try await eventually { try edge.has(1, "a", in: "orders") }
    }

    @Test func `an edge with a wrong password does not lock its account out at the hub`()
        async throws
    {
        let names = ["a", "b", "c", "d"]
        for name in names { try hub.save(1, "x", in: name) }
        var password = "secret"
        let edge = try EdgeHost { [hub] options in
            options.hub = hub.address(names)
            options.hub?.authenticator = .session(name: "admin", password: password)
        }
        for name in names { try await eventually { try edge.has(1, "x", in: name) } }
        edge.stop()
        password = "wrong"
        try edge.start()
        await eventually { edge.edge.report.reach == .refused }
        // Many looks, and whatever the eight replications try meanwhile.
        let seen = edge.edge.report.looked ?? 0
        await eventually { edge.edge.report.looked ?? 0 > seen + 2 }
        let report = edge.send("GET", "/_edge").json
        #expect(report["state"] == "refused")
        #expect(report["reason"]?.string?.contains("not sent again") == true, "\(report)")
        for direction in EdgeDocument.Direction.allCases {
            let path = "/_scheduler/docs/_replicator/" + EdgeDocument(direction, "a").id.text
            await eventually {
                let error = edge.send("GET", path).json["info"]?["error"]?.string ?? ""
                return error.contains("not sent again")
            }
        }
        #expect(!hub.site.throttle.isLocked("admin", from: "127.0.0.1"))
        edge.stop()
        password = "secret"
        try edge.start()
        try hub.save(2, "y", in: "a")
        try await eventually { try edge.has(2, "y", in: "a") }
    }

    @Test func `a database that the hub does not let the edge into is refused alone`() async throws
    {
        for name in ["open", "closed"] { try hub.save(1, "a", in: name) }
        let users = try hub.database("_users")
        let answer = hub.signed(
            "PUT", "/_users/org.couchdb.user:shop-7",
            #"{"type":"user","name":"shop-7","roles":[],"password":"word"}"#)
        #expect(answer.status == 201, "\(answer.text)")
        #expect(try users.contains("org.couchdb.user:shop-7"))
        _ = hub.signed("PUT", "/closed/_security", #"{"members":{"names":["ann"]}}"#)
        _ = hub.signed("PUT", "/open/_security", #"{"members":{"names":["shop-7"]}}"#)
        let edge = try EdgeHost(of: hub, ["closed", "open", "missing"]) {
            $0.authenticator = .session(name: "shop-7", password: "word")
        }
        try await eventually { try edge.has(1, "a", in: "open") }
        await eventually { edge.state(of: "missing")?.state == .refused }
        #expect(edge.state(of: "closed")?.state == .refused)
        #expect(edge.state(of: "missing")?.reason?.isEmpty == false)
        #expect(!edge.manager.databaseExists(named: "closed"))
    }

    @Test func `users come with their passwords, and go`() async throws {
        let user = #"{"type":"user","name":"ann","roles":["staff"],"password":"plum"}"#
        #expect(hub.signed("PUT", "/_users/org.couchdb.user:ann", user).status == 201)
        let edge = try edge(["orders"]) { $0.carriesUsers = true }
        let id: DocumentID = "org.couchdb.user:ann"
        func stored() throws -> Document? {
            try edge.manager.existingDatabase(named: "_users")?.document(withID: id)
        }
        try await eventually { try stored()?["derived_key"].string != nil }
        let theirs = try #require(try hub.database("_users").document(withID: id))
        #expect(try stored()?["derived_key"].string == theirs["derived_key"].string)
        try hub.database("_users").delete(theirs)
        try await eventually { try stored() == nil }
        // What is changed here does not go there.
        #expect(try edge.document(.push, "_users") == nil)
    }

    @Test func `who may use a database comes from the hub, where that is wanted`() async throws {
        try hub.save(1, "a", in: "orders")
        let security = #"{"admins":{"names":[],"roles":[]},"members":{"names":["ann"],"roles":[]}}"#
        #expect(hub.signed("PUT", "/orders/_security", security).status == 200)
        let edge = try edge(["orders"]) { $0.carriesSecurity = true }
        try await eventually {
            try edge.manager.existingDatabase(named: "orders")?.storedSecurity["members"]
                == ["names": ["ann"], "roles": []]
        }
        let other = security.replacingOccurrences(of: "ann", with: "bob")
        #expect(hub.signed("PUT", "/orders/_security", other).status == 200)
        try await eventually {
            try edge.database("orders").storedSecurity["members"]?["names"] == ["bob"]
        }
    }

    @Test func `each user has a database, which is for that user only`() async throws {
        let user = #"{"type":"user","name":"ann","roles":[],"password":"plum"}"#
        #expect(hub.signed("PUT", "/_users/org.couchdb.user:ann", user).status == 201)
        let edge = try edge([]) {
            $0.carriesUsers = true
            $0.followsUsers = true
        }
        let name = "userdb-616e6e"
        await eventually { edge.state(of: name)?.state == .followed }
        let group: JSONValue = ["names": ["ann"], "roles": []]
        #expect(
            try edge.database(name).storedSecurity == ["admins": group, "members": group])
        try edge.save(1, "a", in: name)
        try await eventually { try hub.has(1, "a", in: name) }
    }
}

extension EdgeHost {
    /// What is answered to a request of the administrator.
    func signed(_ method: String, _ target: String, _ body: String) -> TestAnswer {
        var head = RequestHead(
            method: method, target: target, headers: ["Host": "127.0.0.1:\(port)"])
        head.headers["Authorization"] = "Basic " + Base64.encode(Array("admin:secret".utf8))
        return TestAnswer(
            Router(site: site).respond(ListenerRequest(head, body: .bytes(Array(body.utf8)))))
    }
}
