// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

@Suite struct AllDocumentsQueryTests {
    private let database: Database

    init() throws { database = try Database.inMemory() }

    private func ids(_ edit: (inout ViewQuery) -> Void = { _ in }) throws -> [DocumentID?] {
        var query = database.allDocumentsQuery()
        edit(&query)
        return try query.run().map(\.documentID)
    }

    @Test func `a query of all documents has a row a document`() throws {
        for id: DocumentID in ["b", "a", "c"] { try database.create(id, ["n": 1]) }
        try database.delete("c")
        let rows = try database.allDocumentsQuery().run()
        #expect(rows.map(\.key) == ["a", "b"])
        #expect(rows.map(\.documentID) == ["a", "b"])
        let revision = try #require(try database.document(withID: "a")?.revisionID)
        #expect(rows[0].value == ["rev": .string(revision.description)])
        #expect(try rows[0].document()?["n"].int == 1)
        #expect(rows.totalRows == 2)
    }

    @Test func `a query of all documents finds ranges, sets and conflicts`() throws {
        for id: DocumentID in ["a", "b", "c", "d"] { try database.create(id) }
        try database.delete("d")
        try database.putExistingRevision("x", ["n": 1], history: ["1-b"])
        try database.putExistingRevision("x", ["n": 2], history: ["1-a"])
        #expect(try ids { ($0.startKey, $0.endKey) = ("b", "c") } == ["b", "c"])
        #expect(try ids { ($0.startKey, $0.inclusiveStart) = ("b", false) } == ["c", "x"])
        #expect(
            try ids {
                $0.descending = true
                $0.startKey = "c"
                $0.limit = 2
            } == ["c", "b"])
        #expect(try ids { $0.allDocumentsMode = .includeDeleted } == ["a", "b", "c", "d", "x"])
        #expect(try ids { $0.allDocumentsMode = .onlyConflicts } == ["x"])
        var conflicts = database.allDocumentsQuery()
        conflicts.allDocumentsMode = .showConflicts
        let rows = try conflicts.run()
        #expect(rows.map { $0.conflictingRevisions?.count ?? 0 } == [0, 0, 0, 2])
        #expect(rows.last?.conflictingRevisions?.map(\.revisionID) == ["1-b", "1-a"])
        let some = try database.allDocumentsQuery(.keys("c", "nothing", "a", "d")).run()
        #expect(some.map(\.key) == ["c", "nothing", "a", "d"])
        #expect(some.map(\.documentID) == ["c", nil, "a", "d"])
        #expect(some[3].value?["deleted"] == true)
    }

    @Test func `prefix matching finds the IDs that begin with a text`() throws {
        for id: DocumentID in ["task-1", "task-2", "tasks", "note-1"] { try database.create(id) }
        #expect(
            try ids {
                $0.startKey = "task-"
                $0.endKey = "task-"
                $0.prefixMatchLevel = 1
            } == ["task-1", "task-2"])
    }

    @Test func `a key that is no string is an error`() throws {
        let error = #expect(throws: DatabaseError.self) { try ids { $0.startKey = 7 } }
        #expect(error?.code == .invalidQuery)
    }
}
