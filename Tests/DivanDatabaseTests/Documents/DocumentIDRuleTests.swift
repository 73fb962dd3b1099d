// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

@testable import DivanDatabase

@Suite struct DocumentIDRuleTests {
    static let valid: [DocumentID] = [
        "a", " ", "\n", "a/b", "\u{E9}", "e\u{301}", "\u{1F6CB}", "a_b", "_design/x", "-", "%00",
        DocumentID(String(repeating: "x", count: 4_096)),
        DocumentID(String(repeating: "\u{1F6CB}", count: 1_024)),
    ]
    static let invalid: [DocumentID] = [
        "", "_", "_x", "_design/", "_design", "a\u{0}b",
        DocumentID(String(repeating: "x", count: 4_097)),
        DocumentID(String(repeating: "\u{1F6CB}", count: 1_024) + "x"), "_local/x",
    ]

    @Test(arguments: valid) func `an ID of these kinds is stored and found`(id: DocumentID) throws {
        let database = try Database.inMemory()
        try database.create(id, ["n": 1])
        #expect(try database.existing(id).id == id)
        #expect(try database.allDocuments().map(\.id) == [id])
        #expect(try database.changes().changes.map(\.id) == [id])
        try database.update(id) { $0["n"] = 2 }
        try database.delete(id)
        #expect(try database.purge(id))
        #expect(try database.problems() == [])
    }

    @Test(arguments: invalid) func `every method refuses an ID of these kinds`(id: DocumentID)
        throws
    {
        let database = try Database.inMemory()
        let revision: RevisionID = "1-a"
        let calls: [() throws -> Void] = [
            { try database.create(id) },
            { _ = try database.document(withID: id) },
            { _ = try database.document(withID: id, revision: revision) },
            { _ = try database.contains(id) },
            { try database.update(id) { _ in } },
            { try database.delete(id) },
            { try database.purge(id) },
            { try database.purge(id, revisions: [revision]) },
            { try database.put(id, [:], parent: nil) },
            { try database.putExistingRevision(id, [:], history: [revision]) },
            { _ = try database.revisionTree(of: id) },
            { _ = try database.leafRevisions(of: id) },
            { _ = try database.conflictingRevisions(of: id) },
            { _ = try database.revisionHistory(of: id) },
            { _ = try database.conflict(of: id) },
            { _ = try database.resolveConflicts(of: id, keeping: revision) },
            { _ = try database.resolveConflicts(of: id, with: .keepWinner) },
            { _ = try database.resolveConflicts(of: id) { _ in .delete } },
            { try database.setExpiration(of: id, at: nil) },
            { try database.setExpiration(of: id, after: .seconds(1)) },
            { _ = try database.expirationDate(of: id) },
            { _ = try database.documentChanges(of: id) },
            { _ = try database.addDocumentChangeListener(for: id) { _ in } },
            { _ = try database.model(Named.self, withID: id) },
            { _ = try database.editor(Named.self, withID: id) },
            { _ = try database.update(Named.self, withID: id) { _ in } },
            { try database.read { _ = try $0.document(withID: id) } },
            { try database.read { _ = try $0.document(withID: id, revision: revision) } },
            { try database.read { _ = try $0.contains(id) } },
            { try database.read { _ = try $0.revisionTree(of: id) } },
            { try database.read { _ = try $0.conflict(of: id) } },
            { try database.read { _ = try $0.expirationDate(of: id) } },
            { _ = try database.write { try $0.save(MutableDocument([:], id: id)) } },
            { _ = try database.write { try $0.update(id) { _ in } } },
            { _ = try database.write { try $0.delete(id) } },
            { _ = try database.write { try $0.purge(id) } },
            { _ = try database.write { try $0.purge(id, revisions: [revision]) } },
            { _ = try database.write { try $0.put(id, [:], parent: nil) } },
            { _ = try database.write { try $0.putExistingRevision(id, [:], history: [revision]) } },
            {
                _ = try database.write {
                    try $0.putExistingRevision(id, body: PackedValue([:]), history: [revision])
                }
            },
            { try database.write { _ = try $0.document(withID: id) } },
            { try database.write { _ = try $0.revisionTree(of: id) } },
            { try database.write { _ = try $0.expirationDate(of: id) } },
            { try database.write { try $0.setExpiration(of: id, at: nil) } },
        ]
        for (number, call) in calls.enumerated() {
            #expect(code { try call() } == .invalidID, "call \(number)")
        }
        #expect(try database.lastSequence == 0)
        // Other code than apps' looks for what a stranger names.
        #expect(try database.read { try $0.recentTree(of: id) } == nil)
    }

    private struct Named: DocumentModel {
        var identity = ModelIdentity()
        var name: String
    }

    @Test(arguments: ["", "1", "x-a", "0-a", "1-", "\u{E9}"] as [RevisionID])
    func `every method refuses a revision that none can be`(revision: RevisionID) throws {
        let database = try Database.inMemory()
        try database.create("a", ["n": 1])
        let last = try database.lastSequence
        let calls: [() throws -> Void] = [
            { _ = try database.document(withID: "a", revision: revision) },
            { try database.purge("a", revisions: [revision]) },
            { try database.put("a", [:], parent: revision) },
            { try database.putExistingRevision("a", [:], history: [revision]) },
            { try database.putExistingRevision("a", [:], history: ["2-b", revision]) },
            { _ = try database.resolveConflicts(of: "a", keeping: revision) },
            { _ = try database.liveDocument(withID: "a").revision(withID: revision) },
            {
                try database.liveDocument(withID: "a").putExistingRevision(
                    [:], history: [revision])
            },
            { try database.read { _ = try $0.document(withID: "a", revision: revision) } },
            { _ = try database.write { try $0.put("a", [:], parent: revision) } },
            { _ = try database.write { try $0.purge("a", revisions: [revision]) } },
        ]
        for (number, call) in calls.enumerated() {
            #expect(code { try call() } == .invalidID, "call \(number)")
        }
        #expect(try database.lastSequence == last)
        #expect(try database.existing("a")["n"].int == 1)
    }

    @Test func `composed and decomposed spellings are two documents`() throws {
        let database = try Database.inMemory()
        try database.create("\u{E9}", ["form": "composed"])
        try database.create("e\u{301}", ["form": "decomposed"])
        #expect(try database.documentCount == 2)
        #expect(try database.existing("\u{E9}").string(forKey: "form") == "composed")
        #expect(try database.existing("e\u{301}").string(forKey: "form") == "decomposed")
    }

    @Test func `an ID that looks like a UUID keeps its spelling`() throws {
        let database = try Database.inMemory()
        let ids = [
            "01234567-89ab-cdef-0123-456789abcdef", "01234567-89AB-CDEF-0123-456789ABCDEF",
            "0123456789abcdef0123456789abcdef", "01234567-89ab-cdef-0123-456789abcdeg",
        ]
        for id in ids { try database.create(DocumentID(id)) }
        #expect(try Set(database.allDocuments().map(\.id.text)) == Set(ids))
        #expect(try database.changes().changes.map(\.id.text) == ids)
    }

    @Test func `the message of a bad ID says which rule it breaks`() throws {
        let database = try Database.inMemory()
        let error = #expect(throws: DatabaseError.self) { try database.create("_x") }
        #expect(error?.message.contains("underscore") == true)
        #expect(error?.documentID == "_x")
    }
}
