// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import FoundationEssentials
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Databases made to keep an import busy without end: it ends, and says why.
@Suite(.timeLimit(.minutes(10))) struct CouchbaseLiteHostileTests {
    private let directory: TestDirectory
    private let manager: Manager
    private let sample: CouchbaseLiteSample

    init() throws { (directory, manager, sample) = try CouchbaseLiteSample.withGoodDocument() }

    private func importIt() throws -> CouchbaseLiteImport {
        sample.close()
        return try manager.importCouchbaseLite(at: URL(filePath: sample.path))
    }

    /// A newer release would not read such a file either.
    private static let remedy = "; import a file that is as its app has written it."

    /// Rows without an end, with all columns of all tables.
    private static func endless(_ name: String) -> String {
        "CREATE VIEW \(name) AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
            + "SELECT x doc_id, 'd' || x docid, NULL expiry_timestamp, x sequence, '1-a' revid, NULL parent, "
            + "1 current, 0 deleted, '{}' json, 'k' || x key, 'v' value, 'r' remote, '1' last_sequence, "
            + "'f' filename FROM c"
    }

    @Test(arguments: [
        "docs", "revs", "localdocs", "info", "replicators", "attachments", "LocalDocs",
    ])
    func `a view in the place of a table is refused, and not read`(name: String) throws {
        try sample.run("DROP TABLE IF EXISTS \(name)")
        try sample.run(Self.endless(name))
        let error = #expect(throws: DatabaseError.self) { try importIt() }
        #expect(
            error?.message.contains("is a view or a virtual table") ?? false,
            "\(String(describing: error))")
        #expect(error?.message.hasSuffix(Self.remedy) ?? false)
        #expect(!manager.databaseExists(named: "shop"))
    }

    @Test func `a table that lacks a column is told of with what to do`() throws {
        try sample.run("CREATE TABLE plain (sequence, doc_id, revid, parent, deleted, json)")
        try sample.run("DROP TABLE revs")
        try sample.run("ALTER TABLE plain RENAME TO revs")
        let error = #expect(throws: DatabaseError.self) { try importIt() }
        #expect(error?.code == .corrupted)
        #expect(error?.message.hasSuffix(Self.remedy) ?? false, "\(String(describing: error))")
        #expect(!manager.databaseExists(named: "shop"))
    }

    @Test func `a pipe in the place of an attachment is one that is lost`() throws {
        try sample.document(2, "attached")
        try sample.revision(
            2, of: 2, "1-a",
            #"{"_attachments":{"f":\#(CouchbaseLiteSample.stub(CouchbaseLiteSample.helloDigest, length: 5))}}"#
        )
        let name = CouchbaseLiteSample.hexadecimal(CouchbaseLiteSample.helloDigest).uppercased()
        try #require(mkfifo("\(sample.path)/attachments/\(name).blob", 0o600) == 0)
        let problems = try importIt().problems.map(\.message)
        #expect(problems.count == 1 && problems[0].contains("is lost"), "\(problems)")
        #expect(try manager.database(named: "shop").existing("attached").revisionID == "1-a")
    }
}
