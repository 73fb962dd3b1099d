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

    // MARK: - Content

    /// Saves a document in a batch that is undone.
    private func saveInVain(_ database: Database, _ save: () throws -> Void) {
        #expect(throws: Whim()) {
            try database.inBatch {
                try save()
                throw Whim()
            }
        }
    }

    @Test func `content of an undone batch is stored with what was edited since`() throws {
        let document = MutableDocument(id: "a")
        document["one"] = Blob(contentType: nil, [1])
        document.setAttachment(named: "x", contentType: nil, .bytes([2]))
        document.setAttachment(named: "y", contentType: nil, .bytes([3]))
        saveInVain(database) {
            try database.save(document)
            document["two"] = Blob(contentType: nil, [4])
        }
        try database.compact()
        document["three"] = Blob(contentType: nil, [5])
        document.removeAttachment(named: "y")
        #expect(document.attachmentNames == ["x"])
        #expect(try document.blob(forKey: "one")?.content() == [1])
        try database.save(document)
        let stored = try database.existing("a")
        for (key, byte) in [("one", 1), ("two", 4), ("three", 5)] as [(String, UInt8)] {
            #expect(try stored.blob(forKey: key)?.content() == [byte])
        }
        #expect(stored.attachmentNames == ["x"])
        #expect(try stored.attachment(named: "x")?.content() == [2])
    }

    @Test func `content of each save in an undone batch is stored by the next save`() throws {
        let document = MutableDocument(id: "a")
        saveInVain(database) {
            for number in 1...3 {
                document["\(number)"] = Blob(contentType: nil, [UInt8(number)])
                document.setAttachment(
                    named: "\(number)", contentType: nil, .bytes([UInt8(10 + number)]))
                try database.inBatch { try database.save(document) }
                document.set(number, forKey: "n")
                try database.save(document)
            }
            document.removeAttachment(named: "2")
            try database.save(document)
        }
        try database.compact()
        try database.save(document)
        let stored = try database.existing("a")
        #expect(stored.generation == 1)
        for number in 1...3 {
            #expect(try stored.blob(forKey: "\(number)")?.content() == [UInt8(number)])
        }
        #expect(stored.attachmentNames == ["1", "3"])
        #expect(try stored.attachment(named: "3")?.content() == [13])
    }

    @Test func `an attachment removed in an undone batch is removed by the next save`() throws {
        let document = MutableDocument(id: "a")
        document.setAttachment(named: "x", contentType: nil, .bytes([1]))
        document.setAttachment(named: "y", contentType: nil, .bytes([2]))
        try database.save(document)
        saveInVain(database) {
            document.removeAttachment(named: "x")
            try database.save(document)
        }
        document.setAttachment(named: "z", contentType: nil, .bytes([3]))
        #expect(document.attachmentNames == ["y", "z"])
        try database.save(document)
        #expect(try database.existing("a").attachmentNames == ["y", "z"])
    }

    @Test func `a blob is read from a document whose save was refused`() throws {
        try database.create("a")
        let document = MutableDocument(id: "a")
        document["one"] = Blob(contentType: nil, [1])
        #expect(code { try database.save(document) } == .conflict)
        #expect(try document.blob(forKey: "one")?.content() == [1])
    }

    @Test func `a document of another database that was saved in vain brings its blobs`() throws {
        let other = try Database.inMemory()
        let original = MutableDocument(id: "a")
        original["photo"] = Blob(contentType: nil, [1])
        original.setAttachment(named: "x", contentType: nil, .bytes([2]))
        try other.save(original)
        let document = try other.existing("a").toMutable()
        document["n"] = 1
        saveInVain(database) { try database.save(document) }
        try database.compact()
        #expect(try document.blob(forKey: "photo")?.content() == [1])
        try database.save(document)
        let stored = try database.existing("a")
        #expect(try stored.blob(forKey: "photo")?.content() == [1])
        #expect(try stored.attachment(named: "x")?.content() == [2])
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
