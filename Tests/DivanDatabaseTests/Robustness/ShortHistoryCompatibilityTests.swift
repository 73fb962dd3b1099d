// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanLMDB
import enum DivanTestSupport.TestFolder
import FoundationEssentials
import Testing

/// Databases of the time when a document forgot its revisions beyond the newest 20 of a branch.
///
/// `history-20-sqlite` and `history-20-lmdb` in Tests/Compatibility hold documents that were edited more
/// often than that, in all forms. They are read as they were, and written on.
@Suite struct ShortHistoryCompatibilityTests {
    private static func folder(_ engine: String) -> URL {
        TestFolder.tests.appending(path: "Compatibility/history-20-\(engine)")
    }

    private static func open(
        _ path: String, _ adjust: (inout DatabaseOptions) -> Void = { _ in }
    ) throws -> Database {
        var options = DatabaseOptions()
        adjust(&options)
        return try Database.open(at: URL(filePath: path), options: options)
    }

    /// A copy that a test may write to, and what it must answer.
    private static func copy(_ engine: String, in directory: TestDirectory) throws -> (
        path: String, answers: [String]
    ) {
        let path = directory.path("app.divan")
        try FileManager.default.copyItem(
            atPath: folder(engine).appending(path: "app.divan").path(percentEncoded: false),
            toPath: path)
        let text = try String(
            contentsOf: folder(engine).appending(path: "answers.txt"), encoding: .utf8)
        return (path, text.split(separator: "\n").map(String.init))
    }

    @Test(arguments: ["sqlite", "lmdb"], [true, false])
    func `a database with short histories gives the answers it gave then`(
        _ engine: String, _ readOnly: Bool
    ) throws {
        let directory = try TestDirectory("short-history")
        let (path, expected) = try Self.copy(engine, in: directory)
        let database = try Self.open(path) { $0.readOnly = readOnly }
        defer { database.close() }
        #expect(database.storageEngineName == engine)
        let answers = try Self.answers(database)
        for (now, then) in zip(answers, expected) { #expect(now == then) }
        #expect(answers.count == expected.count)
    }

    @Test(arguments: ["sqlite", "lmdb"])
    func `a database with short histories is written on`(_ engine: String) throws {
        let directory = try TestDirectory("short-history")
        let path = try Self.copy(engine, in: directory).path
        let database = try Self.open(path)
        defer { database.close() }
        for row in try database.allDocuments() {
            let before = try database.revisionHistory(of: row.id)
            try database.update(row.id) { $0["more"] = true }
            let after = try database.revisionHistory(of: row.id)
            #expect(Array(after.dropFirst().prefix(19)) == Array(before.prefix(19)))
        }
        #expect(try database.verify().isEmpty)
        try database.compact()
        #expect(try database.verify().isEmpty)
    }

    private static func setView(of database: Database) {
        database.view(named: "byTag").setMap(version: "1") { document, emit in
            if document["tag"].string != nil { emit(document["tag"], document["n"]) }
        }
    }

    /// What a database says, a line for each answer.
    private static func answers(_ database: Database) throws -> [String] {
        var lines = ["UUIDs \(database.publicUUID) \(database.privateUUID)"]
        lines.append(
            "last sequence \(try database.lastSequence), \(try database.documentCount) documents")
        lines.append("problems \(try database.verify())")
        var options = AllDocumentsOptions()
        options.includeDeleted = true
        for row in try database.allDocuments(options) {
            lines.append("document \(row.id) \(row.revisionID) at \(row.sequence)")
            for node in try database.revisionTree(of: row.id)?.nodes ?? [] {
                lines.append(
                    "  \(node.id) \(node.isTombstone) \(node.isLeaf) \(node.sequence ?? 0)")
            }
            for leaf in try database.leafRevisions(of: row.id) {
                lines.append("  \(leaf.revisionID) \(leaf.toJSON())")
                for attachment in leaf.attachments {
                    let content = String(decoding: try attachment.content(), as: UTF8.self)
                    lines.append("  attachment \(attachment.name): \(content)")
                }
            }
        }
        for change in try database.changes().changes {
            let revisions = change.revisions.map(\.description)
            lines.append(
                "change \(change.sequence) \(change.id) \(revisions) \(change.isDeleted)")
        }
        for index in try database.indexes() { lines.append("index \(index.name)") }
        setView(of: database)
        for row in try database.view(named: "byTag").query().run() {
            let value = row.value.map { "\($0)" } ?? ""
            lines.append("row \(row.key) \(row.documentID ?? "") \(value)")
        }
        let local = try database.localDocument("checkpoint")
        lines.append("local \(local.map { "\(JSONValue.object($0))" } ?? "none")")
        return lines
    }
}
