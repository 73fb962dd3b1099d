// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import DivanCommand

/// `divan convert`, and what the other commands say of engines.
@Suite struct ConvertCommandTests {
    private let tool: TestTool

    init() throws {
        tool = try TestTool()
    }

    @Test func `a database moves to another engine and back`() throws {
        let lines = (0..<50).map { "{\"_id\":\"d\($0)\",\"n\":\($0)}" }
        try tool.run("import", "db", "--create", input: lines.joined(separator: "\n"))
        let before = try tool.run("cat", "db").out
        for engine in ["lmdb", "sqlite"] {
            let result = try tool.run("convert", "db", engine)
            #expect(result.status == 0)
            #expect(result.err.contains("to \(engine)."))
            #expect(try tool.run("info", "db", "--json").out.contains("\"engine\":\"\(engine)\""))
            #expect(try tool.run("cat", "db").out == before)
            #expect(try tool.run("verify", "db").status == 0)
        }
        let again = try tool.run("convert", "db", "sqlite")
        #expect(again.status == 0)
        #expect(again.err.contains("already"))
    }

    @Test func `create takes an engine and info says it`() throws {
        #expect(try tool.run("create", "db", "--engine", "lmdb").status == 0)
        #expect(try tool.run("info", "db").out.contains("lmdb"))
        #expect(try tool.run("put", "db", "a", "{\"n\":1}").status == 0)
        #expect(try tool.run("get", "db", "a").out.contains("\"n\""))
    }

    @Test func `an unknown engine or a missing database is an error`() throws {
        let unknown = try tool.run("create", "db", "--engine", "forest")
        #expect(unknown.status == 2)
        #expect(unknown.err.contains("sqlite and lmdb"))
        #expect(try tool.run("convert", "nowhere", "lmdb").status == 3)
        try tool.run("create", "db")
        #expect(try tool.run("convert", "db", "forest").status == 2)
    }
}
