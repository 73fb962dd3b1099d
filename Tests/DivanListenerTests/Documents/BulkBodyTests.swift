// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanDatabase
import DivanHTTP
import DivanJSON
import Foundation
import Synchronization
import Testing

@testable import DivanListener

/// Bodies of `_bulk_docs` that are too long for memory.
@Suite struct BulkBodyTests {
    /// A body that lies in a file, as the server makes one of a long body.
    private func file(_ text: String) throws -> RequestBody {
        let spool = try SealedSpool()
        try spool.write(Array(text.utf8))
        return .file(try spool.finish())
    }

    private func send(_ text: String, to site: TestSite) throws -> TestAnswer {
        TestAnswer(
            site.router.respond(
                ListenerRequest(
                    RequestHead(
                        method: "POST", target: "/db/_bulk_docs",
                        headers: ["Host": "localhost", "Content-Type": "application/json"]),
                    body: try file(text))))
    }

    private func site() throws -> TestSite {
        let site = try TestSite { $0.limits.jsonBody = 4_096 }
        _ = try site.manager.database(named: "db")
        return site
    }

    @Test func `documents are saved though all together are longer than a JSON body may be`() throws
    {
        let site = try site()
        let documents = (0..<500).map { #"{"_id":"d\#($0)","text":"a, ]}\"[{"}"# }
        let answer = try send("{ \"docs\" : [\(documents.joined(separator: " ,\n"))] }", to: site)
        #expect(answer.status == 201)
        #expect(answer.json.array?.count == 500)
        #expect(site.send("GET", "/db/d499").json["text"] == #"a, ]}"[{"#)
    }

    @Test func `a client's write waits for a part of another one's long request only`() throws {
        let site = try TestSite()
        _ = try site.manager.database(named: "db")
        // Each leaf of a document makes the next one dearer.
        let leaves = (10_000..<11_300).map { #"{"_id":"a","_rev":"1-\#($0)"}"# }
        let body = #"{"new_edits":false,"docs":[\#(leaves.joined(separator: ","))]}"#
        let isDone = Atomic(false)
        let taken = Mutex((request: Duration.zero, longestWait: Duration.zero))
        DispatchQueue.concurrentPerform(iterations: 2) { place in
            let clock = ContinuousClock()
            if place == 0 {
                let time = clock.measure {
                    #expect(site.send("POST", "/db/_bulk_docs", body).status == 201)
                }
                isDone.store(true, ordering: .releasing)
                return taken.withLock { $0.request = time }
            }
            var number = 0
            while !isDone.load(ordering: .acquiring) {
                number += 1
                let time = clock.measure { _ = site.send("PUT", "/db/other\(number)", "{}") }
                taken.withLock { $0.longestWait = max($0.longestWait, time) }
            }
        }
        let (request, longestWait) = taken.withLock { $0 }
        // On a machine that takes less than that, nothing waits long.
        if request > .seconds(1) { #expect(longestWait < request / 5 * 4) }
        #expect(try site.manager.database(named: "db").leafRevisions(of: "a").count == 1_300)
    }

    @Test(arguments: [
        #"{"new_edits":false,"docs":[{"_id":"a","_rev":"1-abc"}]}"#,
        #"{"docs":[{"_id":"a","_rev":"1-abc"}],"new_edits":false}"#,
    ])
    func `what stands beside the documents counts, before or behind them`(body: String) throws {
        let site = try site()
        #expect(try send(body, to: site).text == "[]\n")
        #expect(site.send("GET", "/db/a").json["_rev"] == "1-abc")
    }

    @Test(arguments: [
        ("{\"docs\":[{\"_id\":\"a\"},]}", 400), ("{\"docs\":[{\"_id\":\"a\"}", 400),
        ("{\"docs\":[{\"_id\":\"a\"}]}x", 400), ("{\"docs\":{}}", 400), ("{}", 400), ("[]", 400),
        ("{\"docs\":[{\"_id\":\"a\"},{\"_id\":\"b\",\"x\":}]}", 400),
        ("{\"docs\":[{\"_id\":\"a\"}],\"x\":\"\(String(repeating: "y", count: 5_000))\"}", 413),
    ])
    func `a body that is malformed anywhere saves nothing`(body: String, status: Int) throws {
        let site = try site()
        #expect(try send(body, to: site).status == status)
        #expect(site.send("GET", "/db").json["doc_count"] == 0)
    }

    /// A site that counts the documents that an admin's request is about to write.
    private func counting(_ look: @escaping @Sendable (Int, Database) -> Void) throws -> TestSite {
        let count = Mutex(0)
        let site = try TestSite {
            $0.authorization.writing = { _, database, _ in
                look(
                    count.withLock {
                        $0 += 1; return $0
                    }, database)
                return true
            }
        }
        _ = try site.manager.database(named: "db")
        return site
    }

    @Test func `no transaction is opened for a body that breaks off at its end`() throws {
        let isAsked = Mutex(false)
        let site = try counting { _, _ in isAsked.withLock { $0 = true } }
        #expect(try send(#"{"docs":[{"_id":"a"},{"_id":"b"},{"x":}]}"#, to: site).status == 400)
        #expect(!isAsked.withLock { $0 })
    }

    @Test
    func `of a long body the documents before are there for others while those behind are saved`()
        throws
    {
        let seen = Mutex<UInt64>(0)
        let site = try counting { number, database in
            guard number == 10 else { return }
            // Another thread is no part of the transaction.
            let other = Thread {
                seen.withLock { $0 = (try? database.documentCount).map { UInt64($0) } ?? 0 }
            }
            other.start()
            while !other.isFinished { usleep(1_000) }
        }
        let text = String(repeating: "x", count: 600_000)
        let documents = (1...10).map { #"{"_id":"d\#($0)","text":"\#(text)"}"# }
        let body = "{\"docs\":[\(documents.joined(separator: ","))]}"
        #expect(try send(body, to: site).status == 201)
        #expect(seen.withLock { $0 } >= 6)
        let atomic = "{\"all_or_nothing\":true," + body.dropFirst()
        #expect(try send(atomic, to: site).status == 409)
        #expect(site.send("GET", "/db").json["doc_count"] == 10)
    }

    @Test func `a long body is told apart from memory's by nothing but its length`() throws {
        let site = try site()
        site.send("PUT", "/db/old", #"{"n":1}"#)
        let bad = #"{"docs":[{"_id":"old","n":2},{"_id":"_bad"},{"_id":"new","n":}]}"#
        let memory = site.send("POST", "/db/_bulk_docs", bad)
        let long = try send(bad, to: site)
        #expect(memory.status == 400 && long.status == 400)
        #expect(memory.json == long.json)
        let fine = #"{"docs":[{"_id":"old","n":2},{"_id":"_bad"},{"_id":"new","n":3}]}"#
        let answer = try send(fine, to: site).json
        #expect(answer[1]?["error"] == "illegal_docid")
        #expect(answer[2]?["ok"] == true)
        #expect(answer[0]?["error"] == "conflict")
    }
}
