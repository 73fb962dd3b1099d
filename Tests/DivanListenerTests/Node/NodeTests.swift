// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import Foundation
import Testing

@testable import DivanListener

/// What a listener tells of itself at `_node`.
@Suite struct NodeTests {
    private let site: TestSite

    init() throws { site = try TestSite() }

    private func value(_ path: String) -> Int64? {
        site.send("GET", "/_node/_local/_stats/couchdb/" + path).json["value"]?.int64
    }

    @Test func `requests are counted by method and by status`() throws {
        func counts() -> [Int64?] {
            [
                value("httpd_request_methods/PUT"), value("httpd_status_codes/201"),
                value("httpd_status_codes/412"),
            ]
        }
        #expect(counts() == [0, 0, 0])
        site.send("PUT", "/db")
        site.send("PUT", "/db")
        #expect(counts() == [2, 1, 1])
        let before = try #require(value("httpd/requests"))
        #expect(try #require(value("httpd/requests")) > before)
        site.send("POST", "/db/_bulk_docs", #"{"docs":[]}"#)
        #expect(value("httpd/bulk_requests") == 1)
        #expect(value("open_databases") == 1)
        #expect(try #require(value("open_os_files")) > 0)
    }

    @Test func `passwords are counted that are hashed, and that were right lately`() throws {
        let site = try TestSite { $0.access = .users(["ann": "secret"]) }
        let path = site.folder.path + "/listener.json"
        var file = try AccountsFile.load(path)
        file.users["joe"] = AccountsFile.User(password: "j", roles: [], iterations: 10)
        #expect(file.write(to: path))
        func basic(_ user: String) -> HTTPHeaders {
            ["Authorization": "Basic " + Base64.encode(Array(user.utf8))]
        }
        func counts() -> [Int64?] {
            ["slow", "fast"].map { kind in
                let path = "/_node/_local/_stats/couchdb/password_hashing_\(kind)?flush=true"
                return site.send("GET", path, "", basic("ann:secret")).json["value"]?.int64
            }
        }
        // Without parameters the test's site would ask twice, as two threads do.
        let session = "/_session?basic=true"
        // Each question is asked with a password that needs no hashing.
        #expect(counts() == [0, 2])
        #expect(site.send("GET", session, "", basic("joe:wrong")).status == 401)
        #expect(counts() == [1, 4])
        #expect(site.send("GET", session, "", basic("joe:j")).status == 200)
        #expect(counts() == [2, 7])
        #expect(site.send("GET", session, "", basic("joe:j")).status == 200)
        #expect(counts() == [2, 10])
    }

    @Test func `a number that there is not is null`() {
        for path in ["couchdb/none", "none", "couchdb/httpd/requests/value/none"] {
            let answer = site.send("GET", "/_node/_local/_stats/" + path)
            #expect(answer.status == 200 && answer.json == .null, "\(path)")
        }
    }

    @Test func `the times of requests are told as a distribution`() throws {
        let time = site.send("GET", "/_node/_local/_stats/couchdb/request_time").json
        #expect(time["type"] == "histogram")
        let value = try #require(time["value"])
        #expect(value["percentile"]?.array?.count == 6)
        #expect(try #require(value["n"]?.int64) >= 0)
        #expect(Distribution([]).json["n"] == 0)
        let numbers = Distribution((1...100).map(Double.init))
        #expect(numbers.mean == 50.5)
        #expect(numbers.below(0.5) == 51 && numbers.below(0.99) == 100)
    }

    @Test func `only the times of the last thousand requests are kept`() {
        let statistics = ListenerStatistics()
        for _ in 0..<2_500 { statistics.note("GET", 200, since: .now) }
        #expect(statistics.all.times.count == 1_000)
        #expect(statistics.all.requests == 2_500)
        // What no client should be able to add to.
        statistics.note("BREW", 299, since: .now)
        #expect(statistics.all.methods.reduce(0, +) == 2_500)
    }

    @Test func `Prometheus gets each number with its type`() throws {
        site.send("PUT", "/db")
        let answer = site.send("GET", "/_node/_local/_prometheus")
        #expect(answer.headers["Content-Type"]?.hasPrefix("text/plain") == true)
        let lines = answer.text.split(separator: "\n")
        for line in [
            "# TYPE couchdb_httpd_request_methods counter",
            "couchdb_httpd_request_methods{method=\"PUT\"} 1",
            "couchdb_httpd_status_codes{code=\"201\"} 1", "# TYPE couchdb_open_databases gauge",
            "couchdb_open_databases 1", "# TYPE couchdb_request_time_seconds summary",
        ] {
            #expect(lines.contains(Substring(line)), "\(line)")
        }
        // Each type once, as the format asks for.
        let types = lines.filter { $0.hasPrefix("# TYPE ") }
        #expect(Set(types).count == types.count)
        #expect(lines.allSatisfy { $0.split(separator: " ").count > 1 })
    }

    @Test func `the system tells how long it runs and what memory it has`() throws {
        let system = site.send("GET", "/_node/_local/_system").json
        #expect(try #require(system["uptime"]?.int64) >= 0)
        #if os(Linux)
        #expect(try #require(system["memory"]?["processes"]?.int64) > 1 << 20)
        #endif
    }

    @Test func `a user with the role _metrics sees the numbers and nothing else`() throws {
        let site = try TestSite { $0.access = .users(["ann": "secret"]) }
        let path = site.folder.path + "/listener.json"
        var file = try AccountsFile.load(path)
        file.users["eve"] = AccountsFile.User(password: "e", roles: ["_metrics"], iterations: 10)
        file.users["joe"] = AccountsFile.User(password: "j", roles: [], iterations: 10)
        #expect(file.write(to: path))
        func status(_ user: String, _ path: String) -> Int {
            let headers: HTTPHeaders = [
                "Authorization": "Basic " + Base64.encode(Array(user.utf8))
            ]
            return site.send("GET", "/_node/_local/" + path, "", headers).status
        }
        for path in ["_stats", "_stats/couchdb", "_system", "_prometheus"] {
            #expect(status("eve:e", path) == 200, "\(path)")
            #expect(status("joe:j", path) != 200, "\(path)")
            #expect(site.send("GET", "/_node/_local/" + path).status == 401, "\(path)")
        }
        #expect(status("eve:e", "_config") != 200)
        #expect(status("eve:e", "_versions") != 200)
    }

    @Test func `the node has the name that the app gives it`() throws {
        let named = try TestSite { $0.nodeName = "node1@127.0.0.1" }
        #expect(
            named.send("GET", "/_membership").json["all_nodes"]?.array == ["node1@127.0.0.1"])
        #expect(named.send("GET", "/_node/node1@127.0.0.1/_stats").status == 200)
        #expect(named.send("GET", "/_node/_local").json["name"] == "node1@127.0.0.1")
        #expect(named.send("GET", "/_node/nonode@nohost/_stats").status == 404)
        #expect(site.send("GET", "/_node/nonode@nohost/_stats").status == 200)
    }

    @Test func `a document without an ID gets the next of those that are configured`() throws {
        site.send("PUT", "/db")
        for body in [#"{}"#, #"{"a":1}"#] {
            let id = site.send("POST", "/db", body).json["id"]?.string
            #expect(id?.utf8.count == 32)
        }
        let path = "/_node/_local/_config/uuids/"
        site.send("PUT", path + "utc_id_suffix", #""-till-7""#)
        site.send("PUT", path + "algorithm", #""utc_id""#)
        let bulk = site.send("POST", "/db/_bulk_docs", #"{"docs":[{},{}]}"#).json.array
        #expect(bulk?.count == 2)
        for row in bulk ?? [] {
            #expect(row["id"]?.string?.hasSuffix("-till-7") == true, "\(row)")
        }
    }
}
