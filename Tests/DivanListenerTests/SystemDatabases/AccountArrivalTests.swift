// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Divan
import DivanHTTP
import DivanJSON
import Testing

@testable import DivanListener

/// The ways by which a document gets into the database of users: each of them has the same rules.
@Suite(.timeLimit(.minutes(5))) struct AccountArrivalTests {
    enum Way: CaseIterable {
        case request, oldEdits, replicationOfClient, replicationOfApp, pullOfApp, app, revisionOfApp
    }

    private let site: TestSite
    private let users: Database

    init() throws {
        site = try TestSite()
        site.send("PUT", "/_users")
        users = try #require(site.manager["_users"])
    }

    /// Sends `_replicate` from a thread that may wait.
    private func replicate() async {
        let site = site
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                site.send("POST", "/_replicate", #"{"source":"source","target":"_users"}"#)
                continuation.resume()
            }
        }
    }

    /// Has a document come by a way.
    private func bring(_ id: DocumentID, _ body: JSONObject, by way: Way) async throws {
        var whole = body
        whole["_id"] = .string(id.text)
        let source = try site.manager.database(named: "source")
        let sent = try source.put(id, body, parent: source.document(withID: id)?.revisionID)
        switch way {
        case .request: site.send("POST", "/_users", JSONValue.object(whole).description)
        case .oldEdits:
            whole["_rev"] = .string(sent.revisionID.description)
            let bulk: JSONValue = ["new_edits": false, "docs": [.object(whole)]]
            site.send("POST", "/_users/_bulk_docs", bulk.description)
        case .replicationOfClient: await replicate()
        case .replicationOfApp:
            _ = try await source.makePushReplication(to: users) { _ in }.run()
        case .pullOfApp: _ = try await users.makePullReplication(from: source) { _ in }.run()
        case .app: _ = try? users.put(id, body, parent: nil)
        case .revisionOfApp:
            _ = try? users.putExistingRevision(id, body, history: [sent.revisionID])
        }
    }

    private static let wrong: [(String, JSONObject)] = [
        ("note", ["a": 1]),
        ("org.couchdb.user:joe", ["name": "joe", "roles": [], "type": "robot"]),
        ("org.couchdb.user:joe", ["name": "joe", "type": "user"]),
        ("org.couchdb.user:joe", ["name": "ann", "roles": [], "type": "user"]),
        ("org.couchdb.user:joe", ["name": "joe", "roles": ["_admin"], "type": "user"]),
        ("org.couchdb.user:a:b", ["name": "a:b", "roles": [], "type": "user"]),
        (
            "org.couchdb.user:device-\(String(repeating: "0f", count: 16))",
            [
                "name": .string("device-" + String(repeating: "0f", count: 16)), "roles": [],
                "type": "user",
            ]
        ),
        (
            "org.couchdb.user:joe",
            ["name": "joe", "roles": [], "type": "user", "password_scheme": "plain"]
        ),
        ("org.couchdb.user:joe", ["name": "joe", "roles": [], "type": "user", "password": 1]),
    ]

    @Test(arguments: Way.allCases) func `what is no account does not come`(way: Way) async throws {
        for (id, body) in Self.wrong {
            try await bring(DocumentID(id), body, by: way)
            let stored = try users.document(withID: DocumentID(id))
            #expect(stored == nil, "\(id) \(JSONValue.object(body))")
        }
    }

    @Test(arguments: Way.allCases) func `what is an account comes`(way: Way) async throws {
        let body: JSONObject = [
            "name": "joe", "roles": ["staff"], "type": "user", "password_scheme": "simple",
            "salt": "a", "password_sha": "b",
        ]
        try await bring("org.couchdb.user:joe", body, by: way)
        #expect(try users.document(withID: "org.couchdb.user:joe")?["roles"][0].string == "staff")
    }

    @Test func `a deletion with a password comes without the password`() async throws {
        let body: JSONObject = ["name": "joe", "roles": [], "type": "user"]
        let id: DocumentID = "org.couchdb.user:joe"
        try await bring(id, body, by: .replicationOfClient)
        let source = try site.manager.database(named: "source")
        let stored = try #require(try source.document(withID: id))
        _ = try source.put(id, ["password": "pw"], parent: stored.revisionID, options: .tombstone)
        await replicate()
        #expect(try users.document(withID: id) == nil)
        let leaf = try #require(try users.leafRevisions(of: id).first)
        #expect(leaf["password"].value == nil)
    }

    @Test(arguments: [Way.request, .oldEdits, .replicationOfClient])
    func `a password that is not as it must be does not come`(way: Way) async throws {
        let path = "/_node/_local/_config/chttpd_auth/password_regexp"
        #expect(site.send("PUT", path, #""[\".{10,}\"]""#).status == 200)
        for (name, password) in [("joe", "short"), ("sue", "long enough")] {
            try await bring(
                DocumentID("org.couchdb.user:" + name),
                [
                    "name": .string(name), "roles": [], "type": "user",
                    "password": .string(password),
                ],
                by: way)
        }
        #expect(try users.document(withID: "org.couchdb.user:joe") == nil)
        let sue = try #require(try users.document(withID: "org.couchdb.user:sue"))
        #expect(sue["password"].value == nil && sue["derived_key"].string != nil)
    }
}
