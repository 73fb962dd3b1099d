// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Divan
import DivanHTTP
import DivanJSON
import Foundation
import Testing

@testable import DivanListener

/// Parameters that have few values: another one is a mistake of the client's, and told as one.
@Suite struct ParameterTests {
    let site: TestSite

    init() throws {
        site = try TestSite()
        site.send("PUT", "/db")
        site.send("PUT", "/db/a", #"{"n":1}"#)
        let database = try site.manager.database(named: "db")
        database.view(named: "d/v").setMap(version: "1") { document, emit in emit(document.id) }
    }

    @Test(arguments: ["_changes", "_db_updates"])
    func `a feed that is unknown is refused, and live is continuous`(path: String) {
        let place = path == "_changes" ? "/db/_changes" : "/_db_updates"
        let unknown = site.send("GET", place + "?feed=bogus")
        #expect(unknown.status == 400)
        #expect(unknown.json["error"] == "bad_request")
        #expect(
            unknown.json["reason"]
                == "Supported `feed` types: normal, continuous, live, longpoll, eventsource")
        let live = site.send("GET", place + "?feed=live")
        #expect(live.status == 200 && live.isWaiting)
        #expect(!live.text.contains("\"results\""))
        #expect(live.text == site.send("GET", place + "?feed=continuous").text)
    }

    @Test(arguments: [
        "/db/_changes?style=nope", "/db/_changes?descending=maybe",
        "/db/_changes?include_docs=maybe", "/db/_changes?conflicts=1",
        "/db/_changes?active_only=yes", "/db/_changes?att_encoding_info=x",
        "/db/_all_docs?descending=maybe", "/db/_all_docs?include_docs=maybe",
        "/db/_all_docs?inclusive_end=no", "/db/_all_docs?update_seq=x",
        "/db/_all_docs?conflicts=maybe", "/db/_all_docs?reduce=true", "/db/_all_docs?group=true",
        "/db/_all_docs?group_level=1", "/db/_design_docs?descending=maybe",
        "/db/_local_docs?descending=maybe", "/db/_design/d/_view/v?stable=maybe",
        "/db/_design/d/_view/v?update=maybe", "/db/_design/d/_view/v?stale=maybe",
        "/db/_design/d/_view/v?sorted=maybe", "/db/_design/d/_view/v?descending=x",
        "/db/_design/d/_view/v?include_docs=x", "/db/a?conflicts=maybe", "/db/a?revs=maybe",
        "/db/a?revs_info=1", "/db/a?meta=x", "/db/a?latest=x&rev=1-a", "/db/a?local_seq=x",
        "/db/a?attachments=x", "/db/a?deleted_conflicts=x", "/_scheduler/jobs?limit=x",
        "/_scheduler/docs?skip=-1", "/_all_dbs?descending=x", "/_uuids?count=x",
    ])
    func `a value that a parameter does not have is refused`(target: String) {
        let answer = site.send("GET", target)
        #expect(answer.status == 400)
        #expect(answer.json["error"] == "query_parse_error")
    }

    @Test(arguments: [
        ("style=main_only", 200), ("style=all_docs", 200), ("feed=normal", 200),
        ("descending=false", 200),
    ])
    func `values that it has are taken`(query: String, status: Int) {
        #expect(site.send("GET", "/db/_changes?" + query).status == status)
    }

