// SPDX-License-Identifier: Apache-2.0

import Divan
import Foundation
import Testing

struct ReplicateCommandTests {
    let tool: TestTool

    init() throws {
        tool = try TestTool()
        try tool.run("create", "a.divan")
        for n in 0..<3 {
            try tool.run("put", "a.divan", "doc\(n)", input: "{\"n\": \(n)}")
        }
    }

    @Test func `replicate brings a database's documents to another one, which it makes`() throws {
        let result = try tool.run("replicate", "a.divan", "b.divan")
        #expect(result.status == 0)
        #expect(result.err.contains("Replicated 3 revisions"))
        #expect(try tool.run("ls", "b.divan").lines.count == 3)
        #expect(try tool.run("replicate", "a", "b").err.contains("Replicated 0 revisions"))
    }

    @Test func `replicate takes single documents when asked`() throws {
        try tool.run("replicate", "a.divan", "b.divan", "--doc", "doc1")
        #expect(try tool.run("ls", "b.divan").lines.count == 1)
    }

    @Test func `sync brings changes both ways`() throws {
        try tool.run("create", "b.divan")
        try tool.run("put", "b.divan", "other", input: "{}")
        let result = try tool.run("sync", "a.divan", "b.divan")
        #expect(result.status == 0)
        #expect(try tool.run("ls", "a.divan").lines.count == 4)
        #expect(try tool.run("ls", "b.divan").lines.count == 4)
    }

    @Test func `two URLs, and a source that is missing, are refused`() throws {
        #expect(try tool.run("replicate", "http://x/a", "http://x/b").status == 2)
        #expect(try tool.run("replicate", "none.divan", "b.divan").status == 3)
        #expect(try tool.run("replicate", "a", "b", "--filter", "unknown").status == 6)
        #expect(try tool.run("replicate", "a", "b", "--header", "nocolon").status == 2)
    }

    @Test func `a continuous replication brings later changes, and ends at Control-C`() throws {
        let child = try tool.start(["replicate", "a.divan", "b.divan", "--continuous"])
        let deadline = Date() + 60
        func isThere(_ id: String) throws -> Bool {
            while Date() < deadline {
                if try tool.run("get", "b.divan", id).status == 0 { return true }
                Thread.sleep(forTimeInterval: 0.05)
            }
            return false
        }
        #expect(try isThere("doc2"))
        try tool.run("put", "a.divan", "later", input: "{}")
        #expect(try isThere("later"))
        child.interrupt()
        #expect(try child.wait().status == 0)
    }
}
