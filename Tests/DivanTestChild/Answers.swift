// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport

/// What a database answers to every question its API has, to be compared with another time.
struct Answers {
    /// One question and its answer.
    struct Entry {
        var question: String
        /// The document asked about, when it is one.
        var documentID: DocumentID?
        var answer: Result<String, any Error>
    }

    private(set) var entries: [Entry] = []
    /// Documents whose content is not what their ID and number call for: there must be none, ever.
    private(set) var altered: [String] = []

    init(_ database: Database) {
        for id in DamageFixture.ids + ["last-0", "last-1"] { askAboutDocument(id, database) }
        for id in DamageFixture.localIDs { askAboutLocal(id, database) }
        askAboutAll(database)
        ask("UUIDs") { database.publicUUID + " " + database.privateUUID }
        ask("rev tree depth") { String(try database.revisionBodyLimit) }
    }

    // MARK: - Questions

    private mutating func askAboutDocument(_ id: DocumentID, _ database: Database) {
        var altered: [String] = []
        ask("contains", id) { String(try database.contains(id)) }
        ask("document", id) {
            try database.document(withID: id).map { Self.text($0, &altered) } ?? "none"
        }
        ask("tree", id) {
            guard let tree = try database.revisionTree(of: id) else { return "none" }
            return tree.nodes.map { node in
                "\(node.id) \(node.parent ?? -1) \(node.isTombstone) \(node.sequence ?? 0)"
            }.joined(separator: ", ")
        }
        ask("leaves", id) {
            try database.leafRevisions(of: id).map { Self.text($0, &altered) }.joined(
                separator: ", ")
        }
        ask("history", id) {
            try database.revisionHistory(of: id).map { revision in
                do {
                    let document = try database.document(withID: id, revision: revision)
                    return document.map { Self.text($0, &altered) } ?? "none"
                } catch let error as DatabaseError where error.code == .revisionNotFound {
                    return "gone"
                }
            }.joined(separator: ", ")
        }
        self.altered += altered
    }

    private mutating func askAboutLocal(_ id: DocumentID, _ database: Database) {
        var altered: [String] = []
        ask("local \(id)") {
            guard let object = try database.localDocument(id) else { return "none" }
            let number = object["n"]?.int64 ?? 0
            if object != KnownBody.make(id.text, Int(number)) { altered.append("local \(id)") }
            return String(number)
        }
        self.altered += altered
    }

    private mutating func askAboutAll(_ database: Database) {
        var altered: [String] = []
        ask("all documents") {
            try database.allDocuments().map { "\($0.id) \($0.revisionID)" }.joined(separator: ", ")
        }
        ask("all with documents, descending") {
            var options = AllDocumentsOptions()
            options.includeDeleted = true
            options.includeDocuments = true
            options.descending = true
            return try database.allDocuments(options).map { row in
                "\(row.id) \(row.sequence) \(row.isConflicted) "
                    + (row.document.map { Self.text($0, &altered) } ?? "none")
            }.joined(separator: ", ")
        }
        ask("conflicts") {
            var options = AllDocumentsOptions()
            options.onlyConflicts = true
            return try database.allDocuments(options).map(\.id.text).joined(separator: ", ")
        }
        ask("changes") {
            try database.changes().changes.map { "\($0)" }.joined(separator: ", ")
        }
        ask("changes in the middle") {
            let batch = try database.changes(since: 80, limit: 40)
            return batch.changes.map { "\($0)" }.joined(separator: ", ") + " \(batch.lastSequence)"
        }
        ask("scan") {
            try database.read { transaction in
                var lines: [String] = []
                try transaction.scan { scanned in
                    let number = try scanned.int64(forKey: "n").map(String.init) ?? "none"
                    lines.append("\(try scanned.id) \(scanned.sequence) \(number)")
                    _ = Self.text(try scanned.document(), &altered)
                }
                return lines.joined(separator: ", ")
            }
        }
        ask("counters") {
            "\(try database.documentCount) \(try database.lastSequence) \(try database.hasConflicts())"
        }
        self.altered += altered
    }

    // MARK: - Answers

    private mutating func ask(
        _ question: String, _ id: DocumentID? = nil, _ answer: () throws -> String
    ) {
        let entry = Entry(question: question, documentID: id, answer: Result { try answer() })
        entries.append(entry)
    }

    private static func text(_ document: Document, _ altered: inout [String]) -> String {
        if !KnownBody.isWhole(document) { altered.append("\(document)") }
        let number = document["n"].int64.map(String.init) ?? "none"
        return "\(document.revisionID) \(document.sequence) \(document.isDeleted) \(number)"
    }
}
