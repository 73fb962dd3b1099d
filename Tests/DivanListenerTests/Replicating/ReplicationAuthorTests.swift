// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Divan
import DivanHTTP
import DivanJSON
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// In whose name a replication that a client starts asks the validation functions of its target.
///
/// `root` is the administrator who asks; `ann` is a member of the target, with the role `staff`. A
/// document of the source is taken in the name alone that stands in its ID.
@Suite(.enabled(if: ScriptEngine.isHere, ScriptEngine.need), .timeLimit(.minutes(10)))
struct ReplicationAuthorTests {
    private static let design: JSONValue = [
        "validate_doc_update": """
        function (after, before, user, security) {
          if (after._id !== 'by-' + user.name) {
            throw({forbidden: [user.db, user.name, user.roles, security.members.names].join(' ')});
          }
        }
        """
    ]
    private static let root: HTTPHeaders = ["Authorization": basic("root", "r")]

    private let scripts: ScriptSite
    private var site: TestSite { scripts.site }

    init() throws {
        scripts = try ScriptSite(Self.design) { $0.access = .users(["root": "r"]) }
        try SecurityObject.store(["members": ["names": ["ann"]]], in: scripts.database)
        let path = scripts.site.folder.path + "/listener.json"
        var file = try AccountsFile.load(path)
        file.users["ann"] = AccountsFile.User(password: "a", roles: ["staff"], iterations: 10)
        #expect(file.write(to: path))
        let source = try scripts.site.manager.database(named: "source")
        for id: DocumentID in ["by-ann", "by-root", "by-null"] {
            _ = try source.put(id, [:], parent: nil)
        }
    }

    private static func basic(_ name: String, _ password: String) -> String {
        "Basic " + Base64.encode(Array("\(name):\(password)".utf8))
    }

