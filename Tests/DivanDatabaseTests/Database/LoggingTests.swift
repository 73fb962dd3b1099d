// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestChild
import DivanTestSupport
import FoundationEssentials
import Testing

/// What a database says to the log. Each test has a database of a name of its own.
@Suite struct LoggingTests {
    private let sandbox = Sandbox()

    @Test func `opening, closing and deleting are logged`() throws {
        let log = DatabaseLog(of: "opened")
        try sandbox.database("opened").close()
        #expect(log.waits(for: "Opened the database 'opened' at"))
        #expect(log.waits(for: "Closed the database 'opened'"))
        let database = try sandbox.database("opened") { $0.readOnly = true }
        #expect(log.waits(for: ", read-only"))
        database.close()
        try sandbox.database("opened").delete()
        #expect(log.waits(for: "Deleted the database 'opened'"))
        #expect(log.entries.allSatisfy { $0.domain == .database && $0.level == .info })
    }

    @Test func `compaction, verification and salvage are logged`() throws {
        let log = DatabaseLog(of: "kept")
        let database = try sandbox.database("kept")
        try database.create("a")
        try database.update("a") { $0["n"] = 1 }
        try database.compact()
        #expect(log.waits(for: "Compacted the database 'kept': 1 bodies"))
        _ = try database.verify()
        #expect(log.waits(for: "all is well"))
        database.close()
        _ = try Database.salvage(from: sandbox.url("kept"), to: sandbox.url("copy"))
        #expect(log.waits(for: "Salvaged the database 'kept': 1 documents"))
    }

    @Test func `a slow batch is logged`() throws {
        let log = DatabaseLog(of: "slow")
        let database = try sandbox.database("slow")
        try database.inBatch { Gate().wait(milliseconds: 1_100) }
        #expect(log.waits(for: "other writers waited for it"))
    }

    @Test func `another process's writes are logged`() async throws {
        let directory = try TestDirectory("foreign")
        try await offPool {
            let log = DatabaseLog(of: "foreign")
            let database = try Database.forTest(at: directory.path("foreign.divan"), create: true)
            defer { database.close() }
            try database.create("mine")
            #expect(try TestChild("count", directory.path("foreign.divan"), "p", "1").finish() == 0)
            try database.create("other")
            #expect(log.waits(for: "Another process has written to the database 'foreign'"))
        }
    }

    @Test func `damage is logged with the document's ID, and not without end`() throws {
        let log = DatabaseLog(of: "damaged")
        let database = try sandbox.database("damaged")
        let word = String(repeating: "moonlight ", count: 20)
        for number in 0..<30 { try database.create("d\(number)", ["text": .string(word)]) }
        database.close()
        let file = sandbox.url("damaged").appending(path: "data-1/\(TestEngine.mainFile)")
        var bytes = try Data(contentsOf: file)
        // One bit in every copy of the text.
        var from = bytes.startIndex
        let pattern = Data("moonlight".utf8)
        while let found = bytes[from...].firstRange(of: pattern) {
            bytes[found.lowerBound] ^= 1
            from = found.upperBound
        }
        try bytes.write(to: file)
        let damaged = try sandbox.database("damaged")
        for number in 0..<30 { #expect(code { try damaged.existing("d\(number)") } == .corrupted) }
        #expect(log.waits(for: "More damage in the database 'damaged' is not logged"))
        let errors = log.messages(.error)
        #expect(errors.count == 6)
        #expect(errors.first?.contains("document 'd0'") == true)
        #expect(!errors.contains { $0.contains("moonlight") || $0.contains("loonlight") })
    }
}
