// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanDesign
import DivanJavaScript
import DivanTestSupport
import Testing

/// Every command of the query-server protocol, as CouchDB's own server answers it.
@Suite(.enabled(if: Engine.isHere, Engine.need), .timeLimit(.minutes(5)))
struct ProtocolTests {
    @Test(arguments: Engine.here)
    func `each map function of a design document answers with the rows it emits`(
        engine: JavaScriptEngine
    ) throws {
        let worker = try Worker(engine: engine)
        #expect(try worker.ask(#"["reset",{"reduce_limit":true}]"#) == "true")
        #expect(
            try worker.add("function(doc) { emit(doc.n, null); emit([doc.n], {a: doc._id}) }")
                == "true")
        #expect(try worker.add("function(doc) { var n = doc.n; if (n > 1) emit(n) }") == "true")
        #expect(
            try worker.ask(#"["map_doc",{"_id":"a","n":1}]"#) == #"[[[1,null],[[1],{"a":"a"}]],[]]"#
        )
        #expect(
            try worker.ask(#"["map_doc",{"_id":"b","n":2}]"#)
                == #"[[[2,null],[[2],{"a":"b"}]],[[2,null]]]"#)
    }

    @Test(
        arguments: Engine.here,
        [
            "function(doc) { emit(1, 1) };", "function(doc) { emit(1, 1) } // what it does",
            "function named(doc) { emit(1, 1) }",
            "\n  function(doc) { one(); };\nfunction one() { emit(1, 1) }",
        ])
    func `a function may have a name, a comment, a semicolon and a neighbour`(
        engine: JavaScriptEngine, source: String
    ) throws {
        let worker = try Worker(engine: engine)
        #expect(try worker.add(source) == "true")
        #expect(try worker.ask(#"["map_doc",{}]"#) == "[[[1,1]]]")
    }

    @Test(arguments: Engine.here)
    func `a function that throws emits nothing, is logged, and leaves the others alone`(
        engine: JavaScriptEngine
    )
        throws
    {
        let worker = try Worker(engine: engine)
        try worker.add("function(doc) { emit(0, 0); doc.x.y }")
        try worker.add("function(doc) { emit(1, 1); log({a: 1}); log('b') }")
        let answer = try worker.answer(#"["map_doc",{"_id":"a"}]"#)
        #expect(String(decoding: answer.line, as: UTF8.self) == "[[],[[1,1]]]")
        #expect(answer.logs.count == 3)
        #expect(answer.logs[0].hasPrefix("function raised exception TypeError"))
        #expect(answer.logs[0].hasSuffix("with doc._id a"))
        #expect(answer.logs.dropFirst() == [#"{"a":1}"#, "b"])
    }

    @Test(arguments: Engine.here)
    func `a function that does not compile is a compilation error`(engine: JavaScriptEngine) throws
    {
        let worker = try Worker(engine: engine)
        #expect(worker.error(Worker.adding("function(doc) {"))?.name == "compilation_error")
        #expect(
            worker.error(Worker.adding("3"))?.reason
                == "Expression does not eval to a function. (3)")
        #expect(try worker.ask(#"["map_doc",{}]"#) == "[]")
    }

    @Test(
        arguments: Engine.here,
        [
            "function(doc) {}) } nonsense ( (",
            "function(doc) { emit(typeof leak); leak = 1 }) }; var leak; function z() { return (1",
            "function(doc) { emit(typeof leak); leak = 1 }) }, function() { return (1",
            "function(doc) { emit(1) }) } catch (e) { return (1",
        ])
    func `a text that ends what it stands in does not compile`(
        engine: JavaScriptEngine, source: String
    ) throws {
        let error = try Worker(engine: engine).error(Worker.adding(source))
        #expect(error?.name == "compilation_error")
    }

    @Test(arguments: Engine.here)
    func `fatal_error ends the command`(engine: JavaScriptEngine) throws {
        let worker = try Worker(engine: engine)
        try worker.add("function(doc) { throw 'fatal_error' }")
        #expect(worker.error(#"["map_doc",{}]"#)?.name == "map_runtime_error")
        #expect(try worker.ask(#"["reset"]"#) == "true")
    }

