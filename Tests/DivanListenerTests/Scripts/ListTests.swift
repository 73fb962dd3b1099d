// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import DivanJavaScript
import DivanTestSupport
import Testing

@testable import DivanListener

/// `_list`: what a function makes of the rows of a view.
@Suite(.enabled(if: ScriptEngine.isHere, ScriptEngine.need), .timeLimit(.minutes(5)))
struct ListTests {
    private static let views: JSONValue = [
        "byN": ["map": "function(doc) { emit(doc.n, doc.name) }"],
        "sum": [
            "map": "function(doc) { emit([doc.n % 2, doc.n], doc.n) }", "reduce": "_sum",
        ],
    ]

    private static let lists: JSONObject = [
        "all": """
        function(head, req) {
            start({headers: {'Content-Type': 'text/plain', 'X-A': 'b'}});
            send(toJSON(head) + '|');
            for (var row; row = getRow();) send(toJSON(row) + '|');
            return 'end';
        }
        """,
        "keys": """
        function(head, req) {
            var keys = [], row;
            while (row = getRow()) keys.push(row.key);
            return toJSON(keys);
        }
        """,
        "request":
            "function(head, req) { return toJSON({body: req.body, query: req.query, id: req.id}) }",
        "early": "function() { var row = getRow(); return 'first ' + row.key }",
        "plain": "function() { return 'no row' }",
        "none": "function() { start({code: 201, headers: {'X-A': 'b'}}) }",
        "object": "function() { return {a: 1} }",
        "late": """
        function() {
            getRow();
            start({code: 299, headers: {'X-A': 'late'}});
            send('x');
            getRow();
            start({code: 200});
            send('y');
        }
        """,
        "before": "function() { throw {error: 'forbidden', reason: 'no'} }",
        "bug": "function() { null.x }",
        "first": "function() { getRow(); throw {error: 'not_found', reason: 'none'} }",
        "second": "function() { send('sent'); getRow(); send('more'); getRow(); null.x }",
        "body": "function() { send('sent'); getRow(); throw ['error', 'x', {body: 'own'}] }",
        "loop": "function() { getRow(); while (true) {} }",
        "loopSent": "function() { send('sent'); getRow(); while (true) {} }",
        "head": "function() { start({headers: {'Content-Length': '1'}}); getRow(); send('x') }",
        "provided": """
        function() {
            provides('html', function() { send('<p>'); while (getRow()) send('.'); return '</p>' });
            provides('json', function() { var n = 0; while (getRow()) n++; return toJSON(n) });
        }
        """,
        "bad": "function( {",
        "long": """
        function() {
            var row;
            while (row = getRow()) send(row.key + ':' + 'x'.repeat(2500) + '\\n');
        }
        """,
    ]

    private func site(
        _ count: Int = 4, engine: JavaScriptEngine = .javaScriptCore,
        limits: JavaScriptLimits = JavaScriptLimits(),
        _ edit: (inout ListenerOptions) -> Void = { _ in }
    ) throws -> ScriptSite {
        let site = try ScriptSite(
            ["views": Self.views, "lists": .object(Self.lists)], engine: engine, limits: limits,
            edit
        )
        try site.fill(count)
        return site
    }

    @Test(arguments: ScriptEngine.here)
    func `a list gets the head and each row of a view`(engine: JavaScriptEngine) throws {
        let site = try site(2, engine: engine)
        let answer = site.get("_list/all/byN?limit=2")
        #expect(answer.status == 200)
        #expect(
            answer.text == #"{"total_rows":2,"offset":0}|{"id":"d0","key":0,"value":"N0"}|"#
                + #"{"id":"d1","key":1,"value":"N1"}|end"#)
        #expect(answer.headers["Content-Type"] == "text/plain")
        #expect(answer.headers["X-A"] == "b")
        #expect(answer.headers["Content-Security-Policy"] == "sandbox")
        #expect(answer.headers["ETag"] == nil)
        #expect(
            site.get("_list/all/byN?startkey=9").text == #"{"total_rows":2,"offset":2}|end"#)
    }

