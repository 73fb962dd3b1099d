// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestChild
import FoundationEssentials
import Testing

/// Databases that earlier releases wrote are read as they were, and written on.
///
/// Each format has a folder in Tests/Compatibility with a database and what it must answer. The README
/// there says how a new one is made.
@Suite struct CompatibilityTests {
    /// The key of the encrypted ones.
    private static func key(of format: String) throws -> EncryptionKey? {
        ["2", "4"].contains(format) ? try EncryptionKey(rawBytes: (0..<32).map { $0 }) : nil
    }

    private static func open(
        _ path: String, _ format: String, _ adjust: (inout DatabaseOptions) -> Void
    ) throws -> Database {
        var options = DatabaseOptions()
        options.encryptionKey = try key(of: format)
        if options.encryptionKey != nil { options.storageEngine = .sqlite }
        adjust(&options)
        return try Database.open(at: URL(filePath: path), options: options)
    }

    @Test func `an encrypted database of an earlier release is read with its key alone`() throws {
        let folder = Self.folder.appending(path: "format-2")
        let directory = try TestDirectory("compatibility")
        let path = directory.path("app.divan")
        try FileManager.default.copyItem(
            atPath: folder.appending(path: "app.divan").path(percentEncoded: false), toPath: path)
        let expected = try String(
            contentsOf: folder.appending(path: "answers.txt"), encoding: .utf8)
        let database = try Self.open(path, "2") { $0.readOnly = true }
        #expect(database.isEncrypted)
        #expect(try Self.answers(database) == expected.split(separator: "\n").map(String.init))
        database.close()
        let other = try EncryptionKey(rawBytes: [UInt8](repeating: 1, count: 32))
        #expect(code { try Self.open(path, "2") { $0.encryptionKey = other } } == .unauthorized)
        #expect(code { try Self.open(path, "1") { $0.readOnly = true } } == .unauthorized)
    }

    @Test(arguments: [1, 2])
    func `a database of an earlier format gives the answers it gave then`(_ format: Int) throws {
        let folder = Self.folder.appending(path: "format-\(format)")
        let directory = try TestDirectory("compatibility")
        try FileManager.default.copyItem(
            atPath: folder.appending(path: "app.divan").path(percentEncoded: false),
            toPath: directory.path("app.divan"))
        let expected = try String(
            contentsOf: folder.appending(path: "answers.txt"), encoding: .utf8)
        let database = try Self.open(directory.path("app.divan"), "\(format)") { _ in }
        defer { database.close() }
        let answers = try Self.answers(database)
        for (now, then) in zip(answers, expected.split(separator: "\n")) { #expect(now == then) }
        #expect(answers.count == expected.split(separator: "\n").count)
        // Written on, it stays sound, and sequences go on where they were.
        let last = try database.lastSequence
        #expect(
            try database.save(MutableDocument(["n": 1], id: "new")).document.sequence == last + 1)
        try database.update("numbers") { $0["more"] = true }
        try database.compact()
        #expect(try database.verify().isEmpty)
    }

    @Test(
        .enabled(
            if: ProcessInfo.processInfo.environment["DIVAN_WRITE_COMPATIBILITY"] != nil,
            "It writes a fixture, when DIVAN_WRITE_COMPATIBILITY names its format."))
    func `a database of the current format is written anew`() throws {
        let format = ProcessInfo.processInfo.environment["DIVAN_WRITE_COMPATIBILITY"] ?? ""
        let folder = Self.folder.appending(path: "format-\(format)")
        try? FileManager.default.removeItem(at: folder)
        let path = folder.appending(path: "app.divan").path(percentEncoded: false)
        let database = try Self.open(path, format) { $0.create = true }
        try Self.fill(database)
        let answers = try Self.answers(database).joined(separator: "\n") + "\n"
        database.close()
        try Data(answers.utf8).write(to: folder.appending(path: "answers.txt"))
    }

    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Compatibility").standardized

