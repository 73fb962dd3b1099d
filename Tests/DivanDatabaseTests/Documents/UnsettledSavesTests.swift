// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

@Suite struct UnsettledSavesTests {
    private let database: Database

    init() throws { database = try Database.inMemory() }

    /// Saves another value of `n` inside a batch that the caller is in, or in one of its own.
    private func save(_ document: MutableDocument, _ value: Int) throws {
        document["n"] = Fragment(value)
        try database.save(document)
    }

    @Test func `a document asked after the commit goes back to before a batch undone inside`()
        throws
    {
        let document = MutableDocument(id: "a")
        try database.inBatch {
            try save(document, 1)
            try? database.inBatch {
                try save(document, 2)
                throw Whim()
            }
        }
        #expect(document.revisionID == (try database.existing("a").revisionID))
        #expect(document.revisionID?.generation == 1)
        #expect(document.hasUnsavedChanges)
        try database.save(document)
        #expect(try database.existing("a")["n"].int == 2)
        #expect(document.revisionID?.generation == 2)
    }

    @Test func `an undone batch takes back the saves of batches that succeeded inside`() throws {
        let document = MutableDocument(id: "a")
        try save(document, 0)
        let before = document.revisionID
        #expect(throws: Whim()) {
            try database.inBatch {
                try save(document, 1)
                try database.inBatch {
                    try save(document, 2)
                    try database.inBatch { try save(document, 3) }
                }
                try save(document, 4)
                #expect(document.revisionID?.generation == 5)
                throw Whim()
            }
        }
        #expect(document.revisionID == before)
        #expect(document.sequence == 1)
        #expect(document.hasUnsavedChanges)
    }

    @Test func `a batch undone in the middle takes back what was saved in and below it`() throws {
        let document = MutableDocument(id: "a")
        try database.inBatch {
            try save(document, 1)
            try? database.inBatch {
                try database.inBatch { try save(document, 2) }
                try save(document, 3)
                throw Whim()
            }
            #expect(document.revisionID?.generation == 1)
            try save(document, 4)
        }
        #expect(document.revisionID?.generation == 2)
        #expect(!document.hasUnsavedChanges)
        #expect(try database.existing("a")["n"].int == 4)
    }

    @Test func `a save after an undone one stands when later batches are undone`() throws {
        let document = MutableDocument(id: "a")
        try? database.inBatch {
            try save(document, 1)
            throw Whim()
        }
        #expect(document.revisionID == nil)
        try save(document, 2)
        let saved = document.revisionID
        try? database.inBatch {
            try save(document, 3)
            throw Whim()
        }
        #expect(document.revisionID == saved)
        try save(document, 4)
        #expect(document.revisionID?.generation == 2)
        #expect(document.sequence == 2)
    }

    @Test func `a document saved in a batch is freed when the app lets go of it`() throws {
        try database.inBatch {
            weak var freed: MutableDocument?
            do {
                let document = MutableDocument(id: "a")
                freed = document
                try database.save(document)
            }
            #expect(freed == nil)
        }
        #expect(try database.contains("a"))
    }
}
