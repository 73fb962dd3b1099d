// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Divan
import DivanJSON
import DivanTestSupport
import Foundation
import Synchronization
import Testing

@testable import DivanListener

/// What a listener tells of the indexes of a design document, and of work that goes on.
@Suite(.timeLimit(.minutes(5))) struct DesignInfoTests {
    private let site: TestSite
    private let database: Database

    init() throws {
        site = try TestSite()
        database = try site.manager.database(named: "db")
        for n in 0..<5 {
            try database.save(MutableDocument(["n": .integer(Int64(n))], id: DocumentID("d\(n)")))
        }
    }

    private func info(_ design: String) -> JSONValue? {
        site.send("GET", "/db/_design/\(design)/_info").json["view_index"]
    }

    private func tasks(_ type: String) -> [JSONValue] {
        site.send("GET", "/_active_tasks").json.array?.filter { $0["type"]?.string == type } ?? []
    }

    @Test func `an index on properties waits for all changes, and for none once it is built`() {
        site.send(
            "POST", "/db/_index", #"{"index":{"fields":["n"]},"ddoc":"by-n","name":"n"}"#)
        let before = info("by-n")
        #expect(before?["updates_pending"]?["total"] == 6)
        #expect(before?["update_seq"] == 0)
        #expect(before?["language"] == "query")
        site.send("POST", "/db/_find", #"{"selector":{"n":{"$gt":1}}}"#)
        let built = info("by-n")
        #expect(built?["updates_pending"]?["total"] == 0)
        #expect(built?["update_seq"] == 6)
        #expect(built?["sizes"]?["file"]?.int64 ?? 0 > 20)
        site.send("PUT", "/db/more", #"{"n":9}"#)
        #expect(info("by-n")?["updates_pending"]?["total"] == 1)
    }

    @Test func `a design document without views waits for nothing`() {
        site.send("PUT", "/db/_design/empty", #"{"language":"query"}"#)
        #expect(info("empty")?["updates_pending"]?["total"] == 0)
        #expect(info("none") == nil)
    }

    @Test func `an index that is being built is told of as a task, with those who wait`() {
        let (begun, goesOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        database.view(named: "slow/v").setMap(version: "1") { document, emit in
            if document.id == "d3" {
                begun.signal()
                goesOn.wait()
            }
            emit(document["n"], nil)
        }
        #expect(tasks("indexer").isEmpty)
        let done = DispatchSemaphore(value: 0)
        let site = site
        Thread.detachNewThread {
            site.send("GET", "/db/_design/slow/_view/v")
            done.signal()
        }
        begun.wait()
        #expect(info("slow")?["updater_running"] == true)
        #expect(info("slow")?["waiting_clients"] == 1)
        let task = tasks("indexer").first
        #expect(tasks("indexer").count == 1)
        #expect(task?["database"] == "db")
        #expect(task?["design_document"] == "_design/slow")
        #expect(task?["changes_done"] == 0)
        #expect(task?["total_changes"] == 5)
        #expect(task?["progress"] == 0)
        #expect(task?["started_on"]?.int64 ?? 0 > 1_700_000_000)
        // Both answers of the test client ask for the index.
        for _ in 0..<8 { goesOn.signal() }
        done.wait()
        #expect(tasks("indexer").isEmpty)
        #expect(info("slow")?["updater_running"] == false)
        #expect(info("slow")?["updates_pending"]?["total"] == 0)
    }

    @Test func `a compaction shows while it runs`() throws {
        let (begun, goesOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let done = DispatchSemaphore(value: 0)
        site.send("PUT", "/db/_design/d", "{}")
        #expect(site.send("GET", "/db").json["compact_running"] == false)
        let database = database
        let isFirst = Mutex(true)
        Thread.detachNewThread {
            _ = try? database.compact { _ in
                let isFirst = isFirst.withLock { isFirst in
                    defer { isFirst = false }
                    return isFirst
                }
                guard isFirst else { return }
                begun.signal()
                goesOn.wait()
            }
            done.signal()
        }
        begun.wait()
        #expect(site.send("GET", "/db").json["compact_running"] == true)
        #expect(info("d")?["compact_running"] == true)
        goesOn.signal()
        done.wait()
        #expect(site.send("GET", "/db").json["compact_running"] == false)
    }

    @Test func `a text index of _find has the figures of a search index`() {
        site.send(
            "POST", "/db/_index",
            #"{"type":"text","index":{"fields":[{"name":"n","type":"number"}]},"ddoc":"t","name":"t"}"#
        )
        let path = "/db/_design/t/_search_info/t"
        #expect(site.send("GET", path).status == 200)
        site.send("POST", "/db/_find", #"{"selector":{"n":{"$gt":1}},"use_index":"t"}"#)
        let answer = site.send("GET", path).json
        #expect(answer["name"] == "_design/t/t")
        #expect(answer["search_index"]?["doc_count"] == 5)
        #expect(answer["search_index"]?["committed_seq"] == 6)
        #expect(answer["search_index"]?["disk_size"]?.int64 ?? 0 > 0)
        #expect(site.send("GET", "/db/_design/t/_search_disk_size/t").status == 200)
        #expect(site.send("GET", "/db/_design/t/_search_info/none").status == 404)
    }

    @Test func `the sizes of a database count its attachments once`() throws {
        let content = String(repeating: "x", count: 40_000)
        site.send("PUT", "/db/a/file", content, ["Content-Type": "text/plain"])
        let sizes = site.send("GET", "/db").json["sizes"]
        #expect(sizes?["file"]?.int64.map { Int($0) } == (try database.diskSize))
        #expect(sizes?["active"]?.int64 ?? 0 >= 40_000)
        #expect(sizes?["active"]?.int64 ?? 0 <= sizes?["file"]?.int64 ?? 0)
        #expect(sizes?["external"] == sizes?["active"])
    }
}
