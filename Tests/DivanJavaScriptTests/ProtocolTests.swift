// SPDX-License-Identifier: Apache-2.0

import DivanDesign
import DivanJavaScript
import DivanTestSupport
import Testing

/// Every command of the query-server protocol, as CouchDB's own server answers it.
@Suite(.enabled(if: Engine.isHere, Engine.need), .timeLimit(.minutes(5)))
struct ProtocolTests {
    @Test func `each map function of a design document answers with the rows it emits`() throws {
        let worker = try Worker()
        #expect(try worker.ask(#"["reset",{"reduce_limit":true}]"#) == "true")
        #expect(
            try worker.add("function(doc) { emit(doc.n, null); emit([doc.n], {a: doc._id}) }")
                == "true")
        #expect(try worker.add("(doc) => { const {n} = doc; if (n > 1) emit(n) }") == "true")
        #expect(
            try worker.ask(#"["map_doc",{"_id":"a","n":1}]"#) == #"[[[1,null],[[1],{"a":"a"}]],[]]"#
        )
        #expect(
            try worker.ask(#"["map_doc",{"_id":"b","n":2}]"#)
                == #"[[[2,null],[[2],{"a":"b"}]],[[2,null]]]"#)
    }

    @Test(arguments: [
        "function(doc) { emit(1, 1) };", "function(doc) { emit(1, 1) } // what it does",
        "function named(doc) { emit(1, 1) }",
        "\n  function(doc) { one(); };\nfunction one() { emit(1, 1) }",
    ])
    func `a function may have a name, a comment, a semicolon and a neighbour`(source: String) throws
    {
        let worker = try Worker()
        #expect(try worker.add(source) == "true")
        #expect(try worker.ask(#"["map_doc",{}]"#) == "[[[1,1]]]")
    }

    @Test func `a function that throws emits nothing, is logged, and leaves the others alone`()
        throws
    {
        let worker = try Worker()
        try worker.add("function(doc) { emit(0, 0); doc.x.y }")
        try worker.add("function(doc) { emit(1, 1); log({a: 1}); log('b') }")
        let answer = try worker.answer(#"["map_doc",{"_id":"a"}]"#)
        #expect(String(decoding: answer.line, as: UTF8.self) == "[[],[[1,1]]]")
        #expect(answer.logs.count == 3)
        #expect(answer.logs[0].hasPrefix("function raised exception TypeError"))
        #expect(answer.logs[0].hasSuffix("with doc._id a"))
        #expect(answer.logs.dropFirst() == [#"{"a":1}"#, "b"])
    }

    @Test func `a function that does not compile is a compilation error`() throws {
        let worker = try Worker()
        #expect(worker.error(Worker.adding("function(doc) {"))?.name == "compilation_error")
        #expect(
            worker.error(Worker.adding("3"))?.reason
                == "Expression does not eval to a function. (3)")
        #expect(try worker.ask(#"["map_doc",{}]"#) == "[]")
    }

    @Test func `fatal_error ends the command`() throws {
        let worker = try Worker()
        try worker.add("function(doc) { throw 'fatal_error' }")
        #expect(worker.error(#"["map_doc",{}]"#)?.name == "map_runtime_error")
        #expect(try worker.ask(#"["reset"]"#) == "true")
    }

    @Test func `an error that is fatal is told, and ends the process`() throws {
        let worker = try Worker()
        try worker.add("function(doc) { throw ['fatal', 'mine', 'a reason'] }")
        let error = worker.error(#"["map_doc",{}]"#)
        #expect(error?.name == "mine" && error?.reason == "a reason")
        #expect(worker.error(#"["reset"]"#)?.code == .workerFailed)
    }

    @Test func `reduce and rereduce answer for each function`() throws {
        let worker = try Worker()
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

    @Test func `a reduction that does not shrink is refused when there is a limit`() throws {
        let worker = try Worker()
        let reduce = #"["reduce",["function(k,v){return 'x'.repeat(5000)}"],[]]"#
        #expect(try worker.ask(#"["reset",{"reduce_limit":true}]"#) == "true")
        #expect(worker.error(reduce)?.name == "reduce_overflow_error")
        #expect(try worker.ask(#"["reset",{"reduce_limit":"log"}]"#) == "true")
        #expect(try worker.answer(reduce).logs.count == 1)
        #expect(try worker.ask(#"["reset",{}]"#) == "true")
        #expect(try worker.answer(reduce).logs.isEmpty)
    }

    @Test func `views require the modules of views.lib`() throws {
        let worker = try Worker()
        try worker.ask(
            #"["add_lib",{"a":"exports.n = require('./b').n + 1","b":"exports.n = require('views/lib/c/d').n","c":{"d":"module.exports = {n: 1}"}}]"#
        )
        try worker.add("function(doc) { emit(require('views/lib/a').n, null) }")
        #expect(try worker.ask(#"["map_doc",{}]"#) == "[[[2,null]]]")
    }

    @Test func `an unknown command is fatal`() throws {
        #expect(try Worker().error(#"["nonsense"]"#)?.name == "unknown_command")
        #expect(
            try Worker().error(#"["ddoc","_design/none",["shows","a"],[]]"#)?.name
                == "query_protocol_error")
    }

    @Test func `a line that is no command is an error, and the next one is answered`() throws {
        let worker = try Worker()
        for line in ["", "{", "null", "[\"ddoc\"", "\"\"", "[1]\u{0}"] {
            let other = try Worker()
            #expect(other.error(line) != nil)
        }
        #expect(try worker.ask(#"["reset"]"#) == "true")
    }
}
