// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

/// Processes that make a database at the same path at the same time.
@Suite struct SimultaneousCreationTests {
    private let tool: TestTool

    init() throws {
        tool = try TestTool()
        try tool.run("import", "db", "--create", input: #"{"_id":"a"}"#)
    }

    @Test(arguments: [
        [["create", "new"]], [["install", "db", "new"]], [["backup", "db", "new.divan"]],
        [["create", "new", "--partitioned"], ["create", "new"], ["install", "db", "new"]],
    ])
    func `one of many makes the database, and the others are told that it exists`(
        _ lines: [[String]]
    ) throws {
        for _ in 0..<4 {
            let results = try runTogether(lines)
            #expect(results.map(\.status).sorted() == [0, 4, 4, 4, 4, 4])
            for loser in results where loser.status != 0 { #expect(loser.err.contains("already")) }
            #expect(try tool.run("verify", "new").status == 0)
            try FileManager.default.removeItem(atPath: tool.path("new.divan"))
        }
    }

    @Test func `all that are told so take the database that one of them makes`() throws {
        let results = try runTogether([["create", "new", "--if-missing"]])
        #expect(results.map(\.status) == [0, 0, 0, 0, 0, 0])
    }

    /// Runs six processes, which do what the lines say in turn.
    private func runTogether(_ lines: [[String]]) throws -> [TestTool.Result] {
        let children = try (0..<6).map { try tool.start(lines[$0 % lines.count]) }
        return try children.map { try $0.wait() }
    }
}