    /// One of every kind of value, ID and row.
    private static func fill(_ database: Database) throws {
        let numbers = """
            {"zero":0,"negativeZero":-0.0,"integer":9007199254740993,"least":-9223372036854775808,
            "unsigned":18446744073709551615,"big":123456789012345678901234567890,"double":0.1,
            "whole":1.0,"tiny":5e-324,"huge":1.7976931348623157e308,"beyond":1e400}
            """
        try database.save(MutableDocument(json: numbers, id: "numbers"))
        let texts =
            #"{"":"empty key","é":"é","𝄞":"𝄞 \u0000 \n \" \\","nested":[[],{},[null,true,false,[{"a":{"b":[1]}}]]]}"#
        try database.save(MutableDocument(json: texts, id: "text ✓ é"))
        try database.save(MutableDocument([:], id: "empty"))
        try database.save(MutableDocument(["n": 1], id: "01234567-89ab-7def-8123-456789abcdef"))
        try database.save(MutableDocument(["views": [:]], id: "_design/example"))
        var wide: JSONObject = [:]
        for n in 0..<40 { wide["key-\(n)"] = .integer(Int64(n)) }
        try database.save(MutableDocument(wide, id: "wide"))
        let long = String(repeating: "abcdefghijklmno ", count: 1_026)
        try database.save(MutableDocument(["long": .string(long)], id: "large"))
        for n in 0..<25 {
            try database.put(
                "edited", ["n": .integer(Int64(n))],
                parent: database.document(withID: "edited")?.revisionID)
        }
        try database.save(MutableDocument(["n": 1], id: "deleted"))
        try database.delete("deleted")
        try database.save(MutableDocument(["n": 1], id: "conflict"))
        try database.update("conflict") { $0["n"] = 2 }
        try database.putExistingRevision("conflict", history: ["2-abc", "1-other"], ["n": 3])
        try database.putExistingRevision(
            "conflict", history: ["3-ff", "2-ee", "1-other"], isDeleted: true, [:])
        try database.save(MutableDocument(["n": 1], id: "purged"))
        try database.purge("purged")
        try database.putLocalDocument("checkpoint", ["seq": 7])
        try database.setMaxRevTreeDepth(15)
    }

    /// What a database says, a line for each answer.
    private static func answers(_ database: Database) throws -> [String] {
        var lines = ["UUIDs \(database.publicUUID) \(database.privateUUID)"]
        lines.append(
            "last sequence \(try database.lastSequence), \(try database.documentCount) documents")
        lines.append(
            "depth \(try database.maxRevTreeDepth), conflicts \(try database.hasConflicts())")
        lines.append("problems \(try database.verify())")
        var options = AllDocumentsOptions()
        options.includeDeleted = true
        for row in try database.allDocuments(options) {
            lines.append("document \(row.id) \(row.revisionID) at \(row.sequence)")
            let tree = try database.revisionTree(of: row.id)
            for node in tree?.nodes ?? [] {
                lines.append(
                    "  \(node.id) \(node.isTombstone) \(node.isLeaf) \(node.sequence ?? 0)")
            }
            for leaf in try database.leafRevisions(of: row.id) {
                lines.append("  \(leaf.revisionID) \(Self.short(leaf.toJSON()))")
            }
        }
        for change in try database.changes().changes {
            lines.append(
                "change \(change.sequence) \(change.id) \(change.revisions) \(change.isDeleted)")
        }
        let local = try database.localDocument("checkpoint")
        lines.append("local \(local.map { "\(JSONValue.object($0))" } ?? "none")")
        return lines
    }

    /// A text, or the beginning of a long one with its length and a sum over all of it (FNV-1a).
    private static func short(_ text: String) -> String {
        guard text.utf8.count > 1_000 else { return text }
        let sum = text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01B3
        }
        return "\(text.prefix(40)) and so on, \(text.utf8.count) bytes, \(String(sum, radix: 16))"
    }
}
