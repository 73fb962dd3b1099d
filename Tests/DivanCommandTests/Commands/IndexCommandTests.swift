// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// Views, searches and indexes from the shell.
@Suite struct IndexCommandTests {
    private let tool: TestTool

    init() throws {
        tool = try TestTool()
        let lines = (0..<12).map {
            #"{"_id":"o\#($0)","type":"order","day":{"year":\#(2020 + $0 / 6)},"total":\#($0),"#
                + #""lines":[{"sku":"a\#($0 % 3)"},{"sku":"b"}],"note":"The \#($0)th order of cats"}"#
        }
        try tool.run("import", "db", "--create", input: lines.joined(separator: "\n"))
        try tool.write(
            #"{"key":["day.year","total"],"value":"total","type":"order","reduce":"sum"}"#,
            to: "totals.json")
    }

    @Test func `a view is defined by key paths, queried, and found again`() throws {
        let rows = try tool.run(
            "view", "db", "totals", "--define", "totals.json", "-r", "--start", "[2021]", "-n2")
        #expect(rows.lines == ["[2021,6]  6  o6", "[2021,7]  7  o7"])
        let groups = try tool.run("view", "db", "totals", "-g", "1", "--json")
        #expect(
            groups.lines == [#"{"key":[2020],"value":15}"#, #"{"key":[2021],"value":51}"#])
        #expect(try tool.run("view", "db", "totals").lines == ["null  66"])
        let prefix = try tool.run(
            "view", "db", "totals", "-r", "--prefix", "[2020]", "--descending", "-n1")
        #expect(prefix.lines == ["[2020,5]  5  o5"])
        let timed = try tool.run("view", "db", "totals", "--statistics")
        #expect(timed.err.contains("documents"))
    }

    @Test func `each element of an array may emit a row`() throws {
        try tool.write(#"{"each":"lines","key":"sku","value":"total"}"#, to: "skus.json")
        let rows = try tool.run(
            "view", "db", "skus", "--define", "skus.json", "--key", #""a2""#, "--key", #""a1""#)
        #expect(
            rows.lines.map { $0.prefix(4) } == Array(repeating: #""a2""#, count: 4)
                + Array(repeating: #""a1""#, count: 4))
    }

    @Test func `what makes no view is refused`() throws {
        #expect(try tool.run("view", "db", "none").status == 3)
        for text in ["{}", #"{"key":5}"#, #"{"key":"a","reduce":"x"}"#, #"{"key":"a","x":1}"#, "["]
        {
            try tool.write(text, to: "bad.json")
            #expect(try tool.run("view", "db", "v", "--define", "bad.json").status == 6)
        }
        #expect(
            try tool.run("view", "db", "none", "--define", "totals.json", "--key", "x").status == 2)
    }

    @Test func `texts are searched, and the index known the next time`() throws {
        #expect(try tool.run("search", "db", "cat").status == 3)
        let first = try tool.run(
            "search", "db", "cat 7th", "--on", "note", "--language", "english")
        #expect(first.lines == ["o7", "  The 7th order of cats"])
        #expect(first.err.contains("1 of 12 documents"))
        let again = try tool.run("search", "db", "orders", "--json", "-n", "1")
        #expect(again.out.hasPrefix(#"{"id":"o"#) && again.out.contains(#""snippet":"The "#))
        #expect(try tool.run("search", "db", "\"open").status != 0)
        #expect(
            try tool.run("search", "db", "x", "--on", "note", "--language", "xx").status == 2)
    }

    @Test func `indexes are listed and deleted`() throws {
        try tool.run("view", "db", "totals", "--define", "totals.json")
        try tool.run("search", "db", "cat", "--on", "note")
        let list = try tool.run("index", "db")
        #expect(list.lines.count == 2)
        #expect(list.out.contains("totals") && list.out.contains("12 rows"))
        #expect(list.out.contains("up to date"))
        try tool.run("put", "db", "late", input: "{}")
        #expect(try tool.run("index", "db", "--json").out.contains(#""current":false"#))
        #expect(try tool.run("index", "db", "--delete", "totals").status == 0)
        #expect(try tool.run("index", "db").lines.count == 1)
        #expect(try tool.run("index", "db", "--delete", "totals").status == 3)
    }

    @Test func `live rows are printed again when they change`() throws {
        try tool.run("view", "db", "totals", "--define", "totals.json")
        let child = try tool.start(["view", "db", "totals", "--live"])
        #expect(child.waitForOutput("null  66\n"))
        try tool.run(
            "put", "db", "o99", input: #"{"type":"order","day":{"year":2022},"total":34}"#)
        #expect(child.waitForOutput("null  100\n"))
        child.interrupt()
        #expect(try child.wait().status == 130)
    }
}
