// SPDX-License-Identifier: Apache-2.0

package import Divan
import DivanLMDB
import FoundationEssentials

/// A database with one of every kind of value, ID and row, and what it answers.
///
/// Each format of files has such a database in Tests/Compatibility, as the release wrote it that wrote this format
/// first. `scripts/golden` makes one of the present format.
package enum GoldenDatabase {
    /// The key of the encrypted ones.
    package static func key() throws -> EncryptionKey {
        try EncryptionKey(rawBytes: (0..<32).map { $0 })
    }

    /// Makes a database and the file of its answers in a folder that does not exist yet.
    static func make(_ arguments: [String]) throws {
        let kind = try arguments.argument(1)
        let isPartitioned = kind == "partitioned"
        guard let keeping = Keeping(rawValue: isPartitioned ? "sqlite" : kind) else {
            throw WrongArguments()
        }
        let folder = URL(filePath: try arguments.argument(0))
        let manager = FileManager.default
        // A folder that has been released is never made anew.
        guard !manager.fileExists(atPath: folder.path(percentEncoded: false)) else {
            Report.trouble("\(folder.path(percentEncoded: false)) is there already.")
        }
        try manager.createDirectory(at: folder, withIntermediateDirectories: true)
        var options = DatabaseOptions()
        options.create = true
        options.storageEngine = keeping == .lmdb ? .lmdb : .sqlite
        if keeping == .encrypted { options.encryptionKey = try key() }
        if isPartitioned { options.partitioned = true }
        let database = try Database.open(at: folder.appending(path: "app.divan"), options: options)
        if isPartitioned { try fillPartitions(database) } else { try fill(database) }
        let text = try answers(database).joined(separator: "\n") + "\n"
        database.close()
        // LMDB's table of readers, which is this machine's.
        let table = folder.appending(path: "app.divan/data-1/main.mdb-lock")
        if keeping == .lmdb { try manager.removeItem(at: table) }
        try Data(text.utf8).write(to: folder.appending(path: "answers.txt"))
    }

    private static func fill(_ database: Database) throws {
        try fillWithValues(database)
        try fillWithHistories(database)
        try fillWithAttachments(database)
        try database.putLocalDocument("checkpoint", ["seq": 7])
        try database.setRevisionBodyLimit(15)
    }

    /// Two partitions, with the documents that tests write on.
    private static func fillPartitions(_ database: Database) throws {
        for partition in ["a", "é"] {
            for name in ["edited", "numbers"] {
                try database.save(
                    MutableDocument(["n": 1], id: DocumentID(partition: partition, name)))
            }
        }
        try database.save(MutableDocument(["views": [:]], id: "_design/example"))
        try database.putLocalDocument("checkpoint", ["seq": 7])
    }

    private static func fillWithValues(_ database: Database) throws {
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
    }

    private static func fillWithHistories(_ database: Database) throws {
        // One that is cut, and one long enough for blocks of older revisions.
        for (id, edits) in [("edited", 25), ("edited often", 90)] {
            for n in 0..<edits {
                try database.put(
                    DocumentID(id), ["n": .integer(Int64(n))],
                    parent: database.document(withID: DocumentID(id))?.revisionID)
            }
        }
        try database.save(MutableDocument(["n": 1], id: "deleted"))
        try database.delete("deleted")
        try database.save(MutableDocument(["n": 1], id: "conflict"))
        try database.update("conflict") { $0["n"] = 2 }
        try database.putExistingRevision("conflict", ["n": 3], history: ["2-abc", "1-other"])
        try database.putExistingRevision(
            "conflict", [:], history: ["3-ff", "2-ee", "1-other"], isDeleted: true)
        try database.save(MutableDocument(["n": 1], id: "purged"))
        try database.purge("purged")
        try database.save(MutableDocument(["n": 1], id: "expiring"))
        try database.setExpiration(of: "expiring", at: Date(timeIntervalSince1970: 32_503_680_000))
    }

    private static func fillWithAttachments(_ database: Database) throws {
        let document = MutableDocument(["n": 1], id: "attachments")
        document.setAttachment(named: "empty", contentType: nil, .bytes([]))
        document.setAttachment(named: "short", contentType: "text/plain", .bytes(Array("x".utf8)))
        // Longer than a unit of an encrypted file.
        let long = (0..<70_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
        document.setAttachment(named: "long ✓", contentType: nil, .bytes(long))
        document["blob"] = Blob(contentType: nil, Array("in a blob".utf8))
        try database.save(document)
        try database.update("attachments") { $0.removeAttachment(named: "short") }
    }

    /// What a database says, a line for each answer.
    package static func answers(_ database: Database) throws -> [String] {
        var lines = ["UUIDs \(database.publicUUID) \(database.privateUUID)"]
        lines.append(
            "last sequence \(try database.lastSequence), \(try database.documentCount) documents")
        lines.append(
            "depth \(try database.revisionBodyLimit), conflicts \(try database.hasConflicts())")
        lines.append("problems \(try database.verify())")
        var options = AllDocumentsOptions()
        options.includeDeleted = true
        for row in try database.allDocuments(options) {
            lines.append("document \(row.id) \(row.revisionID) at \(row.sequence)")
            lines += try answers(row.id, database)
        }
        for change in try database.changes().changes {
            let revisions = change.revisions.map(\.description)
            lines.append(
                "change \(change.sequence) \(change.id) \(revisions) \(change.isDeleted)")
        }
        let local = try database.localDocument("checkpoint")
        lines.append("local \(local.map { "\(JSONValue.object($0))" } ?? "none")")
        return lines
    }

    private static func answers(_ id: DocumentID, _ database: Database) throws -> [String] {
        var lines: [String] = []
        let nodes = try database.revisionTree(of: id)?.nodes ?? []
        for node in nodes {
            lines.append("  \(node.id) \(node.isTombstone) \(node.isLeaf) \(node.sequence ?? 0)")
        }
        let history = try database.revisionHistory(of: id)
        if history.count > nodes.count {
            let texts = history.map(\.description).joined(separator: " ")
            lines.append("  \(history.count) revisions, \(short(texts))")
        }
        for leaf in try database.leafRevisions(of: id) {
            lines.append("  \(leaf.revisionID) \(short(leaf.toJSON()))")
            for attachment in leaf.attachments.sorted(by: { $0.name < $1.name }) {
                let content = try attachment.content().map { String($0) }
                lines.append(
                    "  attachment \(attachment.name) \(short(content.joined(separator: " ")))")
            }
        }
        if let date = try database.expirationDate(of: id) {
            lines.append("  expires \(date.timeIntervalSince1970)")
        }
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