    @Test func `the parameters of a view choose the rows`() throws {
        let site = try site(5)
        func keys(_ query: String) -> JSONValue { site.get("_list/keys/byN" + query).json }
        #expect(keys("") == [0, 1, 2, 3, 4])
        #expect(keys("?descending=true&limit=2&skip=1") == [3, 2])
        #expect(keys("?startkey=1&endkey=3&inclusive_end=false") == [1, 2])
        #expect(keys("?keys=%5B3,1%5D") == [3, 1])
        #expect(keys("?key=2&other=x") == [2])
        #expect(
            site.get("_list/all/byN?key=1&include_docs=true").text.contains(#""doc":{"_id":"d1""#))
        let bad = site.get("_list/keys/byN?group=true")
        #expect(bad.status == 400)
        #expect(bad.json["error"] == "query_parse_error")
        #expect(site.get("_list/keys/byN?startkey=%5B").status == 400)
    }

    @Test(arguments: ScriptEngine.here)
    func `a node tells which engine runs its scripts`(engine: JavaScriptEngine) throws {
        let versions = try site(0, engine: engine).site.send("GET", "/_node/_local/_versions")
        #expect(versions.json["javascript_engine"] == ["name": .string(engine.rawValue)])
    }

    @Test func `keys and other parameters may stand in the body of a POST`() throws {
        let site = try site(5)
        let json: HTTPHeaders = ["Content-Type": "application/json"]
        #expect(site.send("POST", "_list/keys/byN", #"{"keys":[4,0]}"#, json).json == [4, 0])
        #expect(
            site.send("POST", "_list/keys/byN", #"{"startkey":1,"limit":3}"#, json).json
                == [1, 2, 3])
        // Those of the query count before them.
        #expect(
            site.send("POST", "_list/keys/byN?limit=1", #"{"keys":[4,0],"limit":2}"#, json).json
                == [4])
        let request = site.send("POST", "_list/request/byN?a=b", #"{"keys":[1]}"#, json).json
        #expect(request == ["body": ["keys": [1]], "query": ["a": "b"], "id": .null])
        let form = site.send(
            "POST", "_list/keys/byN", "a=b", ["Content-Type": "application/x-www-form-urlencoded"])
        #expect(form.status == 415)
        #expect(site.send("POST", "_list/keys/byN", "[", json).status == 400)
    }

    @Test func `a list gets the rows of a reduced view`() throws {
        let site = try site(4)
        #expect(site.get("_list/all/sum").text == #"{}|{"key":null,"value":6}|end"#)
        #expect(
            site.get("_list/all/sum?group_level=1").text
                == #"{}|{"key":[0],"value":2}|{"key":[1],"value":4}|end"#)
        #expect(site.get("_list/keys/sum?group=true").json == [[0, 0], [0, 2], [1, 1], [1, 3]])
        #expect(site.get("_list/keys/sum?reduce=false&limit=1").json == [[0, 0]])
        #expect(site.get("_list/keys/sum?keys=%5B%5D").status == 400)
    }

    @Test func `a list gets the documents of the database`() throws {
        let site = try site(1)
        #expect(
            site.get("_list/keys/_all_docs").json == ["_design/d", "d0"])
        let some = site.get("_list/all/_all_docs?keys=%5B%22d0%22,%22zz%22%5D").text
        #expect(
            some.hasPrefix(
                #"{"total_rows":2,"offset":null}|{"id":"d0","key":"d0","value":{"rev":"1-"#))
        #expect(some.hasSuffix(#"|{"id":"error","key":"zz","value":"not_found"}|end"#))
    }

    @Test func `a list may be of another design document than the view`() throws {
        let site = try site(2)
        try site.add(
            ["views": ["v": ["map": "function(doc) { emit('other') }"]]], "_design/o")
        #expect(site.get("_list/keys/o/v").json == ["other", "other"])
        #expect(site.get("_list/keys/o/_all_docs").json.array?.count == 4)
        #expect(site.get("_list/keys/zz/v").status == 404)
        #expect(site.get("_list/keys/v").json["reason"] == "missing_named_view")
        #expect(site.get("_list/zz/byN").json["reason"] == "missing json key: zz")
        for path in ["_list", "_list/keys", "_list/keys/a/b/c"] {
            let answer = site.get(path)
            #expect(answer.status == 404, "\(path)")
            #expect(answer.json["error"] == "list_error", "\(path)")
        }
        let put = site.send("PUT", "_list/keys/byN")
        #expect(put.status == 405)
        #expect(put.json["error"] == "method_not_allowed")
    }

    @Test func `a list may end before the rows do`() throws {
        let site = try site(4)
        #expect(site.get("_list/early/byN").text == "first 0")
        #expect(site.get("_list/plain/byN").text == "no row")
        #expect(site.get("_list/plain/byN").headers["Content-Type"] == "application/json")
        #expect(site.get("_list/object/byN").text == #"{"a":1}"#)
        // The process that ran it serves the next request.
        #expect(site.get("_list/keys/byN").json == [0, 1, 2, 3])
    }

    @Test func `the head is what was said before the first text`() throws {
        let site = try site(2)
        let late = site.get("_list/late/byN")
        #expect(late.status == 299)
        #expect(late.headers["X-A"] == "late")
        #expect(late.text == "xy")
        let none = site.get("_list/none/byN")
        #expect(none.status == 201)
        #expect(none.headers["X-A"] == "b")
        #expect(none.text.isEmpty)
    }

    @Test func `the client's Accept chooses what is provided`() throws {
        let site = try site(2)
        let html = site.get("_list/provided/byN", ["Accept": "text/html"])
        #expect(html.text == "<p>..</p>")
        #expect(html.headers["Content-Type"] == "text/html; charset=utf-8")
        #expect(site.get("_list/provided/byN?format=json").text == "2")
        #expect(site.get("_list/provided/byN", ["Accept": "image/png"]).status == 406)
    }

    @Test func `an error before the first row is an answer of its own`() throws {
        let site = try site()
        let before = site.get("_list/before/byN")
        #expect(before.status == 403)
        #expect(before.json == ["error": "forbidden", "reason": "no"])
        #expect(site.get("_list/bug/byN").json["error"] == "render_error")
        #expect(site.get("_list/bad/byN").json["error"] == "compilation_error")
    }

    @Test func `an error after the first row stands at the end of the answer`() throws {
        let site = try site()
        let first = site.get("_list/first/byN")
        #expect(first.status == 404)
        #expect(first.text == "\n{\"code\":404,\"error\":\"not_found\",\"reason\":\"none\"}\n")
        let second = site.get("_list/second/byN")
        #expect(second.status == 200)
        #expect(second.text.hasPrefix("sentmore\n{\"code\":500,\"error\":\"render_error\""))
        #expect(second.text.hasSuffix("}\n"))
        #expect(site.get("_list/body/byN").text == "sentown")
        // The process that ran them serves the next request.
        #expect(site.get("_list/keys/byN").json == [0, 1, 2, 3])
    }

    @Test func `a list that loops is ended, and the next one runs`() throws {
        var limits = JavaScriptLimits()
        limits.time = .seconds(1)
        let site = try site(limits: limits)
        let answer = site.get("_list/loop/byN")
        #expect(answer.status == 500)
        #expect(answer.json["error"] == "os_process_error")
        // On a busy machine a function that does end may run out of its time, too, and is asked again.
        eventually {
            let sent = site.get("_list/loopSent/byN")
            return sent.status == 200
                && sent.text.hasPrefix("sent\n{\"code\":500,\"error\":\"os_process_error\"")
        }
        eventually { site.get("_list/keys/byN").json == [0, 1, 2, 3] }
    }

    @Test func `a head that would be no answer is refused, and the process goes on`() throws {
        let site = try site()
        for _ in 0..<3 {
            let answer = site.get("_list/head/byN")
            #expect(answer.status == 500)
            #expect(answer.json["error"] == "external_response_error")
            #expect(site.get("_list/keys/byN").json == [0, 1, 2, 3])
        }
    }

    @Test func `more rows than a page has go through, and a long answer leaves memory`() throws {
        // Each is asked for by itself, and a list has a minute for all.
        let site = try site(1_100)
        #expect(site.get("_list/keys/byN").json.array?.count == 1_100)
        let long = site.get("_list/long/byN")
        #expect(long.bytes.count > 2_500_000)
        #expect(long.text.hasSuffix("\n1099:" + String(repeating: "x", count: 2_500) + "\n"))
        #expect(site.get("_list/keys/_all_docs").json.array?.count == 1_101)
    }

    @Test func `a list shows no document that the user may not read`() throws {
        let site = try site(4) { $0.authorization.reading = { $2.id != "d1" } }
        #expect(
            site.get("_list/all/byN?limit=2").text
                == #"{"total_rows":null,"offset":null}|{"id":"d0","key":0,"value":"N0"}|"#
                + #"{"id":"d2","key":2,"value":"N2"}|end"#)
        #expect(site.get("_list/all/sum").status == 403)
        #expect(
            site.get("_list/keys/_all_docs").json == ["_design/d", "d0", "d2", "d3"])
    }

    @Test func `lists at the same time have processes of their own`() async throws {
        let site = try site(300)
        await withTaskGroup(of: Int?.self) { group in
            for _ in 0..<8 {
                group.addTask { site.get("_list/keys/byN").json.array?.count }
            }
            for await count in group { #expect(count == 300) }
        }
    }
}
