// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Synchronization
import Testing

@testable import DivanListener

/// What `disk_monitor` of the configuration keeps from a disk that is nearly full.
@Suite struct DiskMonitorTests {
    private let site: TestSite

    init() throws {
        site = try TestSite()
        site.send("PUT", "/db")
    }

    private func set(_ key: String, _ text: String) -> Int {
        site.send("PUT", "/_node/_local/_config/disk_monitor/" + key, "\"\(text)\"").status
    }

    /// Something of the disk is used, so a threshold of 0 refuses.
    private func close() {
        #expect(set("enable", "true") == 200)
        #expect(set("interactive_database_writes_threshold", "0") == 200)
    }

    @Test func `edits are refused while more of the disk is used than is configured`() throws {
        let saved = site.send("PUT", "/db/a", "{}").json["rev"]?.string ?? ""
        close()
        for (method, target, body) in [
            ("PUT", "/db/b", "{}"), ("POST", "/db", "{}"), ("DELETE", "/db/a?rev=\(saved)", ""),
            ("PUT", "/db/a/x?rev=\(saved)", "x"),
        ] {
            let answer = site.send(method, target, body)
            #expect(answer.status == 507, "\(method) \(target)")
            #expect(answer.json["error"] == "insufficient_storage")
            #expect(answer.json["reason"] == "database_dir is too full")
        }
        #expect(set("interactive_database_writes_threshold", "100") == 200)
        #expect(site.send("PUT", "/db/b", "{}").status == 201)
    }

    @Test func `each edit of several is refused alone`() {
        close()
        let answer = site.send("POST", "/db/_bulk_docs", #"{"docs":[{"_id":"a"},{"_id":"b"}]}"#)
        #expect(answer.status == 201 && answer.json.array?.count == 2)
        for row in answer.json.array ?? [] {
            #expect(row["error"] == "insufficient_storage" && row["id"] != nil)
        }
    }

    @Test func `what replicators bring, what is read and what makes room goes on`() {
        close()
        let brought = #"{"new_edits":false,"docs":[{"_id":"a","_rev":"1-a"}]}"#
        #expect(site.send("POST", "/db/_bulk_docs", brought).status == 201)
        #expect(site.send("PUT", "/db/b?new_edits=false", #"{"_rev":"1-b"}"#).status == 201)
        #expect(site.send("PUT", "/db/_local/checkpoint", "{}").status == 201)
        #expect(site.send("GET", "/db/a").status == 200)
        #expect(site.send("POST", "/db/_compact").status == 202)
        #expect(site.send("POST", "/db/_purge", #"{"a":["1-a"]}"#).status == 201)
        #expect(site.send("DELETE", "/db").status == 200)
    }

    @Test
    func `a view that must be brought up to date is refused, and answers as it stands where asked`()
        throws
    {
        let database = try site.manager.database(named: "db")
        database.view(named: "d/v").setMap(version: "1") { _, emit in emit(1, nil) }
        site.send("PUT", "/db/a", "{}")
        #expect(site.send("GET", "/db/_design/d/_view/v").json["total_rows"] == 1)
        #expect(set("enable", "true") == 200)
        #expect(set("interactive_database_writes_threshold", "100") == 200)
        #expect(set("interactive_view_indexing_threshold", "0") == 200)
        // Nothing has changed since.
        #expect(site.send("GET", "/db/_design/d/_view/v").status == 200)
        #expect(site.send("PUT", "/db/b", "{}").status == 201)
        let answer = site.send("GET", "/db/_design/d/_view/v")
        #expect(answer.status == 507 && answer.json["error"] == "insufficient_storage")
        for old in ["stale=ok", "update=false"] {
            let answer = site.send("GET", "/db/_design/d/_view/v?\(old)")
            #expect(answer.json["total_rows"] == 1, "\(answer.text)")
        }
        #expect(set("interactive_view_indexing_threshold", "100") == 200)
        #expect(site.send("GET", "/db/_design/d/_view/v").json["total_rows"] == 2)
    }

    @Test func `a threshold counts only where the monitor is on, and is a percentage`() {
        #expect(set("interactive_database_writes_threshold", "0") == 200)
        #expect(site.send("PUT", "/db/a", "{}").status == 201)
        #expect(set("interactive_database_writes_threshold", "101") == 400)
        #expect(set("interactive_database_writes_threshold", "-1") == 400)
        var table = ConfigurationTable()
        table["disk_monitor", "enable"] = "true"
        #expect(ListenerSettings(table, ListenerOptions()).fullestDisk == 90)
    }

    @Test func `the disk is looked at once a second at most`() {
        let looks = Mutex(0)
        let monitor = DiskMonitor("x") { _ in
            looks.withLock {
                $0 += 1
                return $0 == 1 ? 50 : 51
            }
        }
        let now = ContinuousClock.now
        #expect(!monitor.isOver(50, now: now))
        #expect(monitor.isOver(49, now: now))
        #expect(!monitor.isOver(50, now: now + .milliseconds(999)))
        #expect(looks.withLock { $0 } == 1)
        #expect(monitor.isOver(50, now: now + .seconds(1)))
        #expect(!DiskMonitor("x", percent: { _ in nil }).isOver(0))
    }
}
