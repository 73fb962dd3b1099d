// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

@Suite struct LocalDocumentTests {
    private let database: Database

    init() throws { database = try Database.inMemory() }

    @Test func `a local document is put, read, replaced and deleted`() throws {
        #expect(try database.localDocument("a") == nil)
        try database.putLocalDocument("a", ["n": 1, "deep": ["x": [nil]]])
        #expect(try database.localDocument("a") == ["n": 1, "deep": ["x": [nil]]])
        try database.putLocalDocument("a", ["m": 2])
        #expect(try database.localDocument("a") == ["m": 2])
        try database.deleteLocalDocument("a")
        #expect(try database.localDocument("a") == nil)
        try database.deleteLocalDocument("a")
    }

    @Test func `the ID may have its prefix or not`() throws {
        try database.putLocalDocument("_local/a", ["n": 1])
        #expect(try database.localDocument("a") == ["n": 1])
        #expect(try database.localDocument("_local/a") == ["n": 1])
    }

    @Test func `local documents are no documents`() throws {
        try database.putLocalDocument("a", ["n": 1])
        #expect(try database.documentCount == 0)
        #expect(try database.lastSequence == 0)
        #expect(try database.allDocuments().isEmpty)
        #expect(try database.changes().changes.isEmpty)
        #expect(try database.document(withID: "a") == nil)
        #expect(code { try database.document(withID: "_local/a") } == .invalidID)
        try database.create("a", ["n": 2])
        #expect(try database.localDocument("a") == ["n": 1])
    }

    @Test func `local documents survive compaction and closing`() throws {
        let sandbox = Sandbox()
        let database = try sandbox.database()
        try database.putLocalDocument("a", ["n": 1])
        try database.compact()
        database.close()
        #expect(try sandbox.database().localDocument("a") == ["n": 1])
    }

    @Test(arguments: ["", "_local/", "a\u{0}"])
    func `a bad local ID is refused`(id: DocumentID) throws {
        #expect(code { try database.putLocalDocument(id, [:]) } == .invalidID)
        #expect(code { try database.localDocument(id) } == .invalidID)
        #expect(code { try database.deleteLocalDocument(id) } == .invalidID)
    }

    @Test func `a number that JSON lacks is refused`() throws {
        #expect(
            code { try database.putLocalDocument("a", ["n": .double(.infinity)]) }
                == .invalidDocument)
    }
}
