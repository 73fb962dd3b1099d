// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import DivanTestSupport
import Testing

@testable import DivanListener

/// Numbers of clients: whatever stands where one is expected, the listener answers it, and lives.
///
/// A number that traps ends the process of the tests, and with it all of them.
@Suite struct NumberTests {
    static let numbers = [
        "-1", "0", "-0", "1", "9007199254740993", "9223372036854775807", "9223372036854775808",
        "-9223372036854775808", "-9223372036854775809", "18446744073709551615",
        "18446744073709551616", "1e300", "-1e300", "1e400", "-0.0", "1e-300", "0.5", "true",
        "\"9223372036854775807\"", "null",
    ]

    let site: TestSite
    let revision: String

    init() throws {
        site = try TestSite { options in
            options.scripts = [PathRuntime()]
        }
        site.send("PUT", "/db")
        site.send(
            "PUT", "/db/a",
            #"{"n":1,"_attachments":{"f":{"data":"aGVsbG8=","content_type":"x/y"}}}"#)
        revision = site.send("GET", "/db/a").json["_rev"]?.string ?? ""
        let database = try site.manager.database(named: "db")
        database.view(named: "d/v").setMap(version: "1", reduce: .count) { document, emit in
            emit(document["n"])
        }
    }

    private func expectAnswer(_ answer: TestAnswer, _ what: String) {
        #expect((200..<500).contains(answer.status), "\(what): \(answer.status) \(answer.text)")
    }

    private static let parameters: [(path: String, names: [String])] = [
        (
            "/db/_changes",
            [
                "since", "limit", "heartbeat", "timeout", "seq_interval", "last-event-id",
                "conflicts",
            ]
        ),
        ("/db/_changes?feed=longpoll&since=1", ["heartbeat", "timeout", "limit"]),
        ("/db/_changes?feed=continuous", ["heartbeat", "timeout", "limit", "since"]),
        ("/_db_updates?feed=continuous", ["heartbeat", "timeout", "limit", "since"]),
        ("/_db_updates", ["since", "limit", "heartbeat", "timeout"]),
        ("/db/_all_docs", ["limit", "skip", "key", "startkey", "endkey", "group_level"]),
        ("/db/_design_docs", ["limit", "skip"]), ("/db/_local_docs", ["limit", "skip"]),
        (
            "/db/_design/d/_view/v",
            [
                "limit", "skip", "group_level", "key", "startkey", "endkey", "reduce",
            ]
        ),
        ("/db/a", ["rev", "open_revs", "atts_since", "revs"]), ("/_uuids", ["count"]),
        ("/_scheduler/docs", ["limit", "skip"]), ("/_scheduler/jobs", ["limit", "skip"]),
        ("/_all_dbs", ["limit", "skip", "startkey", "endkey"]),
    ]

    @Test func `any number as a parameter is answered`() {
        for (path, names) in Self.parameters {
            for name in names {
                for number in Self.numbers {
                    let value = PercentEncoding.encode(number)
                    let target = path + (path.contains("?") ? "&" : "?") + "\(name)=\(value)"
                    expectAnswer(site.send("GET", target), target)
                }
            }
        }
    }

    private static let members: [(method: String, path: String, body: String)] = [
        ("POST", "/db/_find", #"{"selector":{"n":@},"limit":@,"skip":@}"#),
        ("POST", "/db/_find", #"{"selector":{},"limit":@}"#),
        ("POST", "/db/_find", #"{"selector":{},"skip":@,"limit":9223372036854775807}"#),
        ("POST", "/db/_find", #"{"selector":{"n":{"$mod":[@,@]}}}"#),
        ("POST", "/db/_find", #"{"selector":{"n":{"$mod":[@,1]}}}"#),
        ("POST", "/db/_find", #"{"selector":{"n":{"$size":@}}}"#),
        ("POST", "/db/_explain", #"{"selector":{},"limit":@,"skip":1}"#),
        ("POST", "/db/_all_docs", #"{"keys":[@],"limit":@,"skip":@}"#),
        ("POST", "/db/_all_docs/queries", #"{"queries":[{"limit":@,"skip":@}]}"#),
        ("POST", "/db/_design/d/_view/v/queries", #"{"queries":[{"group_level":@,"limit":@}]}"#),
        ("POST", "/db/_design/d/_view/v", #"{"keys":[@]}"#),
        ("POST", "/db/_changes", #"{"since":@,"limit":@,"heartbeat":@,"timeout":@}"#),
        ("POST", "/db/_bulk_get", #"{"docs":[{"id":"a","rev":@,"atts_since":[@]}]}"#),
        ("POST", "/db/_revs_diff", #"{"a":[@]}"#), ("POST", "/db/_missing_revs", #"{"a":[@]}"#),
        ("POST", "/db/_purge", #"{"a":[@]}"#), ("PUT", "/db/_revs_limit", "@"),
        ("PUT", "/db/_purged_infos_limit", "@"), ("PUT", "/db/n1", #"{"n":@}"#),
        ("PUT", "/db/n2", #"{"_rev":@}"#), ("PUT", "/db/n3", #"{"_exp":@}"#),
        (
            "PUT", "/db/n4?new_edits=false",
            #"{"_rev":"3-c","_revisions":{"start":@,"ids":["c","b"]}}"#
        ),
        ("PUT", "/db/n5?new_edits=false", #"{"_rev":"@-c"}"#),
        (
            "PUT", "/db/n6",
            #"{"_attachments":{"f":{"stub":true,"revpos":@,"length":@,"digest":"md5-XUFAKrxLKna5cZ2REBfFkg=="}}}"#
        ),
        (
            "PUT", "/db/n7",
            #"{"_attachments":{"f":{"data":"aGVsbG8=","revpos":@,"length":@,"encoded_length":@,"encoding":"gzip"}}}"#
        ),
        ("PUT", "/db/n8", #"{"_attachments":{"f":{"follows":true,"revpos":@,"length":@}}}"#),
        (
            "POST", "/db/_bulk_docs",
            #"{"new_edits":false,"docs":[{"_id":"n9","_rev":"1-a","_revisions":{"start":@,"ids":["a"]}}]}"#
        ),
        ("PUT", "/db/_local/l", #"{"_rev":"0-@","n":@}"#),
        (
            "PUT", "/db/_local/m",
            #"{"_rev":"@-local","history":[{"recorded_seq":@,"end_time":@,"docs_read":@}]}"#
        ),
        (
            "POST", "/_replicate",
            #"{"source":"db","target":"other","cancel":true,"since_seq":@,"heartbeat":@,"connection_timeout":@,"worker_batch_size":@,"worker_processes":@,"http_connections":@,"retries_per_request":@,"checkpoint_interval":@}"#
        ),
        (
            "POST", "/_replicate",
            #"{"source":"db","target":"other2","cancel":true,"since_seq":@}"#
        ),
        (
            "POST", "/db/_index",
            #"{"index":{"fields":["n"]},"type":"json","partial_filter_selector":{"n":{"$gt":@}}}"#
        ),
    ]

    @Test func `any number as a member of a body is answered`() throws {
        for (method, path, body) in Self.members {
            for number in Self.numbers {
                let body = body.split(separator: "@", omittingEmptySubsequences: false)
                    .joined(separator: number)
                expectAnswer(site.send(method, path, body), "\(method) \(path) \(body)")
            }
        }
        // What was let in is listed, and read with all that is known of it.
        for target in [
            "/db/_all_docs?include_docs=true", "/db/_changes?include_docs=true&style=all_docs",
            "/db/n3?show_exp=true", "/db/n1?meta=true", "/db/_local_docs?include_docs=true",
            "/db/_design/d/_view/v?group=true", "/_active_tasks", "/_scheduler/jobs", "/db",
        ] { expectAnswer(site.send("GET", target), target) }
        #expect(try site.manager.database(named: "db").verify().isEmpty)
    }

    @Test func `any number in a header is answered`() {
        let texts = Self.numbers.flatMap {
            ["bytes=\($0)-", "bytes=-\($0)", "bytes=1-\($0)", "bytes=\($0)-\($0)"]
        }
        for range in texts {
            let answer = site.send("GET", "/db/a/f", "", ["Range": range])
            #expect([200, 206, 416].contains(answer.status), "\(range)")
            #expect(answer.bytes.count <= 5 || answer.status == 416)
        }
        for number in Self.numbers {
            for name in [
                "If-Match", "If-None-Match", "Content-Length", "Last-Event-ID",
                "X-Couch-Full-Commit",
            ] {
                let headers: HTTPHeaders = [name: number]
                expectAnswer(site.send("GET", "/db/a", "", headers), name)
                expectAnswer(site.send("PUT", "/db/h", "{}", headers), name)
                expectAnswer(site.send("PUT", "/db/_local/h", "{}", headers), name)
                expectAnswer(site.send("GET", "/db/_changes", "", headers), name)
            }
        }
    }

    @Test func `any number in a user's document is answered`() throws {
        for number in Self.numbers {
            let body =
                #"{"_id":"org.couchdb.user:u","name":"u","type":"user","roles":[],"password_scheme":"pbkdf2","#
                + #""derived_key":"00","salt":"00","iterations":\#(number)}"#
            expectAnswer(site.send("PUT", "/_users/org.couchdb.user:u", body), number)
        }
    }
}
