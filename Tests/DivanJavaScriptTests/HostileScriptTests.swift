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

    @Test(arguments: [
        "function(doc) { for (;;); }",
        "function(doc) { try { for (;;); } finally { for (;;); } }",
        // The engine gives a search up after some seconds, more or fewer as the machine goes.
        "function(doc) { for (;;) /^(a+)+$/.test('a'.repeat(60) + 'b') }",
        "function(doc) { for (;;) /(x+x+)+y/.test('x'.repeat(60)) }",
        "function(doc) { emit({toJSON: function() { for (;;); }}, 1) }",
        "function(doc) { emit(1, new Proxy({}, {ownKeys: function() { for (;;); }})) }",
        "function(doc) { (async function() { for (;;) await 1 })(); emit(1, 1) }",
        "function(doc) { throw {get name() { for (;;); }, toString() { for (;;); }} }",
        "function(doc) { [3, 2, 1].sort(function() { for (;;); }) }",
    ])
    func `a script without an end is ended at its deadline`(source: String) throws {
        let runtime = JavaScriptRuntime(program: Engine.program, limits: Self.limits)
        let result = try map(source, by: runtime)
        #expect(result.error?.code == .timeLimit)
        #expect(result.error?.name == "os_process_error")
        #expect(
            result.time >= Self.limits.time && result.time < Self.limits.time + Self.grace,
            "\(result.time)")
        checkService(runtime)
    }

    @Test(arguments: [
        "function(doc) { var s = 'x'; for (;;) s += s + Math.random() }",
        "function(doc) { emit('x'.repeat(1 << 30), 1) }",
        "function(doc) { var a = []; for (;;) a.push(Math.random() + '') }",
        "function(doc) { new Array(1e9).fill(1) }",
        "function(doc) { var a = []; for (;;) a.push(new Uint8Array(1e6).fill(1)) }",
        "function(doc) { var a = []; for (;;) a.push(new ArrayBuffer(1e8)) }",
        "function(doc) { var o = {}; for (var i = 0;; i++) o['k' + i] = i }",
        "function(doc) { var m = new Map(); for (var i = 0;; i++) m.set(i, {i}) }",
        "function(doc) { for (;;) emit('x'.repeat(100), 1) }",
        "function(doc) { for (;;) log('x'.repeat(100)) }",
        "function(doc) { var f = function() { return [f].concat(new Array(1e6).fill(f)) }; for (var a = [];;) a.push(f()) }",
    ])
    func `a script that takes all memory ends, and memory returns`(source: String) throws {
        var limits = Self.limits
        limits.time = .seconds(120)
        let runtime = JavaScriptRuntime(program: Engine.program, limits: limits)
        let result = try map(source, by: runtime)
        // Either the engine throws, which is logged, or the process ends.
        if let answer = result.answer {
            #expect(String(decoding: answer.line, as: UTF8.self) == "[[]]")
            #expect(answer.logs.last?.contains("RangeError") == true)
        } else {
            #expect(result.error?.code == .memoryLimit)
        }
        checkService(runtime)
    }

    @Test(arguments: [
        "function f(doc) { return f(doc) + 1 }",
        "function(doc) { var a = []; for (var i = 0; i < 1e5; i++) a = [a]; emit(a, 1) }",
        "function(doc) { JSON.parse('['.repeat(1e6)) }",
        "function(doc) { new RegExp('('.repeat(1e5) + ')'.repeat(1e5)) }",
    ])
    func `a script that goes too deep throws or ends`(source: String) throws {
        let runtime = JavaScriptRuntime(program: Engine.program, limits: Self.limits)
        let result = try map(source, by: runtime)
        let answer = result.answer.map { String(decoding: $0.line, as: UTF8.self) }
        #expect(answer == "[[]]" || [.memoryLimit, .timeLimit].contains(result.error?.code))
        checkService(runtime)
    }

    @Test func `an output without an end is cut off`() throws {
        var limits = Self.limits
        limits.memory = 256 << 20
        limits.answer = 1 << 20
        limits.time = .seconds(120)
        let runtime = JavaScriptRuntime(program: Engine.program, limits: limits)
        for source in [
            "function(doc) { emit('x'.repeat(1 << 22), 1) }",
            "function(doc) { for (var i = 0; i < 40000; i++) log('x'.repeat(100)) }",
        ] {
            #expect(try map(source, by: runtime).error?.code == .answerLimit)
            checkService(runtime)
        }
    }

    @Test func `ten megabytes of source compile or are refused`() throws {
        let runtime = JavaScriptRuntime(program: Engine.program, limits: Self.limits)
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

    @Test(arguments: [
        "function(doc) { eval('emit(1, 1)') }",
        "function(doc) { new Function('emit(1, 1)')() }",
        "function(doc) { (function() {}).constructor('emit(1, 1)')() }",
        "function(doc) { (async function() {}).constructor('emit(1, 1)')() }",
        "function(doc) { (function*() {}).constructor('emit(1, 1)')().next() }",
        "function(doc) { Reflect.construct(Function, ['emit(1, 1)'])() }",
    ])
    func `a script compiles no scripts`(source: String) throws {
        let runtime = JavaScriptRuntime(program: Engine.program, limits: Self.limits)
        let answer = try #require(try map(source, by: runtime).answer)
        #expect(String(decoding: answer.line, as: UTF8.self) == "[[]]")
        #expect(answer.logs.last?.contains("EvalError") == true)
    }

    @Test(arguments: [
        "throw {get name() { throw 1 }, get error() { throw 2 }, get 0() { throw 3 }, toString() { throw 4 }, toJSON() { throw 5 }}",
        "throw Object.create(null)", "throw undefined", "throw null", "throw Symbol('a')",
        "throw 1n", "throw new Proxy([], {get() { throw 1 }})",
        "var e = new Error(); Object.defineProperty(e, 'message', {get() { throw e }}); throw e",
        "emit(1n, 1)", "var a = []; a.push(a); emit(a)", "log(Symbol('a'))",
        "throw new Proxy([], {getPrototypeOf() { throw 1 }})",
    ])
    func `an exception that cannot be read is an exception`(body: String) throws {
        let worker = try Worker()
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
