// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import DivanTestSupport
import FoundationEssentials
import Testing

@testable import DivanListener

/// Documents that were deleted long ago, and the times by which that is known.
@Suite struct AutoPurgeTests {
    private static let day: Int64 = 86_400
    private let site: TestSite
    private let database: Database

    init() throws {
        site = try TestSite()
        database = try site.manager.database(named: "db")
    }

    private var shared: Site { site.router.site }

    private func send(_ method: String, _ path: String, _ body: String = "") -> TestAnswer {
        site.send(method, "/db" + path, body)
    }

    /// Makes a document and deletes it.
    private func bury(_ id: DocumentID) throws {
        let made = try database.put(id, [:], parent: nil)
        _ = try database.put(
            id, body: PackedValue([:]), parent: made.revisionID, isDeleted: true)
    }

    private func purge(at time: Int64) throws -> Int {
        try shared.purging.purge(database, shared) { time }
    }

    /// Has a bin begin at a time: the second after the one in which it is noted.
    private func note(at time: Int64) throws {
        try shared.times.note(database) { time - 1 }
    }

    private func tombstones() throws -> [String] {
        try database.changes().changes.filter(\.isDeleted).map(\.id.text)
    }

    @Test func `a document is purged that was deleted longer ago than its database says`() throws {
        let start: Int64 = 1_800_000_000
        #expect(send("PUT", "/_auto_purge", #"{"deleted_document_ttl":"30_days"}"#).status == 201)
        try database.put("kept", [:], parent: nil)
        try note(at: start)
        try bury("a")
        try note(at: start + Self.day)
        try bury("b")
        try note(at: start + 2 * Self.day)
        // `a` was deleted within a day from the start on: known to be 30 days old a day later.
        #expect(try purge(at: start + 30 * Self.day) == 0)
        #expect(try purge(at: start + 31 * Self.day) == 1)
        #expect(try tombstones() == ["b"])
        #expect(try purge(at: start + 31 * Self.day) == 0)
        #expect(try purge(at: start + 32 * Self.day) == 1)
        #expect(try tombstones() == [])
        #expect(try database.document(withID: "kept") != nil)
    }

    @Test func `a document that came back is kept, and purged when it is deleted again`() throws {
        let start: Int64 = 1_800_000_000
        #expect(send("PUT", "/_auto_purge", #"{"deleted_document_ttl":"1_day"}"#).status == 201)
        try note(at: start)
        try bury("a")
        try note(at: start + Self.day)
        let back = try database.put(
            "a", ["n": 1], parent: database.changes().changes[0].revisions[0])
        #expect(try purge(at: start + 9 * Self.day) == 0)
        #expect(try database.document(withID: "a")?.revisionID == back.revisionID)
        _ = try database.put(
            "a", body: PackedValue([:]), parent: back.revisionID, isDeleted: true)
        try note(at: start + 10 * Self.day)
        #expect(try purge(at: start + 12 * Self.day) == 1)
        #expect(try tombstones() == [])
    }

    @Test func `nothing is purged where nothing is said, or infinity, or in a dry run`() throws {
        let start: Int64 = 1_800_000_000
        try note(at: start)
        try bury("a")
        try note(at: start + Self.day)
        let later = start + 900 * Self.day
        #expect(try purge(at: later) == 0)
        func configure(_ key: String, _ value: String) {
            let path = "/_node/_local/_config/couch_auto_purge_plugin/" + key
            #expect(site.send("PUT", path, "\"\(value)\"").status == 200)
        }
        configure("deleted_document_ttl", "1_year")
        #expect(send("PUT", "/_auto_purge", #"{"deleted_document_ttl":"infinity"}"#).status == 201)
        #expect(try purge(at: later) == 0)
        #expect(send("PUT", "/_auto_purge", "{}").status == 201)
        configure("dry_run", "true")
        #expect(try purge(at: later) == 1)
        #expect(try tombstones() == ["a"])
        configure("dry_run", "false")
        shared.purging.run(shared) { later }
        #expect(try tombstones() == [])
    }

