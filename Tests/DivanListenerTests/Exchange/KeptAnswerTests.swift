// SPDX-License-Identifier: Apache-2.0

import DivanDatabase
import DivanHTTP
import DivanJSON
import DivanQuery
import Foundation
import Testing

@testable import DivanListener

/// Answers that wait for their clients: in memory while there is room, in files otherwise.
@Suite struct KeptAnswerTests {
    private static let text = String(repeating: "x", count: 300_000)

    /// A site with ten documents of 300 kB.
    private func site(memory: Int, files: Int = 1 << 30) throws -> TestSite {
        let site = try TestSite {
            // The two databases are no copies of each other.
            $0.numberSequences = true
            $0.limits.memory = memory
            $0.limits.requestBody = files
        }
        let database = try site.manager.database(named: "db")
        for number in 0..<10 {
            try database.save(MutableDocument(["a": .string(Self.text)], id: "d\(number)"))
        }
        return site
    }

    private func request(_ method: String, _ target: String, _ body: String = "") -> ListenerRequest
    {
        let head = RequestHead(
            method: method, target: target,
            headers: ["Host": "localhost", "Content-Type": "application/json"])
        return ListenerRequest(head, body: .bytes(Array(body.utf8)))
    }

    private static let targets = [
        ("GET", "/db/d1", ""), ("GET", "/db/_all_docs?include_docs=true", ""),
        ("GET", "/db/_changes?include_docs=true", ""),
        ("POST", "/db/_find", #"{"selector":{"a":{"$gt":""}}}"#),
        (
            "POST", "/db/_find",
            #"{"selector":{"_id":{"$gt":"d3"}},"sort":[{"_id":"desc"}],"fields":["a"]}"#
        ),
        ("POST", "/db/_bulk_get", #"{"docs":[{"id":"d1"},{"id":"x"},{"id":"d2"}]}"#),
        ("GET", "/db/d1?open_revs=all", ""),
    ]

    @Test func `an answer is the same whether there is room for it in memory or not`() throws {
        let (roomy, narrow) = (try site(memory: 64 << 20), try site(memory: 100_000))
        for (method, target, body) in Self.targets {
            let answers = [roomy, narrow].map {
                $0.send(
                    method, target, body,
                    ["Content-Type": "application/json", "Accept": "application/json"])
            }
            #expect(answers[0].status == 200, "\(target)")
            #expect(answers[0].bytes == answers[1].bytes, "\(target)")
            #expect(answers[1].bytes.count > 300_000, "\(target)")
            #expect(narrow.router.site.waitingBytes.reserved == 0)
            #expect(narrow.router.site.answerFiles.reserved == 0)
        }
    }

    @Test func `what waits is reserved for until the client has it, or is gone`() throws {
        let site = try site(memory: 64 << 20)
        let budget = site.router.site.waitingBytes
        for isTaken in [true, false] {
            for target in ["/db/d1", "/db/_all_docs?include_docs=true"] {
                var response: ListenerResponse? = site.router.respond(request("GET", target))
                if case .stream(let producer, _)? = response?.body {
                    _ = try producer.next()
                    #expect(budget.reserved > 250_000)
                    while isTaken, case .bytes = try producer.next() {}
                    producer.cancel()
                } else {
                    #expect(budget.reserved > 250_000)
                }
                response = nil
                #expect(response == nil && budget.reserved == 0, "\(target)")
            }
        }
    }

    @Test func `a client that takes a found document gives back what its request has reserved`()
        throws
    {
        let site = try site(memory: 64 << 20)
        let padding = String(repeating: " ", count: 400_000)
        // A long answer is in a file, a short one in memory.
        for selector in [#"{"_id":"d1"}"#, #"{"_id":"none"}"#] {
            let body = #"{"selector":\#(selector)\#(padding)}"#
            let response = site.router.respond(request("POST", "/db/_find", body))
            #expect(response.status == 200)
            #expect(site.router.site.memory.reserved == 0)
            withExtendedLifetime(response) {}
        }
    }

    @Test func `what finds no room in files either is told when to come again`() throws {
        let site = try site(memory: 100_000, files: 200_000)
        for (method, target, body) in Self.targets where !target.contains("_all_docs") {
            let answer = site.send(method, target, body, ["Content-Type": "application/json"])
            // A list is broken off, since its head is sent already.
            let isBroken = answer.status == 200 && answer.failure != nil
            #expect(answer.status == 503 || isBroken, "\(target): \(answer.status)")
        }
        #expect(site.router.site.answerFiles.reserved == 0)
        #expect(site.send("GET", "/db").status == 200)
    }

    @Test func `long documents are written one after the other where there is no room for two`()
        throws
    {
        let site = try site(memory: 100_000)
        let budget = site.router.site.longDocuments
        #expect(budget.capacity < 300_000)
        DispatchQueue.concurrentPerform(iterations: 8) { number in
            let answer = site.send("GET", "/db/d\(number)")
            #expect(answer.status == 200 && answer.bytes.count > 300_000)
        }
        #expect(budget.reserved == 0)
    }

    @Test func `queries of a view are asked one after the other, and a wrong one before all`()
        throws
    {
        let site = try site(memory: 64 << 20)
        let view = try site.manager.database(named: "db").view(named: "v/all")
        view.setMap(version: "1") { document, emit in emit(document["a"], nil) }
        let target = "/db/_design/v/_view/all/queries"
        let type: HTTPHeaders = ["Content-Type": "application/json"]
        let good = site.send(
            "POST", target, #"{"queries":[{"limit":2},{"skip":9},{"keys":[]}]}"#, type)
        let lists = try JSONParser.parse(good.bytes)["results"]?.array ?? []
        #expect(lists.map { $0["rows"]?.array?.count } == [2, 1, 0])
        let wrong = site.send("POST", target, #"{"queries":[{},{"limit":-1}]}"#, type)
        #expect(wrong.status == 400)
    }
}
