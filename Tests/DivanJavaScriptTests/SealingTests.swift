// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanDesign
import DivanJavaScript
import DivanTestSupport
import Foundation
import Testing

/// What a script leaves behind, and what it can reach: nothing.
@Suite(.enabled(if: Engine.isHere, Engine.need), .timeLimit(.minutes(5)))
struct SealingTests {
    /// What a second call sees of the first.
    private func second(_ source: String, _ engine: JavaScriptEngine) throws -> String {
        let worker = try Worker(engine: engine)
        try worker.add(source)
        try worker.ask(#"["map_doc",{"_id":"a","is_first":true}]"#)
        return try worker.ask(#"["map_doc",{"_id":"b"}]"#)
    }

    /// Scripts that find out whether another call was before.
    private static let leaks = [
        "function(doc) { if (doc.is_first) leak = 1; emit(typeof leak, 1) }",
        "function(doc) { if (doc.is_first) this.leak = 1; emit(typeof leak, 1) }",
        "function(doc) { if (doc.is_first) globalThis.leak = 1; emit(typeof globalThis.leak, 1) }",
        "function(doc) { if (doc.is_first) try { Object.defineProperty(globalThis, 'leak', {value: 1}) } catch (e) {}; emit(typeof leak, 1) }",
        "function(doc) { if (doc.is_first) Array.prototype.leak = 1; emit(typeof [].leak, 1) }",
        "function(doc) { if (doc.is_first) ({}).__proto__.leak = 1; emit(typeof ({}).leak, 1) }",
        "function(doc) { if (doc.is_first) emit.leak = 1; emit(typeof emit.leak, 1) }",
        "function(doc) { if (doc.is_first) JSON.leak = Math.leak = 1; emit(typeof (JSON.leak || Math.leak), 1) }",
        "function(doc) { if (doc.is_first) Object.setPrototypeOf(globalThis, {leak: 1}); emit(typeof leak, 1) }",
        "(function() { var leak; return function(doc) { emit(typeof leak, 1); leak = 1 } })()",
        "function f(doc) { emit(typeof f.leak, 1); f.leak = 1 }",
        "function(doc) { if (doc.is_first) /a(b)/.test('ab'); emit(typeof (RegExp.$1 || RegExp.lastMatch || RegExp.input || undefined), 1) }",
        "function(doc) { var f = ({}).hasOwnProperty; emit(typeof f.leak, 1); f.leak = 1 }",
        "function(doc) { var f = [].toString; emit(typeof f.leak, 1); f.leak = 1 }",
        "function(doc) { try { Object.preventExtensions(Object.getPrototypeOf(Object.getPrototypeOf(globalThis))) } catch (e) {}; emit(typeof leak, 1); leak = 1 }",
        "function(doc) { emit(typeof Array.prototype[0], 1); try { Array.prototype.push(1) } catch (e) {} }",
        "function(doc) { emit(typeof Object.getOwnPropertyDescriptor(globalThis, 'leak'), 1); try { Object.defineProperty(globalThis, 'leak', {value: 1}) } catch (e) {} }",
        "function(doc) { emit(typeof (Object.getPrototypeOf(globalThis) || {}).leak, 1); try { Object.setPrototypeOf(globalThis, {leak: 1}) } catch (e) {} }",
    ]

    @Test(arguments: Engine.here, leaks)
    func `nothing passes from one document to the next`(engine: JavaScriptEngine, source: String)
        throws
    {
        #expect(try second(source, engine) == #"[[["undefined",1]]]"#)
    }

    @Test(arguments: [
        "function(doc) { if (doc.is_first) Object.getPrototypeOf(function*() {}()).leak = 1; emit(typeof function*() {}().leak, 1) }",
        "function(doc) { if (doc.is_first) (async function() { await 1; leak = 1; emit(2, 2) })(); emit(typeof leak, 1) }",
        "(doc) => { emit(typeof arguments.callee.leak, 1); arguments.callee.leak = 1 }",
    ])
    func `nothing passes by what Duktape does not have`(source: String) throws {
        #expect(try second(source, .javaScriptCore) == #"[[["undefined",1]]]"#)
    }

    @Test(arguments: Engine.here)
    func `the time of a date that all share cannot be set`(engine: JavaScriptEngine) throws {
        let source =
            "function(doc) { var t = 0; try { t = Date.prototype.getTime() } catch (e) {} emit(t > 0, 1); try { Date.prototype.setTime(1) } catch (e) {} }"
        #expect(try second(source, engine) == "[[[false,1]]]")
    }

    @Test(arguments: Engine.here)
    func `all that scripts reach is frozen`(engine: JavaScriptEngine) throws {
        let worker = try Worker(engine: engine)
        let syntaxes =
            engine == .duktape
            ? "function(){}"
            : "function*(){}, async function(){}, async function*(){}, function(){}, [][Symbol.iterator]()"
        // The prototype of JavaScriptCore's global object is what keeps variables with the call.
        let walk = """
            function(doc) {
                var global = Object.getPrototypeOf(globalThis), seen = global ? [Object.getPrototypeOf(global)] : [], open = [];
                function visit(value, name) {
                    if (value === null || typeof value !== 'object' && typeof value !== 'function' || seen.indexOf(value) >= 0) return;
                    seen.push(value);
                    if (!Object.isFrozen(value)) open.push(name);
                    todo.push([Object.getPrototypeOf(value), name + '.__proto__']);
                    Reflect.ownKeys(value).forEach(function(key) {
                        var property = Object.getOwnPropertyDescriptor(value, key), at = name + '.' + String(key);
                        // Those of a proxy, which are its target's.
                        if (!property) { todo.push([value[key], at]); return }
                        todo.push([property.value, at], [property.get, at + '<get>'], [property.set, at + '<set>']);
                        try { if (property.get) todo.push([property.get.call(value), at]) } catch (e) {}
                    });
                }
                var todo = [[globalThis, 'global']];
                [\(syntaxes)].forEach(function(one) { todo.push([Object.getPrototypeOf(one), String(one)]) });
                for (var next; next = todo.pop();) visit(next[0], next[1]);
                emit(seen.length > 300, open);
            }
            """
        try worker.add(walk)
        #expect(try worker.ask(#"["map_doc",{}]"#) == "[[[true,[]]]]")
    }

    @Test(arguments: Engine.here)
    func `a filter has a request of its own for each document`(engine: JavaScriptEngine) throws {
        let worker = try Worker(engine: engine)
        try worker.learn(
            #"{"filters":{"f":"function(doc, req) { req.n = (req.n || 0) + 1; return req.n > 1 }"}}"#
        )
        #expect(
            try worker.ask(#"["ddoc","_design/d",["filters","f"],[[{},{},{}],{}]]"#)
                == "[true,[false,false,false]]")
    }

    @Test(arguments: Engine.here)
    func `no function but a list reads what comes next`(engine: JavaScriptEngine) throws {
        let worker = try Worker(engine: engine)
        try worker.add(
            "function(doc) { try { start({}); getRow() } catch(e) {} emit(doc._id, 1) }")
        for id in ["a", "b", "c"] {
            #expect(try worker.ask(#"["map_doc",{"_id":"\#(id)"}]"#) == #"[[["\#(id)",1]]]"#)
        }
    }

    @Test(arguments: Engine.here)
    func `a validation cannot make up another answer`(engine: JavaScriptEngine) throws {
        let worker = try Worker(engine: engine)
        try worker.learn(
            #"{"validate_doc_update":"function() { throw {toJSON: function() { return ['log', 'x'] }} }"}"#
        )
        let error = worker.error(#"["ddoc","_design/d",["validate_doc_update"],[{},null,{},{}]]"#)
        #expect(error?.code == .script && error?.name == "unnamed_error")
    }

    @Test(arguments: Engine.here)
    func `a library that takes the place of another is used`(engine: JavaScriptEngine) throws {
        let worker = try Worker(engine: engine)
        try worker.ask(#"["add_lib",{"m":"exports.n = 1"}]"#)
        try worker.add("function(doc) { emit(require('views/lib/m').n, 1) }")
        #expect(try worker.ask(#"["map_doc",{}]"#) == "[[[1,1]]]")
        try worker.ask(#"["add_lib",{"m":"exports.n = 2"}]"#)
        #expect(try worker.ask(#"["map_doc",{}]"#) == "[[[2,1]]]")
    }

    @Test(arguments: Engine.here)
    func `a module is made anew for each document`(engine: JavaScriptEngine) throws {
        let worker = try Worker(engine: engine)
        try worker.ask(#"["add_lib",{"m":"var n = 0; exports.next = function() { return ++n }"}]"#)
        try worker.add(
            "function(doc) { require('views/lib/m').next(); emit(require('views/lib/m').next(), 1) }"
        )
        #expect(try worker.ask(#"["map_doc",{}]"#) == "[[[2,1]]]")
        #expect(try worker.ask(#"["map_doc",{}]"#) == "[[[2,1]]]")
    }

    @Test(arguments: Engine.here)
    func `functions do not change each other's documents`(engine: JavaScriptEngine) throws {
        let worker = try Worker(engine: engine)
        try worker.add("function(doc) { doc.n = 2; doc.a.push(1); emit(doc.n, doc.a) }")
        try worker.add("function(doc) { emit(doc.n, doc.a) }")
        #expect(try worker.ask(#"["map_doc",{"n":1,"a":[]}]"#) == "[[[2,[1]]],[[1,[]]]]")
        let reduce =
            #"["reduce",["function(k,v){v[0].push(1);return v}","function(k,v){return v}"],[[null,[]]]]"#
        #expect(try worker.ask(reduce) == "[true,[[[1]],[[]]]]")
    }

    @Test(arguments: Engine.here)
    func `a design document does not change, and does not see others`(engine: JavaScriptEngine)
        throws
    {
        let worker = try Worker(engine: engine)
        let show =
            #"{"shows":{"s":"function() { this.n = (this.n || 0) + 1; leak = 1; return String(this.n) + typeof globalThis.x }"}}"#
        try worker.learn(show)
        try worker.ask(#"["ddoc","new","_design/e",\#(show)]"#)
        for id in ["_design/d", "_design/d", "_design/e"] {
            #expect(
                try worker.ask(#"["ddoc","\#(id)",["shows","s"],[{},{}]]"#)
                    == #"["resp",{"body":"undefinedundefined"}]"#)
        }
    }

    @Test(arguments: Engine.here)
    func `objects of a script's own may have any member`(engine: JavaScriptEngine) throws {
        let worker = try Worker(engine: engine)
        try worker.add(
            """
            function(doc) {
                function Point() {}
                Point.prototype.toString = function() { return 'point' };
                Point.prototype.constructor = Point;
                var own = {}; own.hasOwnProperty = 1; own.valueOf = 2; own.__proto__ = null;
                var error = new Error('a'); error.name = 'Mine'; error.message = 'b';
                emit(String(new Point()), [own.hasOwnProperty, String(error)]);
            }
            """)
        #expect(try worker.ask(#"["map_doc",{}]"#) == #"[[["point",[1,"Mine: b"]]]]"#)
    }

    @Test(arguments: Engine.here)
    func `variables that a script does not declare work within a call`(engine: JavaScriptEngine)
        throws
    {
        let worker = try Worker(engine: engine)
        try worker.add(
            "function(doc) { for (i = 0; i < 2; i++) { n = i * 2; emit(i, n) } emit(typeof n, typeof i) }"
        )
        #expect(try worker.ask(#"["map_doc",{}]"#) == #"[[[0,0],[1,2],["number","number"]]]"#)
    }

    @Test(arguments: Engine.here)
    func `times are those of UTC`(engine: JavaScriptEngine) throws {
        let worker = try Worker(engine: engine)
        try worker.add(
            "function(doc) { emit(new Date(0).getHours(), new Date(2020, 0, 1).toISOString()) }")
        #expect(try worker.ask(#"["map_doc",{}]"#) == #"[[[0,"2020-01-01T00:00:00.000Z"]]]"#)
    }

    @Test(.enabled(if: Machine.has("/proc/self/status"), "It needs /proc."), arguments: Engine.here)
    func `the process is bounded and filtered`(engine: JavaScriptEngine) throws {
        let worker = try Worker(engine: engine)
        try worker.ask(#"["reset"]"#)
        let folder = "/proc/\(worker.worker.processNumber)"
        let status = try String(contentsOfFile: folder + "/status", encoding: .utf8)
        #if arch(x86_64) || arch(arm64)
        #expect(status.contains("\nSeccomp:\t2\n"))
        #endif
        #expect(status.contains("\nNoNewPrivs:\t1\n"))
        let limits = try String(contentsOfFile: folder + "/limits", encoding: .utf8)
        for name in ["Max cpu time", "Max address space", "Max core file size"] {
            let line = limits.split(separator: "\n").first { $0.hasPrefix(name) }
            #expect(
                line?.dropFirst(name.count).trimmingCharacters(in: .whitespaces).hasPrefix(
                    "unlimited") == false, "\(name)")
        }
        // The socket, nothing, and what the engine opens: its memory and its chance, which it reads, and an event.
        for name in try FileManager.default.contentsOfDirectory(atPath: folder + "/fd") {
            let target = try FileManager.default.destinationOfSymbolicLink(
                atPath: folder + "/fd/" + name)
            #expect(
                ["socket:", "/dev/null", "/dev/urandom", "/proc/", "anon_inode:"].contains {
                    target.hasPrefix($0)
                }, "\(target)")
        }
    }
}
