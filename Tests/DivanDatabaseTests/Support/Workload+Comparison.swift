// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

// What must be equal after each step, and what only now and then, because it reads everything.
extension Workload {
    /// A difference between the database and its reference.
    struct Difference: Error, CustomStringConvertible { var description: String }

    private func expect(_ isEqual: Bool, _ what: @autoclosure () -> String) throws {
        if !isEqual { throw Difference(description: what()) }
    }

    /// Compares the counters and one document.
    func compare(_ id: DocumentID) throws {
        try expect(database.lastSequence == reference.lastSequence, "last sequence")
        try expect(database.documentCount == reference.liveCount, "document count")
        try expect(database.hasConflicts() == reference.hasConflicts, "has conflicts")
        guard !id.text.isEmpty else { return }
        guard let record = reference.documents[id] else {
            try expect(try database.revisionTree(of: id) == nil, "\(id) should not exist")
            try expect(try database.document(withID: id) == nil, "\(id) should not exist")
            return
        }
        let current = try database.document(withID: id)
        try expect(current?.revisionID == (record.isDeleted ? nil : record.winner), "\(id) current")
        guard let tree = try database.revisionTree(of: id) else {
            throw Difference(description: "\(id) has no tree")
        }
        try tree.checkInvariants()
        try expect(tree.leaves.map(\.id) == record.leaves, "\(id) leaves")
        try expect(
            Set(tree.nodes.map(\.id)) == Set(record.revisions.keys), "\(id) revisions")
        for node in tree.nodes {
            let revision = node.id
            let expected = record.revisions[revision]
            try expect(
                node.parent.map { tree.nodes[$0].id } == expected?.parent,
                "\(id) \(revision) parent")
            if let body = expected?.body {
                let document = try database.document(withID: id, revision: revision)
                try expect(document?.properties == body, "\(id) \(revision) body")
                try expect(document?.isDeleted == expected?.isDeleted, "\(id) \(revision) deleted")
            } else {
                let failure = code { try database.document(withID: id, revision: revision) }
                try expect(failure == .revisionNotFound, "\(id) \(revision) should have no body")
            }
        }
    }

    /// Compares everything.
    func compareAll() throws {
        for id in Set(reference.documents.keys) { try compare(id) }
        let batch = try database.changes()
        try expect(batch.changes == reference.changes, "changes feed")
        try expect(batch.lastSequence == reference.lastSequence, "end of the changes feed")

        var options = AllDocumentsOptions()
        options.includeDeleted = true
        options.includeDocuments = true
        let rows = try database.allDocuments(options)
        try expect(rows.map(\.id) == reference.documents.keys.sorted(), "all documents")
        for row in rows {
            let record = reference.documents[row.id]
            try expect(row.revisionID == record?.winner, "\(row.id) row's revision")
            try expect(
                row.document?.properties == record?.revisions[row.revisionID]?.body,
                "\(row.id) row's document")
        }

        var scanned: [DocumentID: JSONObject] = [:]
        try database.read { transaction in
            try transaction.scan { row throws in
                let document = try row.document()
                try expect(scanned[document.id] == nil, "\(document.id) scanned twice")
                scanned[document.id] = document.properties
                try expect(
                    try row.int64(forKey: "n") == document["n"].int64, "\(document.id) in place")
            }
        }
        let live = reference.documents.filter { !$0.value.isDeleted }
            .mapValues { $0.revisions[$0.winner]?.body ?? [:] }
        try expect(scanned == live, "scan")

        let problems = try database.verify().map(\.message)
        try expect(problems.isEmpty, "verify: \(problems.prefix(5))")
    }
}
