// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import DivanCommand

/// `divan query`, as a child process.
@Suite struct QueryCommandTests {
    private let tool: TestTool

    init() throws {
        tool = try TestTool()
        let lines = (0..<20).map { number in
            "{\"_id\":\"d\(100 + number)\",\"n\":\(number),\"even\":\(number % 2 == 0),"
                + "\"at\":{\"city\":\"\(number < 10 ? "Oslo" : "Rome")\"}}\n"
        }
        try tool.run("import", "db", "--create", input: lines.joined())
    }

    @Test func `a selector prints a document a line`() throws {
        let result = try tool.run("query", "db", #"{"n":{"$gte":18}}"#)
        #expect(result.lines.count == 2)
        #expect(result.lines[0].hasPrefix(#"{"_id":"d118","_rev":"1-"#))
        #expect(result.err.contains("No index"))
        #expect(try tool.run("query", "db", input: #"{"n":3}"#).lines.count == 1)
    }

    @Test func `fields, order and window come from options or from the query`() throws {
        let options = try tool.run(
            "query", "db", #"{"even":true}"#, "--fields", "_id,at.city", "--sort", "at.city,-n",
            "--limit", "2", "--skip", "4")
        #expect(
            options.lines == [
                #"{"_id":"d100","at":{"city":"Oslo"}}"#, #"{"_id":"d118","at":{"city":"Rome"}}"#,
            ])
        let query = try tool.run(
            "query", "db",
            #"{"selector":{"even":true},"fields":["n"],"sort":[{"n":"desc"}],"limit":2}"#)
        #expect(query.lines == [#"{"n":18}"#, #"{"n":16}"#])
        let bookmark = try #require(query.err.split(separator: " ").last).trimmingCharacters(
            in: .whitespacesAndNewlines)
        let next = try tool.run(
            "query", "db", #"{"even":true}"#, "-f", "n", "--sort=-n", "--limit", "2",
            "--bookmark", bookmark)
        #expect(next.lines == [#"{"n":14}"#, #"{"n":12}"#])
    }

    @Test func `a table has a column for each field`() throws {
        let table = try tool.run(
            "query", "db", #"{"n":{"$lt":2}}"#, "--table", "-f", "_id,at.city,x", "-s", "n")
        #expect(
            table.lines == ["_id   at.city  x", "d100  Oslo     -", "d101  Oslo     -"])
        #expect(try tool.run("query", "db", "{}", "--table").status == 2)
    }

    @Test func `an explanation tells what is read`() throws {
        let explanation = try tool.run("query", "db", #"{"n":3}"#, "--explain", "--update")
        #expect(explanation.out.contains("Reads all documents"))
        #expect(explanation.out.contains("found 1"))
    }

    @Test func `what makes no sense is refused`() throws {
        let bad = try tool.run("query", "db", #"{"n":{"$what":1}}"#)
        #expect(bad.status != 0)
        #expect(bad.err.contains("n.$what"))
        #expect(try tool.run("query", "db", #"{"selector":{},"what":1}"#).status != 0)
        #expect(try tool.run("query", "db", "not json").status != 0)
        #expect(try tool.run("query", "db", "{}", "--index", "nowhere").status != 0)
    }

    @Test func `a query of expressions prints its columns`() throws {
        let query = #"""
            {"WHAT": [["._id"], ["AS", ["*", [".n"], 2], "twice"]],
             "WHERE": ["BETWEEN", [".n"], 3, 5], "ORDER_BY": [["DESC", [".n"]]]}
            """#
        let result = try tool.run("query", "db", query)
        #expect(result.status == 0)
        #expect(result.lines.count == 3)
        #expect(result.lines.first?.contains(#""twice":10"#) == true)
        let table = try tool.run("query", "db", query, "--table")
        #expect(table.lines.first?.hasSuffix("twice") == true && table.lines.count == 4)
        #expect(try tool.run("query", "db", query, "--explain").out.contains("all documents"))
        #expect(try tool.run("query", "db", query, "--limit", "2").status == 2)
        #expect(try tool.run("query", "db", #"{"WHERE": ["WHAT?", 1]}"#).status != 0)
    }

    @Test func `a live query prints each result until it is interrupted`() throws {
        for query in [#"{"n":{"$gt":18}}"#, #"{"WHAT":[[".n"]],"WHERE":[">",[".n"],18]}"#] {
            let child = try tool.start(["query", "db", query, "--live"])
            defer { child.interrupt() }
            #expect(child.waitForOutput(#""n":19"#))
            #expect(try tool.run("put", "db", "new", input: #"{"n":77}"#).status == 0)
            #expect(child.waitForOutput(#""n":77"#))
            child.interrupt()
            _ = try child.wait()
            #expect(try tool.run("rm", "db", "new").status == 0)
        }
    }
}
