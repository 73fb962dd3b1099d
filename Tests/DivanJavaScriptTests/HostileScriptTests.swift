// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanDesign
import DivanJavaScript
import DivanTestSupport
import Testing

/// Scripts that mean harm: each ends within its limit, and the next command is answered.
@Suite(.enabled(if: Engine.isHere, Engine.need), .serialized, .timeLimit(.minutes(5)))
struct HostileScriptTests {
    /// The limits of the tests: two seconds, and the default memory.
    private static var limits: JavaScriptLimits {
        var limits = JavaScriptLimits()
        limits.time = .seconds(2)
        limits.answer = 8 << 20
        return limits
    }

    /// How long after a limit a script has ended, on a busy machine; the slowest sanitizer needs more. The last resort of
    /// the process itself would take longer.
    private static var grace: Duration { Sanitizer.isOn ? .seconds(5) : .seconds(2) }

    /// Maps a document by a function, and returns the error, the answer, and the time.
    private func map(
        _ source: String, by runtime: JavaScriptRuntime
    ) throws -> (error: ScriptError?, answer: ScriptAnswer?, time: Duration) {
        let program = ScriptProgram(
            key: source,
            commands: [Array(#"["reset",{}]"#.utf8), Array(Worker.adding(source).utf8)])
        return try runtime.withWorker(for: program) { worker in
            let begin = ContinuousClock.now
            do throws(ScriptError) {
                let answer = try worker.ask(Array(#"["map_doc",{"_id":"a"}]"#.utf8))
                return (nil, answer, ContinuousClock.now - begin)
            } catch {
                return (error, nil, ContinuousClock.now - begin)
            }
        }
    }

    /// Checks that the same program, and another one, are served after a script that did harm.
    private func checkService(_ runtime: JavaScriptRuntime) {
        // On a busy machine a script that does end may run out of its time, too, and is asked again.
        eventually {
            let next = try? map("function(doc) { emit(doc._id, 1) }", by: runtime)
            let line = next?.answer.map { String(decoding: $0.line, as: UTF8.self) }
            return line == #"[[["a",1]]]"#
        }
    }

    /// Scripts without an end.
    private static let endless = [
        "function(doc) { for (;;); }",
        "function(doc) { try { for (;;); } finally { for (;;); } }",
        // The engine gives a search up after some seconds, more or fewer as the machine goes.
        "function(doc) { for (;;) try { /^(a+)+$/.test(Array(61).join('a') + 'b') } catch (e) {} }",
        "function(doc) { for (;;) try { /(x+x+)+y/.test(Array(61).join('x')) } catch (e) {} }",
        "function(doc) { emit({toJSON: function() { for (;;); }}, 1) }",
        "function(doc) { emit(1, new Proxy({}, {ownKeys: function() { for (;;); }})) }",
        "function(doc) { throw {get name() { for (;;); }, toString: function() { for (;;); }} }",
        "function(doc) { [3, 2, 1].sort(function() { for (;;); }) }",
    ]
    private static let modernEndless = [
        "function(doc) { (async function() { for (;;) await 1 })(); emit(1, 1) }"
    ]

    @Test(arguments: Engine.running(endless, modern: modernEndless))
    func `a script without an end is ended at its deadline`(
        engine: JavaScriptEngine, source: String
    ) throws {
        let runtime = JavaScriptRuntime(
            program: Engine.program, engine: engine, limits: Self.limits)
        let result = try map(source, by: runtime)
        #expect(result.error?.code == .timeLimit)
        #expect(result.error?.name == "os_process_error")
        #expect(
            result.time >= Self.limits.time && result.time < Self.limits.time + Self.grace,
            "\(result.time)")
        checkService(runtime)
    }

    /// Scripts that take all memory.
    private static let greedy = [
        "function(doc) { var s = 'x'; for (;;) s += s + Math.random() }",
        "function(doc) { emit('x'.repeat(1 << 30), 1) }",
        "function(doc) { var a = []; for (;;) a.push(Math.random() + '') }",
        "function(doc) { var a = []; for (;;) a.push(new ArrayBuffer(1e8)) }",
        "function(doc) { var o = {}; for (var i = 0;; i++) o['k' + i] = i }",
        "function(doc) { for (;;) emit('x'.repeat(100), 1) }",
        "function(doc) { for (;;) log('x'.repeat(100)) }",
        "function(doc) { var a = []; for (;;) a.push(new Uint8Array(1e6)) }",
    ]
    private static let modernGreedy = [
        "function(doc) { new Array(1e9).fill(1) }",
        "function(doc) { var a = []; for (;;) a.push(new Uint8Array(1e6).fill(1)) }",
        "function(doc) { var m = new Map(); for (var i = 0;; i++) m.set(i, {i}) }",
        "function(doc) { var f = function() { return [f].concat(new Array(1e6).fill(f)) }; for (var a = [];;) a.push(f()) }",
    ]

    @Test(arguments: Engine.running(greedy, modern: modernGreedy))
    func `a script that takes all memory ends, and memory returns`(
        engine: JavaScriptEngine, source: String
    ) throws {
        var limits = Self.limits
        limits.time = .seconds(120)
        let runtime = JavaScriptRuntime(program: Engine.program, engine: engine, limits: limits)
        let result = try map(source, by: runtime)
        // Either the engine throws, which is logged, or the process ends.
        if let answer = result.answer {
            #expect(String(decoding: answer.line, as: UTF8.self) == "[[]]")
            let line = try #require(answer.logs.last)
            #expect(line.contains("RangeError") || line.contains("Error: alloc failed"))
        } else {
            #expect(result.error?.code == .memoryLimit)
        }
        checkService(runtime)
    }

    @Test(
        arguments: Engine.here,
        [
            "function f(doc) { return f(doc) + 1 }",
            "function(doc) { var a = []; for (var i = 0; i < 1e5; i++) a = [a]; emit(a, 1) }",
            "function(doc) { JSON.parse(Array(1e6).join('[')) }",
            "function(doc) { new RegExp(Array(1e5).join('(') + Array(1e5).join(')')) }",
        ])
    func `a script that goes too deep throws or ends`(
        engine: JavaScriptEngine, source: String
    ) throws {
        let runtime = JavaScriptRuntime(
            program: Engine.program, engine: engine, limits: Self.limits)
        let result = try map(source, by: runtime)
        let answer = result.answer.map { String(decoding: $0.line, as: UTF8.self) }
        #expect(answer == "[[]]" || [.memoryLimit, .timeLimit].contains(result.error?.code))
        checkService(runtime)
    }

    @Test(arguments: Engine.here)
    func `an output without an end is cut off`(engine: JavaScriptEngine) throws {
        var limits = Self.limits
        limits.memory = 256 << 20
        limits.answer = 1 << 20
        limits.time = .seconds(120)
        let runtime = JavaScriptRuntime(program: Engine.program, engine: engine, limits: limits)
        for source in [
            "function(doc) { emit('x'.repeat(1 << 22), 1) }",
            "function(doc) { for (var i = 0; i < 40000; i++) log('x'.repeat(100)) }",
        ] {
            #expect(try map(source, by: runtime).error?.code == .answerLimit)
            checkService(runtime)
        }
    }

    @Test(arguments: Engine.here)
    func `ten megabytes of source compile or are refused`(engine: JavaScriptEngine) throws {
        let runtime = JavaScriptRuntime(
            program: Engine.program, engine: engine, limits: Self.limits)
        let body = String(repeating: "x += 1;\n", count: 10 << 17)
        let programs = [
            "function(doc) { var x = 0; emit(x, 1); return; \(body) }", "function(doc) { \(body) ",
            body,
        ]
        for source in programs {
            do {
                let result = try map(source, by: runtime)
                let answer = result.answer.map { String(decoding: $0.line, as: UTF8.self) }
                #expect(
                    answer == "[[[0,1]]]"
                        || [.memoryLimit, .timeLimit].contains(result.error?.code))
            } catch let error as ScriptError {
                #expect([.script, .memoryLimit, .timeLimit].contains(error.code))
                #expect(error.reason.utf8.count < 10_000)
            }
            checkService(runtime)
        }
    }

    /// Scripts that compile scripts.
    private static let compiling = [
        "function(doc) { eval('emit(1, 1)') }",
        "function(doc) { new Function('emit(1, 1)')() }",
        "function(doc) { (function() {}).constructor('emit(1, 1)')() }",
        "function(doc) { Reflect.construct(Function, ['emit(1, 1)'])() }",
    ]
    private static let modernCompiling = [
        "function(doc) { (async function() {}).constructor('emit(1, 1)')() }",
        "function(doc) { (function*() {}).constructor('emit(1, 1)')().next() }",
    ]

    @Test(arguments: Engine.running(compiling, modern: modernCompiling))
    func `a script compiles no scripts`(
        engine: JavaScriptEngine, source: String
    ) throws {
        let runtime = JavaScriptRuntime(
            program: Engine.program, engine: engine, limits: Self.limits)
        let answer = try #require(try map(source, by: runtime).answer)
        #expect(String(decoding: answer.line, as: UTF8.self) == "[[]]")
        #expect(answer.logs.last?.contains("EvalError") == true)
    }

    /// Exceptions that cannot be read.
    private static let unreadable = [
        "throw {get name() { throw 1 }, get error() { throw 2 }, get 0() { throw 3 }, toString: function() { throw 4 }}",
        "throw Object.create(null)", "throw undefined", "throw null", "throw Symbol('a')",
        "throw new Proxy([], {get: function() { throw 1 }})",
        "var e = new Error(); Object.defineProperty(e, 'message', {get: function() { throw e }}); throw e",
        "var a = []; a.push(a); emit(a)", "log(Symbol('a'))",
        "throw {toJSON: function() { throw 5 }}",
    ]
    private static let modernUnreadable = [
        "throw 1n", "emit(1n, 1)", "throw new Proxy([], {getPrototypeOf() { throw 1 }})",
    ]

    @Test(arguments: Engine.running(unreadable, modern: modernUnreadable))
    func `an exception that cannot be read is an exception`(
        engine: JavaScriptEngine, body: String
    ) throws {
        let worker = try Worker(engine: engine)
        try worker.add("function(doc) { \(body) }")
        try worker.learn(
            JSONWriter.string([
                "shows": ["s": .string("function(doc) { \(body) }")],
                "validate_doc_update": .string("function(doc) { \(body) }"),
            ]))
        #expect(try worker.ask(#"["map_doc",{}]"#) == "[[]]")
        if body.hasPrefix("throw") {
            #expect(worker.error(Worker.calling(#"["shows","s"]"#, "[{},{}]")) != nil)
        }
        _ = worker.error(Worker.calling(#"["validate_doc_update"]"#, "[{},{},{},{}]"))
        #expect(try worker.ask(#"["map_doc",{}]"#) == "[[]]")
    }
}
