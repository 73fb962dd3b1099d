// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanDesign
import DivanJavaScript
import DivanSystem
import DivanTestSupport
import Foundation
import Testing

/// Whether scripts run on this machine; it is tried once.
enum Engine {
    /// What a test says that is skipped.
    static let need: Comment =
        "It needs the libraries JavaScriptCore and Duktape, which scripts/bootstrap installs."

    static let program = CurrentProcess.folder + "/divan-javascript"

    static let isHere = here.contains(.javaScriptCore)

    /// The engines whose libraries are here. Tests whose scripts are ECMAScript 5 run on each.
    static let here = JavaScriptEngine.allCases.filter {
        (try? JavaScriptRuntime(program: program, engine: $0).verify()) != nil
    }

    /// Each engine with each script, and JavaScriptCore with those in a syntax that Duktape does not have.
    static func running(
        _ scripts: [String], modern: [String]
    ) -> [(JavaScriptEngine, String)] {
        here.flatMap { engine in scripts.map { (engine, $0) } }
            + modern.map { (.javaScriptCore, $0) }
    }
}

/// A worker and what tests ask it.
struct Worker {
    let worker: ScriptWorker

    init(
        _ limits: JavaScriptLimits = JavaScriptLimits(),
        engine: JavaScriptEngine = .javaScriptCore
    ) throws {
        worker = try ScriptWorker(program: Engine.program, engine: engine, limits: limits)
    }

    /// The whole answer to a line.
    func answer(_ line: String) throws -> ScriptAnswer { try worker.ask(Array(line.utf8)) }

    /// The answer to a line, without what was logged.
    @discardableResult
    func ask(_ line: String) throws -> String {
        String(decoding: try answer(line).line, as: UTF8.self)
    }

    /// The error that a line is answered by; nil for another answer.
    func error(_ line: String) -> ScriptError? {
        do {
            _ = try answer(line)
            return nil
        } catch {
            return error as? ScriptError
        }
    }

    /// Adds a map function.
    @discardableResult
    func add(_ source: String) throws -> String { try ask(Self.adding(source)) }

    /// The command that adds a map function.
    static func adding(_ source: String) -> String {
        JSONWriter.string(.array([.string("add_fun"), .string(source)]))
    }

    /// Gives the worker a design document with the ID `_design/d`.
    func learn(_ document: String) throws {
        #expect(try ask(#"["ddoc","new","_design/d",\#(document)]"#) == "true")
    }

    /// The answer of a function of that design document.
    func call(_ path: String, _ arguments: String) throws -> String {
        try ask(Self.calling(path, arguments))
    }

    /// The command that calls a function of that design document.
    static func calling(_ path: String, _ arguments: String) -> String {
        #"["ddoc","_design/d",\#(path),\#(arguments)]"#
    }
}