    @Test(arguments: Engine.here)
    func `an error that is fatal is told, and ends the process`(engine: JavaScriptEngine) throws {
        let worker = try Worker(engine: engine)
        try worker.add("function(doc) { throw ['fatal', 'mine', 'a reason'] }")
        let error = worker.error(#"["map_doc",{}]"#)
        #expect(error?.name == "mine" && error?.reason == "a reason")
        #expect(worker.error(#"["reset"]"#)?.code == .workerFailed)
    }

    @Test(arguments: Engine.here)
    func `reduce and rereduce answer for each function`(engine: JavaScriptEngine) throws {
        let worker = try Worker(engine: engine)
        let functions =
            #"["function(k,v,r){return r ? v : sum(v)}","function(k,v,r){return [k,r]}"]"#
        #expect(
            try worker.ask(#"["reduce",\#(functions),[[["x","a"],1],[["y","b"],2]]]"#)
                == #"[true,[3,[[["x","a"],["y","b"]],false]]]"#)
        #expect(
            try worker.ask(#"["rereduce",\#(functions),[1,2]]"#) == "[true,[[1,2],[null,true]]]")
        #expect(
            try worker.ask(#"["reduce",["function(){}","function(){throw 1}"],[]]"#)
                == "[true,[null,null]]")
        #expect(worker.error(#"["reduce",["function("],[]]"#)?.name == "compilation_error")
    }

    @Test(arguments: Engine.here)
    func `a reduction that does not shrink is refused when there is a limit`(
        engine: JavaScriptEngine
    ) throws {
        let worker = try Worker(engine: engine)
        let reduce = #"["reduce",["function(k,v){return 'x'.repeat(5000)}"],[]]"#
        #expect(try worker.ask(#"["reset",{"reduce_limit":true}]"#) == "true")
        #expect(worker.error(reduce)?.name == "reduce_overflow_error")
        #expect(try worker.ask(#"["reset",{"reduce_limit":"log"}]"#) == "true")
        #expect(try worker.answer(reduce).logs.count == 1)
        #expect(try worker.ask(#"["reset",{}]"#) == "true")
        #expect(try worker.answer(reduce).logs.isEmpty)
    }

    @Test(arguments: Engine.here)
    func `views require the modules of views.lib`(engine: JavaScriptEngine) throws {
        let worker = try Worker(engine: engine)
        try worker.ask(
            #"["add_lib",{"a":"exports.n = require('./b').n + 1","b":"exports.n = require('views/lib/c/d').n","c":{"d":"module.exports = {n: 1}"}}]"#
        )
        try worker.add("function(doc) { emit(require('views/lib/a').n, null) }")
        #expect(try worker.ask(#"["map_doc",{}]"#) == "[[[2,null]]]")
    }

    @Test(arguments: Engine.here)
    func `an unknown command is fatal`(engine: JavaScriptEngine) throws {
        #expect(try Worker(engine: engine).error(#"["nonsense"]"#)?.name == "unknown_command")
        #expect(
            try Worker(engine: engine).error(#"["ddoc","_design/none",["shows","a"],[]]"#)?.name
                == "query_protocol_error")
    }

    @Test(arguments: Engine.here)
    func `a line that is no command is an error, and the next one is answered`(
        engine: JavaScriptEngine
    ) throws {
        let worker = try Worker(engine: engine)
        for line in ["", "{", "null", "[\"ddoc\"", "\"\"", "[1]\u{0}"] {
            let other = try Worker(engine: engine)
            #expect(other.error(line) != nil)
        }
        #expect(try worker.ask(#"["reset"]"#) == "true")
    }

    @Test(arguments: Engine.here)
    func `characters beyond the basic plane go in and come out whole`(engine: JavaScriptEngine)
        throws
    {
        let worker = try Worker(engine: engine)
        try worker.add(
            "function(doc) { emit(doc._id, [doc._id.length, doc.t.slice(0, 1), '\u{1F600}']) }")
        #expect(
            try worker.ask(
                "[\"map_doc\",{\"_id\":\"a\u{1F600}\u{E9}\",\"t\":\"\u{20AC}\u{10FFFF}\"}]")
                == "[[[\"a\u{1F600}\u{E9}\",[4,\"\u{20AC}\",\"\u{1F600}\"]]]]")
        #expect(
            try worker.ask(#"["map_doc",{"_id":"\ud83d\ude00","t":"\u0000"}]"#)
                == "[[[\"\u{1F600}\",[2,\"\\u0000\",\"\u{1F600}\"]]]]")
    }

    @Test(arguments: Engine.here)
    func `half a character becomes a replacement character`(engine: JavaScriptEngine) throws {
        let worker = try Worker(engine: engine)
        try worker.add("function(doc) { emit(doc._id.slice(0, 1), doc._id.slice(1) + 'x') }")
        let answer = try worker.ask("[\"map_doc\",{\"_id\":\"\u{1F600}\"}]")
        #expect(
            try JSONParser.parse(answer) == [[["\u{FFFD}", "\u{FFFD}x"]]], "\(answer)")
    }

    @Test(arguments: Engine.here)
    func `numbers come out in their shortest form`(engine: JavaScriptEngine) throws {
        let worker = try Worker(engine: engine)
        try worker.add("function(doc) { emit([0.1, 1e21, -0, 1 / 3, 1e-7, 5e-324, 1 / 0], doc.n) }")
        #expect(
            try worker.ask(#"["map_doc",{"n":12345678901234567890}]"#)
                == "[[[[0.1,1e+21,0,0.3333333333333333,1e-7,5e-324,null],12345678901234567000]]]")
    }
}
