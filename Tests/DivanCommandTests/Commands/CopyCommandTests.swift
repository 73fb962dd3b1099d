// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import DivanCommand

/// `divan backup` and `divan install`, as a child process.
@Suite struct CopyCommandTests {
    private let tool: TestTool

    init() throws {
        tool = try TestTool()
        let lines = (0..<30).map { "{\"_id\":\"d\($0)\",\"n\":\($0)}" }
        try tool.run("import", "db", "--create", input: lines.joined(separator: "\n"))
    }

    @Test func `backup copies a database and needs a free place`() throws {
        let result = try tool.run("backup", "db", "saved.divan")
        #expect(result.status == 0)
        #expect(result.out.isEmpty)
        #expect(result.err.hasPrefix("Backed up 30 documents, "))
        #expect(result.err.hasSuffix(" at saved.divan.\n"))
        #expect(try tool.run("cat", "saved").out == (try tool.run("cat", "db").out))
        #expect(try tool.run("verify", "saved").status == 0)
        let again = try tool.run("backup", "db", "saved.divan")
        #expect(again.status == 4)
        #expect(again.err.contains("something at"))
        #expect(try tool.run("backup", "nowhere", "other.divan").status == 3)
        #expect(try tool.run("backup", "db").status == 2)
        #expect(try tool.run("backup", "db", "quiet.divan", "--quiet").err.isEmpty)
    }

    @Test func `backup shows how far it has come on a terminal`() throws {
        let shown = try tool.runOnTerminal("backup", "db", "saved.divan")
        #expect(shown.contains("Backing up: copying the data"))
        #expect(shown.contains("Backed up 30 documents"))
    }

    @Test func `install makes a new database and replaces one only when told to`() throws {
        let result = try tool.run("install", "db", "app")
        #expect(result.status == 0)
        #expect(result.err.hasPrefix("Installed 30 documents, "))
        #expect(try tool.run("cat", "app").out == (try tool.run("cat", "db").out))
        try tool.run("put", "app", "mine", "{}")
        let refused = try tool.run("install", "db", "app")
        #expect(refused.status == 4)
        #expect(refused.err.contains("--replace"))
        #expect(try tool.run("get", "app", "mine").status == 0)
        #expect(try tool.run("install", "db", "app.divan", "--replace").status == 0)
        #expect(try tool.run("get", "app", "mine").status == 3)
        #expect(try tool.run("verify", "app").status == 0)
        #expect(uuid("app") != uuid("db"))
    }

    @Test func `install refuses what it cannot install`() throws {
        #expect(try tool.run("install", "nowhere", "app").status == 3)
        #expect(try tool.run("install", "db", "Bad Name").status == 6)
        #expect(try tool.run("install", "db").status == 2)
        try tool.write("garbage", to: "db.divan/manifest")
        #expect(try tool.run("install", "db", "app").status == 8)
        #expect(!FileManager.default.fileExists(atPath: tool.path("app.divan")))
    }

    @Test func `install says that a database in use is busy`() throws {
        try tool.run("install", "db", "app")
        let follower = try tool.start(["changes", "app", "--follow"])
        defer { follower.interrupt() }
        #expect(follower.waitForOutput("d29"))
        let busy = try tool.run("install", "db", "app", "--replace")
        #expect(busy.status == 7)
        follower.interrupt()
        _ = try follower.wait()
        #expect(try tool.run("install", "db", "app", "--replace").status == 0)
    }

    private func uuid(_ name: String) -> String? {
        let lines = (try? tool.run("info", name).lines) ?? []
        return lines.first { $0.hasPrefix("Public UUID") }
    }
}