    private func replicate(_ source: JSONValue = "source", _ target: JSONValue) async -> JSONValue {
        let body: JSONValue = ["source": source, "target": target]
        let site = site
        return await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                let answer = site.send("POST", "/_replicate", body.description, Self.root)
                continuation.resume(returning: answer.json)
            }
        }
    }

    private var stored: [String] {
        get throws {
            try scripts.database.allDocuments().map(\.id.text).filter { $0.hasPrefix("by-") }
        }
    }

    private static func reasons(_ answer: JSONValue) -> Set<String> {
        Set((answer["doc_write_errors"]?.array ?? []).compactMap { $0["reason"]?.string })
    }

    @Test(
        arguments: [
            "http://ann:a@localhost/db",
            [
                "url": "http://localhost/db",
                "auth": ["basic": ["username": "ann", "password": "a"]],
            ],
            [
                "url": "http://localhost/db",
                "headers": ["Authorization": .string(basic("ann", "a"))],
            ],
        ] as [JSONValue])
    func
        `the user whose credentials the target shows writes, with the roles and the security of the database`(
            target: JSONValue
        ) async throws
    {
        let answer = await replicate("source", target)
        #expect(answer["ok"] == true)
        #expect(Self.reasons(answer) == ["db ann staff ann"])
        #expect(try stored == ["by-ann"])
    }

    @Test(arguments: ["db", "http://localhost/db", "http://root:r@localhost/db"])
    func `without credentials the user writes who asks`(target: String) async throws {
        let answer = await replicate("source", .string(target))
        #expect(Self.reasons(answer) == ["db root _admin ann"])
        #expect(try stored == ["by-root"])
    }

    @Test func `a password that a replication brings is stored as its hash, under its revision ID`()
        async throws
    {
        let source = try site.manager.database(named: "source")
        let sent = try source.put(
            "org.couchdb.user:joe",
            ["name": "joe", "type": "user", "roles": [], "password": "pw"], parent: nil)
        #expect(site.send("PUT", "/_users", "", Self.root).status == 201)
        let answer = await replicate("source", "_users")
        // The three others are no accounts.
        #expect(answer["history"]?[0]?["doc_write_failures"] == 3, "\(answer)")
        let users = try site.manager.database(named: "_users")
        let stored = try #require(try users.document(withID: "org.couchdb.user:joe"))
        #expect(stored.revisionID == sent.revisionID)
        #expect(stored["password"].value == nil && stored["derived_key"].string != nil)
        let session = site.send("GET", "/_session", "", ["Authorization": Self.basic("joe", "pw")])
        #expect(session.json["userCtx"]?["name"] == "joe")
    }

    @Test func `the credentials of the source name no author`() async throws {
        _ = try SecurityObject.store(
            ["members": ["names": ["ann"]]], in: site.manager.database(named: "source"))
        _ = await replicate("http://ann:a@localhost/source", "db")
        #expect(try stored == ["by-root"])
    }

    @Test func `what another server has is written in the name of the user, too`() async throws {
        let other = try ServedSite()
        let source = try other.site.manager.database(named: "other")
        for id: DocumentID in ["by-ann", "by-root"] { _ = try source.put(id, [:], parent: nil) }
        let answer = await replicate(
            .string(other.listener.urls[0].absoluteString + "other"), "http://ann:a@localhost/db")
        #expect(answer["ok"] == true)
        #expect(try stored == ["by-ann"])
    }

    @Test func `a role that changes counts for what is stored from then on`() async throws {
        try scripts.add([
            "validate_doc_update":
                "function (n, o, user) { if (user.roles.indexOf('chief') < 0) throw({forbidden: 'no'}); }"
        ])
        let body = #"{"source":"source","target":"http://ann:a@localhost/db","continuous":true}"#
        #expect(site.send("POST", "/_replicate", body, Self.root).status == 202)
        await eventually {
            site.send("GET", "/_active_tasks", "", Self.root).json[0]?["doc_write_failures"] == 3
        }
        let path = site.folder.path + "/listener.json"
        var file = try AccountsFile.load(path)
        file.users["ann"] = AccountsFile.User(password: "a", roles: ["chief"], iterations: 10)
        #expect(file.write(to: path))
        _ = try site.manager.database(named: "source").put("by-late", [:], parent: nil)
        await eventually { (try? stored) == ["by-late"] }
    }

    // MARK: - Documents of _replicator

    @Test(arguments: [
        (#""db""#, "", "by-null"),
        (#""db""#, #","user_ctx":{"name":"ann","roles":["staff"]}"#, "by-ann"),
        (#""http://ann:a@localhost/db""#, "", "by-ann"),
        (
            #""http://ann:a@localhost/db""#, #","user_ctx":{"name":"root","roles":["_admin"]}"#,
            "by-ann"
        ),
    ])
    func `a document names the author by credentials, or else by its user_ctx`(
        target: String, more: String, id: String
    ) async throws {
        let body = #"{"source":"source","target":\#(target)\#(more)}"#
        #expect(site.send("PUT", "/_replicator/r", body, Self.root).status == 201)
        await eventually {
            site.send("GET", "/_replicator/r", "", Self.root).json["_replication_state"]
                == "completed"
        }
        #expect(try stored == [id])
    }

    // MARK: - Others

    @Test func `requests are made in the name of their user`() throws {
        let ann: HTTPHeaders = ["Authorization": Self.basic("ann", "a")]
        #expect(site.send("PUT", "/db/by-root", "{}", ann).status == 403)
        #expect(site.send("PUT", "/db/by-ann", "{}", ann).status == 201)
        let bulk = site.send(
            "POST", "/db/_bulk_docs", #"{"docs":[{"_id":"by-root"},{"_id":"by-ann"}]}"#, Self.root)
        #expect(bulk.json[0]?["ok"] == true)
        #expect(bulk.json[1]?["error"] == "conflict" || bulk.json[1]?["error"] == "forbidden")
    }

    @Test func `what the app replicates itself is its own`() async throws {
        let source = try site.manager.database(named: "source")
        let replication = source.makePushReplication(to: scripts.database)
        replication.start()
        await replication.waitUntilEnded()
        #expect(try stored == ["by-null"])
    }
}
