// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanDesign
import DivanJavaScript
import Testing

/// The functions of a design document: filters, validation, updates, shows, lists and rewriting.
@Suite(.enabled(if: Engine.isHere, Engine.need), .timeLimit(.minutes(5)))
struct DesignFunctionTests {
    private func worker(
        _ functions: KeyValuePairs<String, String>, _ engine: JavaScriptEngine
    ) throws -> Worker {
        let worker = try Worker(engine: engine)
        let members = functions.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
        try worker.learn("{\(members)}")
        return worker
    }

    /// A source as a JSON text.
    private func text(_ source: String) -> String { JSONWriter.string(.string(source)) }

    @Test(arguments: Engine.here)
    func `a filter answers for each document`(engine: JavaScriptEngine) throws {
        let filter = text(
            "function(doc, req) { return require('lib/ok').ok(doc) && req.query.all && this._id }")
        let worker = try worker(
            [
                "_id": #""_design/d""#, "filters": "{\"f\":\(filter)}",
                "lib": #"{"ok":"exports.ok = function(doc) { return doc.n > 1 }"}"#,
            ], engine)
        #expect(
            try worker.call(#"["filters","f"]"#, #"[[{"n":1},{"n":2}],{"query":{"all":1}}]"#)
                == "[true,[false,true]]")
        #expect(worker.error(Worker.calling(#"["filters","g"]"#, "[[],{}]"))?.name == "not_found")
    }

