// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The options `--log` and `--log-file`, which every command has.
@Suite struct LogOptionTests {
    private let tool: TestTool

    init() throws {
        tool = try TestTool()
        try tool.run("create", "db")
    }

    @Test func `nothing is logged unless asked for`() throws {
        #expect(try tool.run("put", "db", "a", "{}", "--quiet").err.isEmpty)
    }

    @Test func `a level is for all domains and a domain has its own`() throws {
        let all = try tool.run("put", "db", "a", "{}", "--log", "info").err
        #expect(all.contains(" info database: Opened the database 'db' at "))
        #expect(all.contains(" info database: Closed the database 'db'."))
        let other = try tool.run("compact", "db", "--log", "none", "--log=maintenance=info").err
        #expect(!other.contains("Opened the database"))
        #expect(other.contains(" info maintenance: Compacted the database 'db'"))
    }

    @Test func `a file gets the log and standard error does not`() throws {
        let result = try tool.run("put", "db", "a", "{}", "--quiet", "--log-file", "log")
        #expect(result.err.isEmpty)
        #expect(try tool.read("log").contains(" info database: Opened the database 'db' at "))
        try tool.run("put", "db", "b", "{}", "--log-file", "quiet", "--log", "error")
        #expect(!FileManager.default.fileExists(atPath: tool.path("quiet")))
    }

    @Test func `a log file that cannot be written is no reason to fail`() throws {
        #expect(try tool.run("put", "db", "a", "{}", "--log-file", "/dev/full").status == 0)
        #expect(try tool.run("put", "db", "b", "{}", "--log-file", "nowhere/log").status == 0)
    }

    @Test(arguments: ["loud", "nowhere=info", "", "database="])
    func `a word that is no level is refused`(_ word: String) throws {
        let result = try tool.run("put", "db", "a", "{}", "--log", word)
        #expect(result.status == 2)
        #expect(result.err.contains("Levels are debug, verbose, info, warning, error, none"))
        #expect(try tool.run("get", "db", "a").status == 3)
    }

    @Test func `no document content is logged but at level debug`() throws {
        let secret = "{\"word\":\"moonlight\"}"
        for words in [
            ["put", "db", "a", secret], ["edit", "db", "a", "--set", "n=1"], ["get", "db", "a"],
            ["export", "db"], ["compact", "db"], ["verify", "db"], ["salvage", "db", "s.divan"],
            ["purge", "db", "a"],
        ] {
            let child = try tool.start(words + ["--log", "verbose"])
            #expect(!(try child.wait().err.contains("moonlight")), "\(words)")
        }
    }
}