    @Test(arguments: [
        (#""conflicts":"maybe""#, "invalid_boolean"), (#""execution_stats":1"#, "invalid_boolean"),
        (#""update":"x""#, "invalid_boolean"), (#""allow_fallback":null"#, "invalid_boolean"),
        (#""stable":"x""#, "invalid_boolean"), (#""r":"x""#, "invalid_pos_integer"),
        (#""r":0"#, "invalid_pos_integer"), (#""limit":-1"#, "invalid_non_neg_integer"),
        (#""skip":1.5"#, "invalid_non_neg_integer"), (#""bookmark":7"#, "invalid_bookmark"),
        (#""fields":"a""#, "invalid_fields"), (#""fields":[1]"#, "invalid_field"),
        (#""fields":["a..b"]"#, "invalid_field_name"), (#""sort":"a""#, "invalid_sort_json"),
        (#""sort":[{"a":"up"}]"#, "invalid_sort_field"), (#""sort":[""]"#, "invalid_sort_field"),
        (#""sort":["a",{"b":"desc"}]"#, "unsupported_mixed_sort"),
        (#""use_index":"a/b/c""#, "invalid_index_name"),
        (#""use_index":["a","b","c"]"#, "invalid_index_name"),
        (#""use_index":[1]"#, "invalid_index_name"), (#""use_index":{}"#, "invalid_index_name"),
        (#""stale":"no""#, "invalid_ok_or_false_value"), (#""partition":1"#, "invalid_string"),
        (#""partition":"p""#, "bad_request"), (#""descending":true"#, "invalid_key"),
    ])
    func `so are those of a search`(member: String, error: String) {
        for target in ["/db/_find", "/db/_explain"] {
            let answer = site.send("POST", target, #"{"selector":{},\#(member)}"#)
            #expect(answer.status == 400)
            #expect(answer.json["error"]?.string == error)
        }
    }

    @Test(arguments: [
        (#""type":true"#, 400, "invalid_string"), (#""type":null"#, 400, "invalid_string"),
        (#""type":"geo""#, 400, "invalid_index"),
        (#""name":1.5"#, 400, "invalid_string"), (#""name":"""#, 400, "invalid_empty_string"),
        (#""ddoc":true"#, 400, "invalid_string"), (#""ddoc":"""#, 400, "invalid_empty_string"),
        (#""ddoc":"_design/""#, 400, "bad_request"), (#""w":0"#, 400, "invalid_pos_integer"),
        (#""partitioned":1"#, 400, "invalid_boolean"),
        (#""partitioned":true"#, 400, "bad_request"),
        (#""partial_filter_selector":{}"#, 400, "invalid_key"),
    ])
    func `so are those of an index`(member: String, status: Int, error: String) {
        let answer = site.send("POST", "/db/_index", #"{"index":{"fields":["n"]},\#(member)}"#)
        #expect(answer.status == status)
        #expect(answer.json["error"]?.string == error)
    }

    @Test(arguments: [
        ("null", "invalid_index"), ("{}", "missing_required_key"),
        (#"{"fields":[]}"#, "invalid_index_fields"), (#"{"fields":"n"}"#, "invalid_sort_json"),
        (#"{"fields":[""]}"#, "invalid_sort_field"),
        (#"{"fields":[{"n":2}]}"#, "invalid_sort_field"),
        (#"{"fields":[{"n":"asc","m":"asc"}]}"#, "invalid_sort_field"),
        (#"{"fields":[{"n":"asc"},{"m":"desc"}]}"#, "unsupported_mixed_sort"),
        (#"{"fields":["n"],"selector":{}}"#, "invalid_key"),
        (#"{"fields":["n"],"partial_filter_selector":1}"#, "invalid_selector_json"),
        (#"{"fields":["n"],"partial_filter_selector":{"n":{"$bad":1}}}"#, "invalid_operator"),
    ])
    func `an index has fields in one direction, and perhaps a selector`(
        index: String, error: String
    ) {
        let answer = site.send("POST", "/db/_index", #"{"index":\#(index)}"#)
        #expect(answer.status == 400)
        #expect(answer.json["error"]?.string == error)
    }

    @Test(arguments: [
        ("{}", "missing_required_key"), (#"{"docids":"a"}"#, "invalid_bulk_docs"),
        (#"{"docids":[1]}"#, "invalid_index_name"),
        (#"{"docids":["a/b/c"]}"#, "invalid_index_name"),
        (#"{"docids":[],"w":"1"}"#, "invalid_pos_integer"),
        (#"{"docids":[],"v":1}"#, "invalid_key"),
    ])
    func `indexes are deleted by a list of their design documents`(body: String, error: String) {
        let answer = site.send("POST", "/db/_index/_bulk_delete", body)
        #expect(answer.status == 400)
        #expect(answer.json["error"]?.string == error)
    }

    @Test(arguments: ["limit=0", "limit=x", "skip=-1", "skip=", "limit=1;skip=x"])
    func `a page of the list of indexes has a number and a place`(query: String) {
        let answer = site.send("GET", "/db/_index?" + query)
        #expect(answer.status == 400)
        #expect(answer.json["error"] == "invalid_list_index_params")
    }

    @Test(arguments: [#""false""#, "0", "null", "[]"], ["new_edits", "all_or_nothing"])
    func `of many documents new_edits is true or false`(value: String, name: String) throws {
        let padding = String(repeating: " ", count: 200)
        let texts = [
            #"{"docs":[{"_id":"b"}],"\#(name)":\#(value)}"#,
            #"{"\#(name)":\#(padding)\#(value),"docs":[{"_id":"b"}]}"#,
        ]
        for text in texts {
            let answer = site.send("POST", "/db/_bulk_docs", text)
            #expect(answer.status == 400)
            #expect(answer.json["reason"]?.string == "`\(name)` parameter must be a boolean.")
        }
        #expect(site.send("GET", "/db/b").status == 404)
        #expect(site.send("PUT", "/db/b?new_edits=maybe", "{}").status == 400)
    }

    // MARK: - Revisions made elsewhere, tombstones

    @Test func `a revision made elsewhere may be named in the query or a header field`() {
        let query = site.send("PUT", "/db/q?new_edits=false&rev=1-abc", #"{"a":1}"#)
        #expect(query.status == 201 && query.json["rev"] == "1-abc")
        let header = site.send(
            "PUT", "/db/h?new_edits=false", #"{"a":1}"#, ["If-Match": "\"1-def\""])
        #expect(header.status == 201 && header.json["rev"] == "1-def")
        #expect(site.send("GET", "/db/q").json["_rev"] == "1-abc")
        let both = site.send("PUT", "/db/x?new_edits=false&rev=1-abc", #"{"_rev":"1-def"}"#)
        #expect(both.status == 400)
        #expect(site.send("PUT", "/db/x?new_edits=false", "{}").status == 400)
        #expect(site.send("PUT", "/db/x?new_edits=false&rev=nonsense", "{}").status == 400)
    }

    @Test func `a document may begin as a tombstone, and a missing one cannot be deleted`() {
        let put = site.send("PUT", "/db/t1", #"{"_deleted":true,"why":"import"}"#)
        #expect(put.status == 200 && put.json["rev"]?.string?.hasPrefix("1-") == true)
        let post = site.send("POST", "/db", #"{"_id":"t2","_deleted":true}"#)
        #expect(post.status == 201)
        let bulk = site.send(
            "POST", "/db/_bulk_docs",
            #"{"docs":[{"_id":"t3","_deleted":true},{"_id":"a","_deleted":true}]}"#)
        #expect(bulk.json[0]?["ok"] == true)
        // One that lives is deleted by its revision only.
        #expect(bulk.json[1]?["error"] == "conflict")
        for id in ["t1", "t2", "t3"] {
            let answer = site.send("GET", "/db/\(id)")
            #expect(answer.status == 404 && answer.json["reason"] == "deleted")
            #expect(site.send("PUT", "/db/\(id)", #"{"_deleted":true}"#).status == 409)
            #expect(site.send("DELETE", "/db/\(id)").json["reason"] == "deleted")
        }
        let feed = site.send("GET", "/db/_changes").json["results"]?.array ?? []
        #expect(feed.filter { $0["deleted"] == true }.count == 3)
        #expect(site.send("GET", "/db").json["doc_del_count"] == 3)
        for path in ["/db/never", "/db/never?rev=1-abc"] {
            let missing = site.send("DELETE", path)
            #expect(missing.status == 404 && missing.json["reason"] == "missing")
        }
        #expect(site.send("PUT", "/db/t1", "{}").json["rev"]?.string?.hasPrefix("2-") == true)
    }

    // MARK: - Options of writing, queries, tasks

    @Test func `options of writing have CouchDB's answers`() {
        let batch = site.send("PUT", "/db/o?batch=ok", #"{"n":1}"#)
        #expect(batch.status == 202)
        #expect(batch.json == ["ok": true, "id": "o"])
        // What was answered is saved.
        let stored = site.send("GET", "/db/o")
        let rev = stored.json["_rev"]?.string ?? ""
        #expect(stored.headers["ETag"] == "\"\(rev)\"")
        #expect(site.send("POST", "/db?batch=ok", "{}").status == 202)
        // Any other value is none, as in CouchDB.
        #expect(site.send("PUT", "/db/p?batch=maybe", "{}").status == 201)
        let stale = site.send("PUT", "/db/o", "{}", ["If-Match": "\"1-abc\""])
        #expect(stale.status == 409)
        let edited = site.send("PUT", "/db/o", #"{"n":2}"#, ["If-Match": "\"\(rev)\""])
        #expect(edited.status == 201)
        #expect(edited.headers["ETag"] == "\"\(edited.json["rev"]?.string ?? "")\"")
        let unchanged = site.send(
            "GET", "/db/o", "", ["If-None-Match": edited.headers["ETag"] ?? ""])
        #expect(unchanged.status == 304)
        #expect(
            site.send("DELETE", "/db/o", "", ["If-Match": edited.headers["ETag"] ?? ""]).status
                == 200)
    }

    @Test(arguments: [
        ("_all_docs", "a"), ("_design_docs", "_design/x"), ("_local_docs", "_local/y"),
    ])
    func `several queries of a list are answered together`(path: String, id: String) {
        site.send("PUT", "/db/_design/x", "{}")
        site.send("PUT", "/db/_local/y", "{}")
        let answer = site.send(
            "POST", "/db/\(path)/queries",
            #"{"queries":[{"limit":0},{"keys":["\#(id)"]},{"startkey":"\#(id)","limit":1}]}"#
        )
        #expect(answer.status == 200)
        let results = answer.json["results"]?.array ?? []
        #expect(results.map { $0["rows"]?.array?.count } == [0, 1, 1])
        #expect(results.last?["rows"]?[0]?["id"]?.string == id)
        let none = site.send("POST", "/db/\(path)/queries", "{}")
        #expect(none.status == 400)
    }

    @Test func `a compaction that runs is a task, with CouchDB's names`() {
        let reached = DispatchSemaphore(value: 0)
        let goesOn = DispatchSemaphore(value: 0)
        site.router.site.tasks.start("database_compaction", "db") { report in
            report(1, 4)
            reached.signal()
            goesOn.wait()
        }
        reached.wait()
        let tasks = site.send("GET", "/_active_tasks").json
        #expect(tasks.array?.count == 1)
        #expect(tasks[0]?["type"] == "database_compaction" && tasks[0]?["database"] == "db")
        #expect(tasks[0]?["changes_done"] == 1 && tasks[0]?["total_changes"] == 4)
        #expect(tasks[0]?["progress"] == 25)
        #expect(tasks[0]?["started_on"]?.int64 ?? 0 > 0 && tasks[0]?["pid"] != nil)
        goesOn.signal()
        #expect(site.send("POST", "/db/_compact").status == 202)
    }

    // MARK: - Local documents

    @Test func `local documents are written among others`() {
        let bulk = site.send(
            "POST", "/db/_bulk_docs", #"{"docs":[{"_id":"_local/bar","n":1},{"_id":"baz"}]}"#)
        #expect(bulk.status == 201)
        #expect(bulk.json[0] == ["ok": true, "id": "_local/bar", "rev": "0-1"])
        #expect(bulk.json[1]?["ok"] == true)
        #expect(site.send("GET", "/db/_local/bar").json["n"] == 1)
        let post = site.send("POST", "/db", #"{"_id":"_local/foo","n":2}"#)
        #expect(post.status == 201)
        #expect(post.json == ["ok": true, "id": "_local/foo", "rev": "0-1"])
        let again = site.send(
            "POST", "/db/_bulk_docs",
            #"{"docs":[{"_id":"_local/bar","_rev":"0-1","n":3},{"_id":"_local/foo"}]}"#)
        #expect(again.json[0]?["rev"] == "0-2")
        #expect(again.json[1]?["error"] == "conflict")
        let gone = site.send(
            "POST", "/db/_bulk_docs",
            #"{"docs":[{"_id":"_local/bar","_rev":"0-2","_deleted":true}]}"#)
        #expect(gone.json[0]?["rev"] == "0-0")
        #expect(site.send("GET", "/db/_local/bar").status == 404)
        // They are in no feed, and what the listener keeps for itself is out of reach.
        #expect(site.send("GET", "/db/_changes").text.contains("_local") == false)
        site.send("PUT", "/db/_security", #"{"members":{"names":["ann"]}}"#)
        let hidden = site.send(
            "POST", "/db/_bulk_docs", #"{"docs":[{"_id":"_local/_divan/security"}]}"#)
        #expect(hidden.json[0]?["error"] == "not_found")
        #expect(
            site.send("POST", "/db", #"{"_id":"_local/_divan/security","_rev":"0-1"}"#).status
                == 404)
        #expect(site.send("GET", "/db/_security").json["members"]?["names"] == ["ann"])
    }

    @Test func `what cannot be done with a local document is said in words of any language`() {
        let diff = site.send("POST", "/db/_bulk_get", #"{"docs":[{"id":"_local/x"}]}"#)
        #expect(!diff.text.contains("putLocalDocument"))
        let purge = site.send("POST", "/db/_purge", #"{"_local/x":["1-a"]}"#)
        #expect(!purge.text.contains("putLocalDocument"))
    }
}
