// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// What is left of a database that a command makes before it fails.
@Suite struct UndoneCreationTests {
    private let tool: TestTool

    init() throws {
        tool = try TestTool()
        try tool.run("import", "db", "--create", input: #"{"_id":"a"}"#)
        try tool.write("no JSON", to: "text")
        try tool.write("no database", to: "old.cblite2")
    }

    private func exists(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: tool.path(name))
    }

    static let failing = [
        ["replicate", "http://127.0.0.1:1/db", "new", "--patience", "0"],
        ["replicate", "http://", "new"],
        ["replicate", "db", "new", "--filter", "unknown"],
        ["sync", "db", "new", "--filter", "unknown"],
        ["import", "new", "none", "--create"],
        ["import", "new", "text", "--create"],
        ["import", "new", "text", "--create", "--strict"],
        ["import", "new", "text", "--create", "--key", "/a"],
        ["import", "new", "old.cblite2"],
        ["install", "none", "new"],
        ["install", "text", "new"],
        ["install", "none", "new", "--replace"],
        ["salvage", "none", "new.divan"],
        ["salvage", "text", "new.divan"],
        ["backup", "none", "new.divan"],
        ["create", "new", "--revision-limit", "x"],
    ]

    @Test(arguments: failing)
    func `a command that fails before it stores anything leaves no database`(_ words: [String])
        throws
    {
        let failed = try tool.start(words).wait()
        #expect(failed.status != 0)
        #expect(!exists("new.divan"))
    }

    @Test func `an empty database that was there stays`() throws {
        try tool.run("create", "new")
        for words in Self.failing { #expect(try tool.start(words).wait().status != 0) }
        #expect(try tool.run("info", "new").status == 0)
    }

    @Test func `a database in which something was stored before the failure stays`() throws {
        let input = "{\"_id\":\"a\"}\nno JSON"
        #expect(try tool.run("import", "new", "--create", "--strict", input: input).status == 6)
        #expect(try tool.run("ls", "new").lines == ["a"])
    }
}
