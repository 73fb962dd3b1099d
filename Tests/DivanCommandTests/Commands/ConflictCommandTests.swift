// SPDX-License-Identifier: Apache-2.0

import Divan
import Foundation
import Testing

@testable import DivanCommand

/// The commands that list and end conflicts, as a child process.
@Suite struct ConflictCommandTests {
    private let tool: TestTool

    init() throws {
        tool = try TestTool()
        try tool.run("create", "db")
    }

    /// Makes a document with two live leaves, and returns their revision IDs, the winner first.
    @discardableResult
    private func conflict(_ id: DocumentID, _ one: JSONObject, _ other: JSONObject) throws
        -> [String]
    {
        let url = URL(fileURLWithPath: tool.path("db.divan"))
        let database = try Database.open(at: url)
        defer { database.close() }
        let first = try database.save(MutableDocument(["n": 0], id: id)).document
        for side in [one, other] {
            try database.put(id, side, parent: first.revisionID, options: .allowConflict)
        }
        return try database.conflictingRevisions(of: id).map(\.revisionID.description)
    }

    @Test func `conflicts lists documents with their live leaves`() throws {
        try tool.run("put", "db", "plain", "{}")
        #expect(try tool.run("conflicts", "db").out.isEmpty)
        let revisions = try conflict("n1", ["n": 1], ["n": 2])
        try conflict("n2", ["n": 1], ["n": 2])
        let result = try tool.run("conflicts", "db")
        #expect(result.status == 0)
        #expect(result.lines.first == (["n1"] + revisions).joined(separator: "  "))
        #expect(result.lines.count == 2)
        #expect(try tool.run("conflicts", "db", "--start", "n2").lines.count == 1)
        let json = try tool.run("conflicts", "db", "--json", "-n1").out
        #expect(
            json.hasPrefix(
                "{\"id\":\"n1\",\"winner\":\"\(revisions[0])\",\"others\":[\"\(revisions[1])\"],"
                    + "\"ancestor\":\"1-"))
        #expect(json.hasSuffix("\"ancestor_has_body\":true}\n"))
    }

    @Test func `resolve keeps the revision that is named`() throws {
        let revisions = try conflict("n1", ["n": 1], ["n": 2])
        let result = try tool.run("resolve", "db", "n1", "--keep", revisions[1])
        #expect(result.status == 0)
        #expect(result.out == "{\"id\":\"n1\",\"rev\":\"\(revisions[1])\"}\n")
        #expect(try tool.run("conflicts", "db").out.isEmpty)
        #expect(try tool.run("get", "db", "n1").out.contains(revisions[1]))
        let again = try tool.run("resolve", "db", "n1", "--winner")
        #expect(again.status == 0)
        #expect(again.err == "Document \"n1\" is not in conflict.\n")
    }

    @Test func `resolve merges properties`() throws {
        try conflict("n1", ["n": 0, "a": 1], ["n": 5, "b": 2])
        #expect(try tool.run("resolve", "db", "n1", "--merge").status == 0)
        let merged = try tool.run("get", "db", "n1").out
        for part in ["\"a\":1", "\"b\":2", "\"n\":5"] {
            #expect(merged.replacing(" ", with: "").contains(part))
        }
        #expect(try tool.run("verify", "db").status == 0)
    }

    @Test func `resolve keeps the latest, or deletes`() throws {
        try conflict("n1", ["at": "2026-01-01T00:00:00Z"], ["at": "2026-01-02T00:00:00Z"])
        try tool.run("resolve", "db", "n1", "--latest", "at")
        #expect(try tool.run("get", "db", "n1").out.contains("2026-01-02"))
        try conflict("n2", ["n": 1], ["n": 2])
        let result = try tool.run("resolve", "db", "n2", "--delete")
        #expect(result.out.hasSuffix("\"deleted\":true}\n"))
        #expect(try tool.run("get", "db", "n2").status == 3)
    }

    @Test func `resolve ends all conflicts at once`() throws {
        for number in 0..<5 { try conflict("n\(number)", ["n": 1], ["n": 2]) }
        let result = try tool.run("resolve", "db", "--all", "--winner")
        #expect(result.status == 0)
        #expect(result.err == "Resolved 5 conflicts.\n")
        #expect(try tool.run("conflicts", "db").out.isEmpty)
    }

    @Test func `resolve says what it did not understand or find`() throws {
        try conflict("n1", ["n": 1], ["n": 2])
        #expect(try tool.run("resolve", "db", "n1").status == 2)
        #expect(try tool.run("resolve", "db", "n1", "--merge", "--delete").status == 2)
        #expect(try tool.run("resolve", "db", "--merge").status == 2)
        #expect(try tool.run("resolve", "db", "n1", "--all", "--merge").status == 2)
        #expect(try tool.run("resolve", "db", "--all", "--keep", "1-a").status == 2)
        #expect(try tool.run("resolve", "db", "nowhere", "--merge").status == 3)
        #expect(try tool.run("resolve", "db", "n1", "--keep", "1-a").status == 3)
        #expect(try tool.run("conflicts", "db").lines.count == 1)
    }
}