    @Test(arguments: Engine.here)
    func `a view that is used as a filter passes what it emits for`(engine: JavaScriptEngine) throws
    {
        let worker = try worker(
            ["views": #"{"v":{"map":"function(doc) { if (doc.n) emit(1) }"}}"#], engine)
        #expect(
            try worker.call(#"["views","v","map"]"#, #"[[{"n":1},{},{"n":2}]]"#)
                == "[true,[true,false,true]]")
    }

    @Test(arguments: Engine.here)
    func `a validation accepts, forbids, or asks who the user is`(engine: JavaScriptEngine) throws {
        let source = text(
            """
            function(doc, old, user, security) {
                if (!user.name) throw({unauthorized: 'log in'});
                if (old && doc.n < old.n) throw({forbidden: 'n sinks'});
                if (doc.broken) doc.a.b;
            }
            """)
        let worker = try worker(["validate_doc_update": source], engine)
        let path = #"["validate_doc_update"]"#
        #expect(try worker.call(path, #"[{"n":2},{"n":1},{"name":"a"},{}]"#) == "1")
        #expect(
            try worker.call(path, #"[{"n":0},{"n":1},{"name":"a"},{}]"#)
                == #"{"forbidden":"n sinks"}"#)
        #expect(
            try worker.call(path, #"[{"n":0},null,{"name":null},{}]"#)
                == #"{"unauthorized":"log in"}"#)
        #expect(
            worker.error(Worker.calling(path, #"[{"broken":1},null,{"name":"a"},{}]"#))?.name
                == "TypeError")
    }

    @Test(arguments: Engine.here)
    func `an update answers with a document and a response`(engine: JavaScriptEngine) throws {
        let source = text("function(doc, req) { return [{_id: req.uuid, n: 1}, 'made'] }")
        let worker = try worker(
            [
                "updates": "{\"u\":\(source),\"bad\":\"function() { return [null, 3] }\"}"
            ], engine)
        #expect(
            try worker.call(#"["updates","u"]"#, #"[null,{"uuid":"x","method":"POST"}]"#)
                == #"["up",{"_id":"x","n":1},{"body":"made"}]"#)
        #expect(
            worker.error(Worker.calling(#"["updates","u"]"#, #"[null,{"method":"GET"}]"#))?.name
                == "method_not_allowed")
        #expect(
            worker.error(Worker.calling(#"["updates","bad"]"#, #"[null,{"method":"PUT"}]"#))?.name
                == "render_error")
    }

    @Test(arguments: Engine.here)
    func `a show answers with a body, an object, or what it sent`(engine: JavaScriptEngine) throws {
        let worker = try worker(
            [
                "shows": """
                {"text":"function(doc) { return doc._id }","object":"function() { return {code: 201, json: {a: 1}} }",
                "sent":"function() { start({headers: {A: 'b'}}); send('x'); send(1); return 'y' }",
                "broken":"function(doc) { return doc.a.b }"}
                """.filter { $0 != "\n" }
            ], engine)
        let request = #"[{"_id":"i"},{"path":["d","_design","d","_show","a","i"]}]"#
        #expect(try worker.call(#"["shows","text"]"#, request) == #"["resp",{"body":"i"}]"#)
        #expect(
            try worker.call(#"["shows","object"]"#, request)
                == #"["resp",{"code":201,"json":{"a":1}}]"#)
        #expect(
            try worker.call(#"["shows","sent"]"#, request)
                == #"["resp",{"body":"x1y","headers":{"A":"b"}}]"#)
        #expect(
            worker.error(Worker.calling(#"["shows","broken"]"#, request))?.name == "render_error")
        let missing = #"[null,{"path":["d","_design","d","_show","a","i"]}]"#
        #expect(
            worker.error(Worker.calling(#"["shows","broken"]"#, missing))?.reason
                == "document not found")
    }

    /// Requests, and which type is provided for each.
    private static let requests = [
        (
            #"{"headers":{"Accept":"application/json, text/html;q=0.5"}}"#, "json",
            "application/json"
        ),
        (#"{"headers":{"Accept":"text/html"}}"#, "html", "text/html; charset=utf-8"),
        (#"{"headers":{"Accept":"x/own"}}"#, "own", "x/own"),
        (#"{"headers":{"Accept":"*/*"}}"#, "html", "text/html; charset=utf-8"),
        (#"{"headers":{},"query":{"format":"json"}}"#, "json", "application/json"),
        (#"{"headers":{}}"#, "html", "text/html; charset=utf-8"),
    ]

    @Test(arguments: Engine.here, requests)
    func `the type that a client likes best is provided`(
        engine: JavaScriptEngine, sample: (request: String, body: String, type: String)
    ) throws {
        let source = text(
            """
            function() {
                registerType('own', 'x/own');
                provides('html', function() { return 'html' });
                provides('json', function() { return 'json' });
                provides('own', function() { send('ow'); return {body: 'n'} });
            }
            """)
        let worker = try worker(["shows": "{\"s\":\(source)}"], engine)
        #expect(
            try worker.call(#"["shows","s"]"#, "[{},\(sample.request)]")
                == #"["resp",{"body":"\#(sample.body)","headers":{"Content-Type":"\#(sample.type)"}}]"#
        )
        let other = Worker.calling(#"["shows","s"]"#, #"[{},{"headers":{"Accept":"text/css"}}]"#)
        #expect(worker.error(other)?.name == "not_acceptable")
    }

    @Test(arguments: Engine.here)
    func `a list gets its rows one by one`(engine: JavaScriptEngine) throws {
        let source = text(
            """
            function(head, req) {
                start({headers: {'Content-Type': 'text/plain'}});
                send('top ' + head.total_rows);
                for (var row; row = getRow();) { log('row'); send(row.key) }
                return 'end';
            }
            """)
        let worker = try worker(
            [
                "lists": "{\"l\":\(source),\"none\":\"function() { return 'only' }\"}"
            ], engine)
        #expect(
            try worker.call(#"["lists","l"]"#, #"[{"total_rows":2},{}]"#)
                == #"["start",["top 2"],{"headers":{"Content-Type":"text/plain"}}]"#)
        #expect(try worker.answer(#"["list_row",{"key":"a"}]"#).logs == ["row"])
        #expect(try worker.ask(#"["list_row",{"key":"b"}]"#) == #"["chunks",["b"]]"#)
        #expect(try worker.ask(#"["list_end"]"#) == #"["end",["end"]]"#)
        #expect(try worker.call(#"["lists","none"]"#, "[{},{}]") == #"["start",[],{"headers":{}}]"#)
        #expect(try worker.ask(#"["list_end"]"#) == #"["end",["only"]]"#)
    }

    @Test(arguments: Engine.here)
    func `a rewriting answers with a path, an object, or nothing`(engine: JavaScriptEngine) throws {
        let source = text(
            "function(req) { return req.n === 1 ? 'a/b' : req.n === 2 ? {path: 'c', query: {x: 1}} : null }"
        )
        let worker = try worker(["rewrites": source], engine)
        #expect(
            try worker.call(#"["rewrites"]"#, #"[{"n":1,"method":"GET"}]"#)
                == #"["ok",{"path":"a/b","method":"GET"}]"#)
        #expect(
            try worker.call(#"["rewrites"]"#, #"[{"n":2}]"#)
                == #"["ok",{"path":"c","query":{"x":1}}]"#)
        #expect(try worker.call(#"["rewrites"]"#, #"[{"n":3}]"#) == #"["no_dispatch_rule"]"#)
    }

    /// Paths that lead to no module, and the errors.
    private static let paths = [
        ("no/such", "invalid_require_path"), ("lib", "invalid_require_path"),
        ("../../../x", "invalid_require_path"),
        ("./a", "invalid_require_path"), ("lib/broken", "compilation_error"),
        ("lib/__proto__", "invalid_require_path"),
    ]

    @Test(arguments: Engine.here, paths)
    func `a module that is not there or does not run is an error`(
        engine: JavaScriptEngine, sample: (path: String, name: String)
    ) throws {
        let source = text("function() { return require('\(sample.path)') }")
        let worker = try worker(
            ["filters": "{\"f\":\(source)}", "lib": #"{"broken":"x.y.z"}"#], engine)
        #expect(worker.error(Worker.calling(#"["filters","f"]"#, "[[{}],{}]"))?.name == sample.name)
    }

    @Test(arguments: Engine.here)
    func `modules may require each other`(engine: JavaScriptEngine) throws {
        let worker = try worker(
            [
                "filters":
                    #"{"f":"function() { return require('lib/a').own && require('lib/a').of_b === undefined }"}"#,
                "lib":
                    #"{"a":"exports.own = 1; exports.of_b = require('./b').of_a","b":"exports.of_a = require('./a').later"}"#,
            ], engine)
        #expect(try worker.call(#"["filters","f"]"#, "[[{}],{}]") == "[true,[true]]")
    }
}
