// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import Foundation
import Testing

@testable import DivanListener

/// Requests that CouchDB refuses, or answers by another status than the nearest one.
@Suite struct WrongRequestTests {
    private let site: TestSite
    private let root: HTTPHeaders = ["Authorization": "Basic cm9vdDpy"]

    init() throws {
        site = try TestSite { $0.access = .users(["root": "r", "ann": "a"]) }
        let path = site.folder.path + "/listener.json"
        var file = try AccountsFile.load(path)
        file.users["eve"] = AccountsFile.User(password: "p", roles: [], iterations: 10)
        #expect(file.write(to: path))
        send("PUT", "/db")
    }

    @discardableResult
    private func send(
        _ method: String, _ target: String, _ body: String = "", _ headers: HTTPHeaders = [:]
    ) -> TestAnswer {
        var all = root
        for field in headers { all[field.name] = field.value }
        return site.send(method, target, body, all)
    }

    @Test(arguments: [
        ("/db", #"{"a":1}"#), ("/db/_bulk_docs", #"{"docs":[]}"#), ("/db/_revs_diff", "{}"),
        ("/db/_ensure_full_commit", ""), ("/db/_compact", ""), ("/db/_compact/d", ""),
        ("/db/_view_cleanup", ""), ("/db/_find", #"{"selector":{}}"#),
        ("/db/_all_docs", #"{"keys":[]}"#), ("/_replicate", #"{"source":"db","target":"x"}"#),
    ])
    func `a POST that does not say that it is JSON is refused`(target: String, body: String) {
        for type in ["", "text/plain", "application/x-www-form-urlencoded"] {
            let answer = send("POST", target, body, ["Content-Type": type])
            #expect(answer.status == 415, "\(type)")
            #expect(answer.json["error"] == "bad_content_type")
            #expect(answer.json["reason"] == "Content-Type must be application/json")
        }
        #expect(send("GET", "/db").json["doc_count"] == 0)
    }

    @Test(arguments: ["application/json", "application/json; charset=utf-8"])
    func `a POST that says that it is JSON is answered`(type: String) {
        #expect(send("POST", "/db", "{}", ["Content-Type": type]).status == 201)
        #expect(send("POST", "/db/_compact", "", ["Content-Type": type]).status == 202)
        let committed = send("POST", "/db/_ensure_full_commit", "", ["Content-Type": type])
        #expect(committed.status == 201)
    }

    @Test func `a PUT of a document needs no type`() {
        #expect(send("PUT", "/db/a", "{}").status == 201)
        let form = ["Content-Type": "application/x-www-form-urlencoded"] as HTTPHeaders
        #expect(send("PUT", "/db/b", "{}", form).status == 201)
    }

    // MARK: - Signing in

    @Test(arguments: [
        ("{}", "application/json", 400), (#"{"password":"r"}"#, "application/json", 400),
        (#"{"name":"root"}"#, "application/json", 401),
        (#"{"name":"root","username":"ann","password":"r"}"#, "application/json", 400),
        (#"{"name":"root","password":"r"}"#, "text/plain", 415),
        ("name=root&password=r", "", 415), ("password=r", "application/x-www-form-urlencoded", 400),
        (#"{"username":"root","password":"r"}"#, "application/json", 200),
        ("name=root&password=r", "application/x-www-form-urlencoded; charset=utf-8", 200),
    ])
    func `a login has a name, in a form or in JSON`(body: String, type: String, status: Int) {
        let answer = site.send("POST", "/_session", body, ["Content-Type": type])
        #expect(answer.status == status, "\(answer.text)")
    }

    @Test(arguments: ["garbage", "%%%", "YW5u", "bm9uZQ"])
    func `a cookie of no server is refused, and taken away`(cookie: String) {
        let answer = site.send("GET", "/", "", ["Cookie": "AuthSession=" + cookie])
        #expect(answer.status == 400)
        #expect(
            answer.json["reason"] == "Malformed AuthSession cookie. Please clear your cookies.")
        #expect(answer.headers["Set-Cookie"]?.contains("Max-Age=0") == true)
    }

    @Test func `a cookie of another server signs no user in, and neither does an empty one`() {
        let other = Base64.encode(Array("ann:5F5E1000:hash".utf8)).filter { $0 != "=" }
        for cookie in [other, ""] {
            let answer = site.send("GET", "/_session", "", ["Cookie": "AuthSession=" + cookie])
            #expect(answer.status == 200)
            #expect(answer.json["userCtx"]?["name"] == .null)
        }
        // Who shows a password needs no cookie.
        #expect(send("GET", "/_all_dbs", "", ["Cookie": "AuthSession=garbage"]).status == 200)
    }

    // MARK: - Parameters

    @Test(arguments: ["q=0", "q=x", "q=", "n=0", "n=-1"])
    func `a database has a positive number of shards and copies`(query: String) {
        #expect(send("PUT", "/other?" + query).status == 400)
        #expect(send("PUT", "/other?q=2&n=1").status == 201)
        send("DELETE", "/other")
    }

    @Test func `a list of documents checks the parameters of views`() {
        for query in ["update=x", "stale=x", "stable=x", "sorted=x"] {
            #expect(send("GET", "/db/_all_docs?" + query).status == 400, "\(query)")
        }
        for query in ["update=lazy", "update=false", "stale=ok", "stable=true"] {
            #expect(send("GET", "/db/_all_docs?" + query).status == 200, "\(query)")
        }
    }

    @Test func `one key may be given twice, and two may not`() {
        send("PUT", "/db/a", "{}")
        send("PUT", "/db/b", "{}")
        let same = send("POST", "/db/_all_docs?key=%22a%22", #"{"keys":["a"]}"#)
        #expect(same.status == 200)
        #expect(same.json["rows"]?.array?.map { $0["id"] } == ["a"])
        for keys in [#"["b"]"#, #"["a","b"]"#] {
            let body = #"{"keys":\#(keys)}"#
            #expect(send("POST", "/db/_all_docs?key=%22a%22", body).status == 400)
        }
    }

    @Test func `several queries of a view are asked for at a path of their own`() throws {
        let database = try site.manager.database(named: "db")
        database.view(named: "app/v").setMap(version: "1") { document, emit in emit(1, 1) }
        let path = "/db/_design/app/_view/v"
        #expect(send("POST", path, #"{"queries":[{"limit":1}]}"#).status == 400)
        #expect(send("POST", path + "/queries", #"{"queries":[1]}"#).status == 400)
        #expect(send("POST", "/db/_all_docs/queries", #"{"queries":["x"]}"#).status == 400)
        #expect(send("POST", path + "/queries", #"{"queries":[{}]}"#).status == 200)
    }

    // MARK: - Documents

    @Test func `a tombstone that is put is no creation`() {
        #expect(send("PUT", "/db/new", #"{"_deleted":true}"#).status == 200)
        let revision = send("PUT", "/db/a", "{}").json["rev"]?.string ?? ""
        let gone = send("PUT", "/db/a", #"{"_rev":"\#(revision)","_deleted":true}"#)
        #expect(gone.status == 200)
        #expect(gone.headers["ETag"] == "\"\(gone.json["rev"]?.string ?? "")\"")
        #expect(send("POST", "/db", #"{"_id":"b","_deleted":true}"#).status == 201)
    }

    @Test func `a document has an ETag with its history, and with its conflicts while it has none`()
    {
        let revision = send("PUT", "/db/a", "{}").json["rev"]?.string ?? ""
        let tag = "\"\(revision)\""
        for query in ["revs=true", "conflicts=true", "deleted_conflicts=true", "attachments=true"] {
            #expect(send("GET", "/db/a?" + query).headers["ETag"] == tag, "\(query)")
        }
        for query in ["revs=true", "conflicts=true"] {
            let answer = send("GET", "/db/a?" + query, "", ["If-None-Match": tag])
            #expect(answer.status == 304, "\(query)")
        }
        for query in ["revs_info=true", "local_seq=true", "meta=true"] {
            #expect(send("GET", "/db/a?" + query).headers["ETag"] == nil, "\(query)")
        }
        send("PUT", "/db/a?new_edits=false", #"{"_rev":"1-0"}"#)
        let now = send("GET", "/db/a?conflicts=true", "", ["If-None-Match": tag])
        #expect(now.status == 200)
        #expect(now.json["_conflicts"]?.array?.count == 1)
        #expect(now.headers["ETag"] == nil)
        #expect(send("GET", "/db/a?deleted_conflicts=true").headers["ETag"] != nil)
    }

    @Test
    func `a user who is signed in lacks the right, and is asked for an administrator at lists`() {
        let eve: HTTPHeaders = ["Authorization": "Basic ZXZlOnA="]
        for database in ["/_users", "/_replicator"] { send("GET", database) }
        send("PUT", "/db/_security", "{}")
        #expect(site.send("PUT", "/db/_design/d", "{}", eve).status == 403)
        for path in ["_all_docs", "_changes"] {
            for database in ["_users", "_replicator"] {
                let answer = site.send("GET", "/\(database)/\(path)", "", eve)
                #expect(answer.status == 401, "\(database)/\(path)")
                #expect(answer.json["reason"] == "You are not a server admin.")
            }
        }
        #expect(site.send("GET", "/_users/_design_docs", "", eve).status == 403)
    }
}
