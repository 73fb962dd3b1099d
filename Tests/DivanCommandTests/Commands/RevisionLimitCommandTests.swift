// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

@testable import DivanCommand

/// How many revisions are kept, on the command line.
@Suite struct RevisionLimitCommandTests {
    private let tool: TestTool

    init() throws { tool = try TestTool() }

    @Test func `a database is created with a limit, and info shows both limits`() throws {
        #expect(try tool.run("create", "plain").status == 0)
        #expect(try tool.run("info", "plain").out.contains("1,000 a branch"))
        #expect(try tool.run("create", "long", "--revs-limit", "5000").status == 0)
        let info = try tool.run("info", "long").out
        #expect(info.contains("20 a branch") && info.contains("5,000 a branch"))
        #expect(try tool.run("info", "long", "--json").out.contains("\"revision_limit\":5000"))
        for wrong in ["0", "-1", "many", "1000001"] {
            #expect(
                try tool.run("create", "wrong", "--revs-limit", wrong).status
                    == ExitCode.usage.rawValue)
        }
        #expect(
            try tool.run("serve", "data", "--everybody", "--revs-limit", "0").status
                == ExitCode.usage.rawValue)
    }

    @Test func `tree draws the recent revisions, and all when it is asked to`() throws {
        let history = (1...60).reversed().map { "\($0)-x\($0)" }.joined(separator: ",")
        try tool.run("create", "db")
        #expect(try tool.run("put", "db", "d", "--history", history, input: "{}").status == 0)
        #expect(!(try tool.run("tree", "db", "d").out.contains("31-x31")))
        #expect(try tool.run("tree", "db", "d").out.contains("60-x60"))
        #expect(try tool.run("tree", "db", "d", "--all").out.contains(" 2-x2 "))
    }
}
