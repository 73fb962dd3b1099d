// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

@Suite struct CounterTests {
    private let sandbox = Sandbox()
    private let database: Database

    init() throws { database = try sandbox.database() }

    @Test func `only live documents are counted and a conflict counts once`() throws {
        for id: DocumentID in ["a", "b", "c"] { try database.create(id) }
        try database.delete("b")
        try database.putExistingRevision("c", [:], history: ["1-0"])
        #expect(try database.documentCount == 2)
        try database.create("b")
        #expect(try database.documentCount == 3)
    }

    @Test func `the last sequence rises with every revision and never falls`() throws {
        var last: SequenceNumber = 0
        func rises(_ work: () throws -> Void) throws {
            try work()
            let sequence = try database.lastSequence
            #expect(sequence > last)
            last = sequence
        }
        func stays(_ work: () throws -> Void) throws {
            try work()
            #expect(try database.lastSequence == last)
        }
        try rises { try database.create("a") }
        try rises { try database.update("a") { $0["n"] = 1 } }
        try rises { try database.putExistingRevision("a", [:], history: ["1-0"]) }
        try rises { try database.delete("a") }
        try stays { try database.putExistingRevision("a", [:], history: ["1-0"]) }
        try stays { try database.compact() }
        try stays { try database.purge("a") }
        try stays { try database.putLocalDocument("l", [:]) }
        try rises { try database.create("a") }
    }

    @Test func `counters survive closing`() throws {
        for id: DocumentID in ["a", "b", "c"] { try database.create(id) }
        try database.delete("a")
        try database.putExistingRevision("c", [:], history: ["1-0"])
        try database.purge("b")
        database.close()
        let again = try sandbox.database()
        #expect(try again.documentCount == 1)
        #expect(try again.lastSequence == 5)
        #expect(try again.hasConflicts())
        #expect(try again.create("d").sequence == 6)
    }

    @Test func `sequences are not used again after everything was purged and reopened`() throws {
        try database.create("a")
        try database.create("b")
        try database.purge("a")
        try database.purge("b")
        database.close()
        let again = try sandbox.database()
        #expect(try again.lastSequence == 2)
        #expect(try again.create("c").sequence == 3)
    }

    @Test func `writes to one database leave another one alone`() throws {
        let other = try sandbox.database("other")
        try database.create("a")
        #expect(try other.lastSequence == 0)
        #expect(try other.documentCount == 0)
    }
}
