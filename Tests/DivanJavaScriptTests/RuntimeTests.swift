// SPDX-License-Identifier: Apache-2.0

import DivanDesign
import DivanJavaScript
import DivanSystem
import DivanTestSupport
import Foundation
import Synchronization
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The pool of workers.
@Suite(.enabled(if: Engine.isHere, Engine.need), .timeLimit(.minutes(5)))
struct RuntimeTests {
    private static func program(
        _ key: String, _ source: String = "function(doc) { emit(doc.n, 1) }"
    ) -> ScriptProgram {
        ScriptProgram(
            key: key, commands: [Array(#"["reset",{}]"#.utf8), Array(Worker.adding(source).utf8)])
    }

    private static let map = Array(#"["map_doc",{"n":1}]"#.utf8)

    @Test func `a program keeps its worker`() throws {
        let runtime = JavaScriptRuntime(program: Engine.program)
        let numbers = try (0..<3).map { _ in
            try runtime.withWorker(for: Self.program("a")) { worker throws(ScriptError) in
                _ = try worker.ask(Self.map)
                return worker.processNumber
            }
        }
        #expect(Set(numbers).count == 1)
        #expect(runtime.processCount == 1)
        let other = try runtime.withWorker(for: Self.program("b")) { $0.processNumber }
        #expect(other != numbers[0])
    }

    @Test func `a worker that was killed is replaced`() throws {
        let runtime = JavaScriptRuntime(program: Engine.program)
        let number = try runtime.withWorker(for: Self.program("a")) { $0.processNumber }
        kill(number, SIGKILL)
        // It fails when its end was not seen before it was asked.
        _ = try? runtime.withWorker(for: Self.program("a")) { worker throws(ScriptError) in
            try worker.ask(Self.map)
        }
        let answer = try runtime.withWorker(for: Self.program("a")) {
            worker throws(ScriptError) in
            try worker.ask(Self.map)
        }
        #expect(String(decoding: answer.line, as: UTF8.self) == "[[[1,1]]]")
        #expect(runtime.processCount == 1)
    }

    @Test func `a worker that stops is killed at the deadline`() throws {
        var limits = JavaScriptLimits()
        limits.time = .seconds(10)
        let worker = try Worker(limits)
        try worker.ask(#"["reset"]"#)
        kill(worker.worker.processNumber, SIGSTOP)
        #expect(worker.error(#"["reset"]"#)?.code == .timeLimit)
        #expect(!CurrentProcess.isAlive(worker.worker.processNumber))
    }

    @Test func `an idle worker makes room for another program`() throws {
        var limits = JavaScriptLimits()
        limits.processes = 2
        let runtime = JavaScriptRuntime(program: Engine.program, limits: limits)
        for key in ["a", "b", "c", "a"] {
            _ = try runtime.withWorker(for: Self.program(key)) { worker throws(ScriptError) in
                try worker.ask(Self.map)
            }
            #expect(runtime.processCount <= 2)
        }
    }

    @Test func `a program that does not compile takes no worker`() throws {
        let runtime = JavaScriptRuntime(program: Engine.program)
        let error = #expect(throws: ScriptError.self) {
            try runtime.withWorker(for: Self.program("a", "function(")) { $0.processNumber }
        }
        #expect(error?.name == "compilation_error")
        #expect(runtime.processCount == 0)
    }

    @Test func `callers of one program wait for its workers, and others do not`() async throws {
        var limits = JavaScriptLimits()
        limits.processesPerScript = 1
        let runtime = JavaScriptRuntime(program: Engine.program, limits: limits)
        let (isHeld, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let order = Mutex<[String]>([])
        let first = Thread.running {
            _ = try? runtime.withWorker(for: Self.program("a")) { _ in
                isHeld.signal()
                mayGoOn.wait()
                order.withLock { $0.append("first") }
            }
        }
        isHeld.wait()
        let second = Thread.running {
            _ = try? runtime.withWorker(for: Self.program("a")) { _ in
                order.withLock { $0.append("second") }
            }
        }
        _ = try runtime.withWorker(for: Self.program("b")) { worker throws(ScriptError) in
            try worker.ask(Self.map)
        }
        mayGoOn.signal()
        first.wait()
        second.wait()
        #expect(order.withLock { $0 } == ["first", "second"])
    }

    @Test func `a closed runtime starts nothing and leaves no process`() throws {
        let runtime = JavaScriptRuntime(program: Engine.program)
        let number = try runtime.withWorker(for: Self.program("a")) { $0.processNumber }
        runtime.close()
        #expect(!CurrentProcess.isAlive(number))
        let error = #expect(throws: ScriptError.self) {
            try runtime.withWorker(for: Self.program("a")) { _ in }
        }
        #expect(error?.code == .closed)
    }

    @Test func `many callers at once get their own answers`() async throws {
        let runtime = JavaScriptRuntime(program: Engine.program)
        let threads = (0..<8).map { index in
            Thread.running {
                for n in 0..<50 {
                    let command = Array(#"["map_doc",{"n":\#(index * 100 + n)}]"#.utf8)
                    let answer = try? runtime.withWorker(for: Self.program("\(index % 3)")) {
                        worker throws(ScriptError) in
                        try worker.ask(command)
                    }
                    #expect(
                        answer.map { String(decoding: $0.line, as: UTF8.self) }
                            == "[[[\(index * 100 + n),1]]]")
                }
            }
        }
        for thread in threads { thread.wait() }
        #expect(runtime.processCount <= 6)
    }

    @Test func `the start of a process is not the time of a script`() throws {
        var limits = JavaScriptLimits()
        limits.time = .zero
        try JavaScriptRuntime(program: Engine.program, limits: limits).verify()
    }

    @Test func `without the program scripts are unavailable`() {
        let runtime = JavaScriptRuntime(program: "/nonexistent/divan-javascript")
        let error = #expect(throws: ScriptError.self) { try runtime.verify() }
        #expect(error?.code == .unavailable)
    }

    @Test(
        arguments: zip(
            JavaScriptEngine.allCases, ["libjavascriptcoregtk-4.1-0", "libduktape207"]))
    func `without its library an engine is unavailable, and the package is named`(
        engine: JavaScriptEngine, package: String
    ) throws {
        // It ends as divan-javascript does that finds no library.
        let program = NSTemporaryDirectory() + "no-engine-\(UUID().uuidString)"
        try Data("#!/bin/sh\nexit 2\n".utf8).write(to: URL(filePath: program))
        defer { try? FileManager.default.removeItem(atPath: program) }
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program)
        let error = #expect(throws: ScriptError.self) {
            try JavaScriptRuntime(program: program, engine: engine).verify()
        }
        #expect(error?.code == .unavailable)
        #expect(error?.message.contains(package) == true)
    }

    @Test func `a program that is no worker is told`() {
        let error = #expect(throws: ScriptError.self) {
            try JavaScriptRuntime(program: "/bin/true").verify()
        }
        #expect(error?.code == .workerFailed)
    }
}

extension Thread {
    /// Runs a closure on a thread of its own; the semaphore is signalled at its end.
    fileprivate static func running(_ body: @escaping @Sendable () -> Void) -> DispatchSemaphore {
        let end = DispatchSemaphore(value: 0)
        detachNewThread {
            body()
            end.signal()
        }
        return end
    }
}
