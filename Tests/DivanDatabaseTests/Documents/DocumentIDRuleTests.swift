// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

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
        let calls: [() throws -> Void] = [
            { try database.create(id) },
            { _ = try database.document(withID: id) },
            { _ = try database.document(withID: id, revision: "1-a") },
            { _ = try database.contains(id) },
            { try database.update(id) { _ in } },
            { try database.delete(id) },
            { try database.purge(id) },
            { try database.purge(id, revisions: ["1-a"]) },
            { try database.put(id, [:], parent: nil) },
            { try database.putExistingRevision(id, history: ["1-a"], [:]) },
            { _ = try database.revisionTree(of: id) },
            { _ = try database.leafRevisions(of: id) },
        ]
        for call in calls { #expect(code { try call() } == .invalidID) }
        #expect(try database.lastSequence == 0)
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
