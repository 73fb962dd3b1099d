// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import DivanTestSupport
import Testing

@testable import DivanListener

/// What administrators see of a Divan beyond CouchDB's API.
@Suite struct DetailsTests {
    private static let ann: HTTPHeaders = ["Authorization": "Basic YW5uOnNlY3JldA=="]
    private static let bob: HTTPHeaders = ["Authorization": "Basic Ym9iOmI="]

    private let site: TestSite

    init() throws {
        site = try TestSite { options in
            options.access = .users(["ann": "secret"])
            options.console = ListenerConsole { _ in nil }
        }
        site.send(
            "PUT", "/_users/org.couchdb.user:bob",
            #"{"name":"bob","password":"b","roles":[],"type":"user"}"#, Self.ann)
        site.send("PUT", "/db", "", Self.ann)
    }

    @Test func `a database tells its engine and how many conflicts it has`() throws {
        let database = try #require(try site.manager.existingDatabase(named: "db"))
        try database.put("a", ["n": 1], parent: nil)
        for revision in [
            "2-" + String(repeating: "a", count: 32), "2-" + String(repeating: "b", count: 32),
        ] {
            try database.putExistingRevision("b", ["n": 2], history: [RevisionID(revision)])
        }
        let details = site.send("GET", "/db/_divan", "", Self.ann).json
        #expect(details["engine"]?.string == database.storageEngineName)
        #expect(details["documents"] == 2 && details["conflicts"] == 1)
        #expect(details["encrypted"] == .bool(database.isEncrypted))
        #expect(site.send("GET", "/db/_divan", "", Self.bob).status == 401)
        #expect(site.send("GET", "/none/_divan", "", Self.ann).status == 404)
    }

    @Test func `a verification runs in the background and keeps its result`() throws {
        func report() -> JSONValue { site.send("GET", "/db/_divan/verify", "", Self.ann).json }
        #expect(report()["state"] == "none")
        #expect(site.send("POST", "/db/_divan/verify", "", Self.bob).status == 401)
        #expect(site.send("POST", "/db/_divan/verify", "", Self.ann).status == 202)
        eventually { report()["state"] == "done" }
        #expect(report()["progress"]?.double == 1 && report()["problems"]?.array?.isEmpty == true)
        // The database that comes after it has none.
        site.send("DELETE", "/db", "", Self.ann)
        site.send("PUT", "/db", "", Self.ann)
        #expect(report()["state"] == "none")
    }

    @Test func `a verification that is cancelled says so`() throws {
        let database = try #require(try site.manager.existingDatabase(named: "db"))
        let tasks = TaskList()
        let verifications = Verifications()
        // Nothing else takes longer than a verification of what is being written to all the time.
        try database.inBatch {
            for n in 0..<5_000 { try database.put(DocumentID("\(n)"), ["n": 1], parent: nil) }
        }
        var isCancelled = false
        for _ in 0..<20 where !isCancelled {
            verifications.start(database, tasks: tasks)
            verifications.cancel("db")
            eventually { verifications.report("db")["state"] != "running" }
            isCancelled = verifications.report("db")["state"] == "cancelled"
        }
        #expect(isCancelled)
    }

    @Test
    func `a verification of a database that is gone tells nothing of the one that has its name`()
        throws
    {
        let database = try #require(try site.manager.existingDatabase(named: "db"))
        try database.put("a", ["n": 1], parent: nil)
        let (tasks, verifications) = (TaskList(), Verifications())
        let (isHeld, mayEnd) = (Gate(), Gate())
        // Takes the place of one that has not noticed yet.
        tasks.start("database_verification", "db") { _ in
            isHeld.open()
            mayEnd.wait()
        }
        isHeld.wait()
        verifications.start(database, tasks: tasks)
        #expect(verifications.report("db")["state"] == "failed")
        mayEnd.open()
        eventually {
            verifications.start(database, tasks: tasks)
            return verifications.report("db")["state"] == "done"
        }
    }

    @Test func `administrators read the last entries of the log`() throws {
        Log.listener.warning("The first of DetailsTests.")
        func entries(_ query: String) -> (messages: [String], last: Int64) {
            let answer = site.send("GET", "/_divan/log" + query, "", Self.ann).json
            let messages = answer["entries"]?.array?.compactMap { $0["message"]?.string } ?? []
            return (messages, answer["last_seq"]?.int64 ?? -1)
        }
        let first = entries("?level=warning&limit=2000")
        #expect(first.messages.contains("The first of DetailsTests."))
        Log.listener.error("The second of DetailsTests.")
        let second = entries("?since=\(first.last)&level=error")
        #expect(second.messages.contains("The second of DetailsTests."))
        #expect(!second.messages.contains("The first of DetailsTests."))
        #expect(site.send("GET", "/_divan/log?level=loud", "", Self.ann).status == 400)
        #expect(site.send("GET", "/_divan/log", "", Self.bob).status == 401)
    }

    @Test func `the tail of the log is bounded`() {
        let tail = LogTail()
        let long = String(repeating: "x", count: 10_000)
        for n in 0..<5_000 {
            tail.write(
                LogEntry(
                    millisecondsSince1970: 0, domain: .listener, level: .info,
                    message: n == 4_999 ? long : "\(n)"))
        }
        let (entries, last) = tail.entries(after: 0, level: .info, limit: 10_000)
        #expect(last == 5_000 && entries.count <= 2_000 && entries.count >= 1_500)
        #expect(entries.map(\.number) == Array((5_001 - entries.count)...5_000))
        #expect(entries.last.map { $0.entry.message.utf8.count } ?? 0 < 5_000)
        #expect(tail.entries(after: 4_990, level: .error, limit: 5).entries.isEmpty)
        #expect(
            tail.entries(after: 4_990, level: .info, limit: 5).entries.map(\.number)
                == Array(4_996...5_000))
    }
}
