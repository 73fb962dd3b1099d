// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import FoundationEssentials
import Testing

/// One engine a directory, however many managers and handles in the process.
@Suite struct RegistryTests {
    private let sandbox = Sandbox()

    @Test func `two managers share what is in one directory`() throws {
        let first = try sandbox.manager().database(named: "app")
        let second = try sandbox.manager().database(named: "app")
        #expect(first !== second)
        try first.create("a", ["n": 1])
        #expect(try second.existing("a")["n"].int == 1)
        try second.update("a") { $0["n"] = 2 }
        #expect(try first.existing("a")["n"].int == 2)
    }

    @Test func `a batch on one handle covers another handle of the same thread`() throws {
        let first = try sandbox.database()
        let second = try sandbox.database()
        #expect(throws: Whim()) {
            try first.inBatch {
                try second.create("a")
                #expect(try first.contains("a"))
                throw Whim()
            }
        }
        #expect(try second.documentCount == 0)
    }

    @Test func `closing one handle leaves the others open`() throws {
        let first = try sandbox.database()
        let second = try sandbox.database()
        first.close()
        #expect(first.isClosed)
        #expect(!second.isClosed)
        #expect(code { try first.documentCount } == .databaseClosed)
        try second.create("a")
        second.close()
        #expect(try sandbox.database().contains("a"))
    }

    @Test func `a handle that is let go is closed`() throws {
        weak var core: Database?
        do {
            let database = try sandbox.database()
            try database.create("a")
            core = database
        }
        // The announcement of the commit may still hold it for a moment.
        eventually { core == nil }
        // The directory is not in use now, so it can be moved and opened elsewhere.
        try FileManager.default.moveItem(at: sandbox.url(), to: sandbox.url("moved"))
        #expect(try sandbox.database("moved").contains("a"))
    }

    @Test func `another path to a directory is the same database`() throws {
        let first = try sandbox.database()
        let link = sandbox.folder.appending(path: "link.divan")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: sandbox.url())
        let second = try sandbox.database("link")
        try first.inBatch {
            try second.create("a")
            #expect(try first.contains("a"))
        }
    }

    @Test func `deleting through one handle closes all and the name can be used again`() throws {
        let first = try sandbox.database()
        let second = try sandbox.database()
        try first.create("a")
        try first.delete()
        for database in [first, second] {
            #expect(database.isClosed)
            #expect(code { try database.documentCount } == .databaseClosed)
        }
        #expect(!FileManager.default.fileExists(atPath: sandbox.url().path()))
        let again = try sandbox.database()
        #expect(try again.documentCount == 0)
        try again.create("b")
        #expect(code { try second.create("c") } == .databaseClosed)
    }

    @Test func `many threads opening and closing one directory meet one engine`() throws {
        try sandbox.database().create("counter", ["n": 0])
        let work = (0..<4).map { _ in
            Running { [sandbox] in
                for _ in 0..<10 {
                    let database = try sandbox.database()
                    try database.update("counter") { $0["n"] = Fragment($0.int(forKey: "n") + 1) }
                    database.close()
                }
            }
        }
        for one in work { _ = try one.value() }
        let database = try sandbox.database()
        #expect(try database.existing("counter")["n"].int == 40)
        #expect(try database.problems() == [])
    }

    @Test func `two hundred databases are open at once`() throws {
        let manager = try sandbox.manager()
        let databases = try (0..<200).map { try manager.database(named: "db\($0)") }
        for (number, database) in databases.enumerated() {
            try database.create("a", ["n": .integer(Int64(number))])
        }
        for (number, database) in databases.enumerated() {
            #expect(try database.existing("a")["n"].int == number)
            #expect(try database.lastSequence == 1)
        }
        #expect(try manager.allDatabaseNames().count == 200)
        manager.close()
        #expect(databases.filter { !$0.isClosed }.isEmpty)
    }

    @Test func `a database whose directory vanished refuses to write`() throws {
        let database = try sandbox.database()
        try database.create("a")
        try FileManager.default.removeItem(at: sandbox.url())
        #expect(code { try database.create("b") } == .io)
        // A new one of the same name is another database.
        let again = try sandbox.database()
        #expect(try again.documentCount == 0)
        // Closed, where the new directory has got the number of the old one.
        #expect([.io, .databaseClosed].contains(code { try database.create("c") }))
        #expect(try again.documentCount == 0)
    }
}
