// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

@Suite struct BatchTests {
    private let database: Database

    init() throws { database = try Database.inMemory() }

    @Test func `a batch commits all its work`() throws {
        let count = try database.inBatch {
            for number in 0..<100 {
                try database.create("\(number)", ["n": .integer(Int64(number))])
            }
            return try database.documentCount
        }
        #expect(count == 100)
        #expect(try database.documentCount == 100)
        #expect(try database.lastSequence == 100)
    }

    @Test func `an error undoes the whole batch and its sequences`() throws {
        try database.create("before")
        #expect(throws: Whim()) {
            try database.inBatch {
                try database.create("a")
                try database.update("before") { $0["n"] = 1 }
                try database.delete("before")
                try database.putLocalDocument("l", ["n": 1])
                throw Whim()
            }
        }
        #expect(try database.lastSequence == 1)
        #expect(try database.documentCount == 1)
        #expect(try database.existing("before").generation == 1)
        #expect(try database.localDocument("l") == nil)
        #expect(try database.problems() == [])
    }

    @Test func `a batch reads what it has written`() throws {
        try database.inBatch {
            let document = MutableDocument(["n": 1], id: "a")
            try database.save(document)
            #expect(document["n"].int == 1)
            #expect(try database.existing("a")["n"].int == 1)
            #expect(try database.allDocuments().map(\.id) == ["a"])
            #expect(try database.changes().changes.map(\.id) == ["a"])
            #expect(try database.read { try $0.documentCount } == 1)
            try database.delete("a")
            #expect(try !database.contains("a"))
        }
    }

    @Test func `an empty batch changes nothing`() throws {
        try database.inBatch {}
        #expect(try database.lastSequence == 0)
    }

    @Test func `a caught refusal leaves the rest of the batch`() throws {
        try database.create("taken")
        try database.inBatch {
            try database.create("a")
            #expect(code { try database.create("taken") } == .conflict)
            #expect(code { try database.create("b", ["_x": 1]) } == .invalidDocument)
            #expect(code { try database.delete("nowhere") } == .documentNotFound)
            try database.create("c")
        }
        #expect(try database.allDocuments().map(\.id) == ["a", "c", "taken"])
        #expect(try database.lastSequence == 3)
        #expect(try database.problems() == [])
    }

    // MARK: - Nested batches

    @Test func `a nested batch that fails and is caught undoes only its work`() throws {
        try database.inBatch {
            try database.create("outer")
            #expect(throws: Whim()) {
                try database.inBatch {
                    try database.create("inner")
                    try database.update("outer") { $0["n"] = 1 }
                    throw Whim()
                }
            }
            #expect(try database.existing("outer").generation == 1)
            #expect(try !database.contains("inner"))
            #expect(try database.documentCount == 1)
            try database.create("after")
        }
        #expect(try database.allDocuments().map(\.id) == ["after", "outer"])
        #expect(try database.lastSequence == 2)
        #expect(try database.problems() == [])
    }

    @Test func `savepoints nest to any depth`() throws {
        func nest(_ depth: Int) throws {
            try database.inBatch {
                try database.create("\(depth)")
                if depth < 8 {
                    // Odd levels fail: with them goes all that is deeper.
                    do { try nest(depth + 1) } catch is Whim {}
                }
                if depth == 5 { throw Whim() }
            }
        }
        try nest(0)
        #expect(try database.allDocuments().map(\.id) == ["0", "1", "2", "3", "4"])
        #expect(try database.lastSequence == 5)
        #expect(try database.problems() == [])
    }

    @Test func `an error that leaves the outer batch undoes a nested one that succeeded`() throws {
        #expect(throws: Whim()) {
            try database.inBatch {
                try database.inBatch { try database.create("inner") }
                throw Whim()
            }
        }
        #expect(try database.documentCount == 0)
    }

    @Test func `write inside a batch is part of it`() throws {
        try database.inBatch {
            try database.write { _ = try $0.save(MutableDocument(id: "a")) }
            try database.save(MutableDocument(id: "b"))
            #expect(throws: Whim()) {
                try database.write { transaction in
                    _ = try transaction.save(MutableDocument(id: "c"))
                    throw Whim()
                }
            }
        }
        #expect(try database.allDocuments().map(\.id) == ["a", "b"])
    }

    // MARK: - Mutable documents and rollback

    @Test func `rollback gives a mutable document its former revision back`() throws {
        let fresh = MutableDocument(["n": 1], id: "fresh")
        let edited = try database.create("edited", ["n": 1]).toMutable()
        edited["n"] = 2
        let before = edited.revisionID
        #expect(throws: Whim()) {
            try database.inBatch {
                try database.save(fresh)
                try database.save(edited)
                edited["n"] = 3
                try database.save(edited)
                #expect(edited.revisionID?.generation == 3)
                throw Whim()
            }
        }
        #expect(fresh.revisionID == nil)
        #expect(fresh.sequence == 0)
        #expect(edited.revisionID == before)
        #expect(edited.sequence == 1)
        #expect(fresh.hasUnsavedChanges && edited.hasUnsavedChanges)
        // Both can be saved now, with the properties they have.
        try database.save(fresh, .failOnConflict)
        try database.save(edited, .failOnConflict)
        #expect(try database.existing("edited")["n"].int == 3)
        #expect(try database.existing("edited").generation == 2)
    }

    @Test func `a savepoint gives back only what was saved in it`() throws {
        let document = MutableDocument(["n": 1], id: "a")
        try database.inBatch {
            try database.save(document)
            let outer = document.revisionID
            #expect(throws: Whim()) {
                try database.inBatch {
                    document["n"] = 2
                    try database.save(document)
                    throw Whim()
                }
            }
            #expect(document.revisionID == outer)
            #expect(document.hasUnsavedChanges)
        }
        try database.save(document, .failOnConflict)
        #expect(try database.existing("a")["n"].int == 2)
        #expect(try database.existing("a").generation == 2)
    }

    @Test func `the pruning depth set in a batch goes back with it`() throws {
        #expect(throws: Whim()) {
            try database.inBatch {
                try database.setRevisionBodyLimit(3)
                throw Whim()
            }
        }
        #expect(try database.revisionBodyLimit == 20)
    }

    @Test func `a mutable document saved in a batch can be edited before the batch ends`() throws {
        let document = MutableDocument(["n": 0], id: "a")
        try database.inBatch {
            for number in 1...5 {
                try database.save(document, .failOnConflict)
                document["n"] = Fragment(number)
            }
        }
        #expect(document.hasUnsavedChanges)
        try database.save(document, .failOnConflict)
        #expect(try database.existing("a")["n"].int == 5)
        #expect(try database.existing("a").generation == 6)
    }

    // MARK: - What a batch may not do

    @Test func `closing the database in a batch ends the batch well and later calls say closed`()
        throws
    {
        let sandbox = Sandbox()
        let database = try sandbox.database()
        try database.inBatch {
            try database.create("a")
            database.close()
            #expect(code { try database.create("b") } == .databaseClosed)
        }
        #expect(code { try database.documentCount } == .databaseClosed)
        let again = try sandbox.database()
        #expect(try again.allDocuments().map(\.id) == ["a"])
        #expect(try again.problems() == [])
    }

    @Test func `compacting, syncing and deleting inside a batch are refused`() throws {
        let sandbox = Sandbox()
        let database = try sandbox.database()
        try database.inBatch {
            try database.create("a")
            #expect(code { try database.compact() } == .databaseBusy)
            #expect(code { try database.sync() } == .databaseBusy)
            #expect(code { try database.delete() as Void } == .databaseBusy)
            try database.create("b")
        }
        #expect(try database.documentCount == 2)
        #expect(try database.problems() == [])
    }
}