    @Test func `the settings of a database are read back, and what is wrong is refused`() throws {
        #expect(send("GET", "/_auto_purge").json == .object([:]))
        #expect(send("PUT", "/_auto_purge", #"{"deleted_document_ttl":"3_mon"}"#).status == 201)
        try bury("a")
        try note(at: AccountsFile.now + Self.day)
        #expect(try purge(at: AccountsFile.now + 1_000 * Self.day) == 1)
        #expect(send("GET", "/_auto_purge").json == ["deleted_document_ttl": "3_mon"])
        let period =
            #"deleted_document_ttl must be a valid string, such as "30_days", or "infinity""#
        for (body, reason) in [
            (#"{"deleted_document_ttl":"soon"}"#, period),
            (#"{"deleted_document_ttl":30}"#, period),
            (#"{"other":"1_day"}"#, "invalid auto purge property"),
        ] {
            let answer = send("PUT", "/_auto_purge", body)
            #expect(answer.status == 400)
            #expect(answer.json["reason"]?.string == reason)
        }
        let path = "/_node/_local/_config/couch_auto_purge_plugin/deleted_document_ttl"
        let answer = site.send("PUT", path, #""soon""#)
        #expect(answer.status == 400)
        #expect(
            answer.json["reason"]
                == "The key `couch_auto_purge_plugin/deleted_document_ttl` must be a number and a unit of time, such as `30_days`, or `infinity`."
        )
        #expect(send("GET", "/_local_docs").json["rows"] == [])
    }

    @Test func `where the app hides documents, only administrators have some purged`() throws {
        let hiding = try TestSite { options in
            options.access = .users(["root": "r"])
            options.authorization.reading = { _, _, document in document.id != "hidden" }
        }
        let path = hiding.manager.directory.path + "/listener.json"
        var file = try AccountsFile.load(path)
        file.users = (["ann": "a"] as NameMap<String>).mapValues {
            AccountsFile.User(password: $0, roles: [], iterations: 10)
        }
        #expect(file.write(to: path))
        let other = try hiding.manager.database(named: "db")
        try SecurityObject.store(["admins": ["names": ["ann"]]], in: other)
        func put(_ credentials: String) -> TestAnswer {
            let field = "Basic " + Base64.encode(Array(credentials.utf8))
            return hiding.send(
                "PUT", "/db/_auto_purge", #"{"deleted_document_ttl":"1_day"}"#,
                ["Authorization": field])
        }
        #expect(put("root:r").status == 201)
        let refused = put("ann:a")
        #expect(refused.status == 403)
        #expect(
            refused.json["reason"]
                == "Purging is for administrators of the listener, as the app decides who sees which document."
        )
    }

    @Test func `an edit notes the time, and a feed begins at one`() throws {
        let now = AccountsFile.now
        #expect(
            send("GET", "/_time_seq").json["time_seq"]?["00000000-ffffffff"]?.object?.count == 1)
        try note(at: now - 9 * Self.day)
        try database.put("old", [:], parent: nil)
        try note(at: now - 3 * Self.day)
        #expect(send("PUT", "/new", "{}").status == 201)
        func ids(since time: Int64) -> [JSONValue?] {
            send("GET", "/_changes?since=\(HTTPDate.iso(time))").json["results"]?.array?.map {
                $0["id"]
            } ?? []
        }
        #expect(ids(since: now - 10 * Self.day) == ["old", "new"])
        #expect(ids(since: now - 4 * Self.day) == ["old", "new"])
        #expect(ids(since: now - 2 * Self.day) == ["new"])
        #expect(ids(since: now + Self.day) == [])
        #expect(send("GET", "/_changes?since=2025-13-01T00:00:00Z").status == 400)
        let bins = send("GET", "/_time_seq").json["time_seq"]?["00000000-ffffffff"]?
            .object?.first?.value.array
        #expect(
            bins == [
                [.string(HTTPDate.iso(now - 9 * Self.day)), 1],
                [.string(HTTPDate.iso(now - 3 * Self.day)), 1],
            ])
        #expect(send("DELETE", "/_time_seq").status == 200)
        #expect(ids(since: now - 2 * Self.day) == ["old", "new"])
        #expect(send("PUT", "/newer", "{}").status == 201)
        let first = send("GET", "/_time_seq").json["time_seq"]?["00000000-ffffffff"]?
            .object?.first?.value.array
        #expect(first?.count == 1)
        #expect(first?[0][1] == 1)
    }
}
