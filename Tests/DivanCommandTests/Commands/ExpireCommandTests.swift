// SPDX-License-Identifier: Apache-2.0

import Divan
import Foundation
import Testing

@testable import DivanCommand

@Suite struct ExpireCommandTests {
    private let tool: TestTool

    init() throws {
        tool = try TestTool()
        try tool.run("import", "db", "--create", input: "{\"_id\":\"a\"}\n{\"_id\":\"b\"}\n")
    }

    @Test func `a date is set, shown and cleared`() throws {
        #expect(try tool.run("expire", "db", "a").out == "never\n")
        let set = try tool.run("expire", "db", "a", "--at", "2100-01-31T01:00:00+01:00")
        #expect(set.status == 0)
        #expect(set.out == "2100-01-31T00:00:00.000Z\n")
        #expect(try tool.run("expire", "db", "a").out == set.out)
        let json = try tool.run("expire", "db", "a", "--show", "--json").out
        #expect(json == "{\"id\":\"a\",\"expires\":\"2100-01-31T00:00:00.000Z\"}\n")
        #expect(try tool.run("expire", "db", "a", "--clear").out == "never\n")
        let cleared = try tool.run("expire", "db", "a", "--json").out
        #expect(cleared == "{\"id\":\"a\",\"expires\":null}\n")
        #expect(try tool.run("verify", "db").status == 0)
    }

    @Test func `documents that expire are listed, the next one first`() throws {
        try tool.run("expire", "db", "a", "--at", "2101-01-01")
        try tool.run("expire", "db", "b", "--at", "2100-01-01")
        let lines = try tool.run("expire", "db").lines
        #expect(lines == ["2100-01-01T00:00:00.000Z  b", "2101-01-01T00:00:00.000Z  a"])
        #expect(try tool.run("expire", "db", "--limit", "1").lines == [lines[0]])
        #expect(try tool.run("expire", "db", "--json").lines.count == 2)
    }

    @Test func `what is due is purged now, and the rest stays`() throws {
        try tool.run("expire", "db", "b", "--in", "10y")
        // Long enough for this process to be gone by then, or its timer would be first.
        try tool.run("expire", "db", "a", "--in", "1.5s")
        usleep(1_600_000)
        // Opened read-only, nothing goes by itself.
        #expect(try tool.run("ls", "db").lines == ["a", "b"])
        let result = try tool.run("expire", "db", "--now")
        #expect(result.status == 0)
        #expect(result.out.hasPrefix("Purged "))
        #expect(try tool.run("ls", "db").lines == ["b"])
        #expect(try tool.run("expire", "db", "--now", "--json").out == "{\"purged\":0}\n")
    }

    @Test func `a document that is not there is refused`() throws {
        #expect(try tool.run("expire", "db", "nobody").status == 3)
        #expect(try tool.run("expire", "db", "nobody", "--in", "1d").status == 3)
    }

    @Test(arguments: [
        ["a", "--in", "1d", "--clear"], ["a", "--now"], ["--clear"], ["--in", "1d"],
        ["a", "--at", "tomorrow"], ["a", "--in", "soon"], ["a", "--limit", "1"],
    ])
    func `words that do not go together are refused`(_ words: [String]) throws {
        let result = try tool.start(["expire", "db"] + words).wait()
        #expect(result.status == 2, "\(words)")
        #expect(try tool.run("expire", "db").out.isEmpty)
    }

    @Test(arguments: [
        ("90s", 90.0), ("90", 90), ("1.5m", 90), ("12h", 43_200), ("30d", 2_592_000),
        ("1d12h", 129_600), ("2w", 1_209_600), ("0s", 0),
    ])
    func `a time span is read with its unit`(_ text: String, _ seconds: Double) throws {
        #expect(try ExpireAction.seconds(text) == seconds)
    }

    @Test(arguments: ["", "s", "1d12", "-5s", "1x", "1.2.3s", "one", "5 s"])
    func `a time span without a number or unit is refused`(_ text: String) {
        #expect(throws: UsageError.self) { try ExpireAction.seconds(text) }
    }
}
