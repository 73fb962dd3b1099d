// SPDX-License-Identifier: Apache-2.0

import Divan
import FoundationEssentials
import Testing

@Suite struct MaintenanceTests {
    private let sandbox = Sandbox()

    @Test func `maintenance compacts`() throws {
        let database = try sandbox.database()
        let first = try database.create("a", ["n": 1]).revisionID
        try database.update("a") { $0["n"] = 2 }
        try database.performMaintenance(.compact)
        #expect(code { try database.document(withID: "a", revision: first) } == .revisionNotFound)
    }

    @Test func `maintenance builds all indexes anew`() throws {
        let database = try sandbox.database()
        for n in 0..<50 {
            try database.put("d\(n)", ["n": .integer(Int64(n)), "text": "word"], parent: nil)
        }
        try database.put("odd", ["n": "none"], parent: nil)
        let view = database.view(named: "v")
        view.setMap(version: "1", reduce: .count) { document, emit in emit(document["n"]) }
        _ = try view.query().run()
        try database.createIndex(PropertyIndex(on: "n"))
        try database.updateIndexes()
        _ = try database.fullTextIndex(named: "t", on: ["text"]).search("word").run()
        // A view whose functions this process does not know is built when it does.
        let other = try sandbox.database()
        other.view(named: "other").setMap(version: "1") { _, emit in emit(1) }
        _ = try other.view(named: "other").query().run()

        let before = try database.indexReports()
        #expect(before.count == 4)
        try database.performMaintenance(.reindex)
        let after = try database.indexReports()
        #expect(after == before.filter { $0.name != "other" })
        #expect(after.allSatisfy { $0.isCurrent && $0.rows > 0 })
        #expect(try view.query().run().map(\.value) == [51])
        #expect(try other.view(named: "other").query().run().count == 51)
        #expect(try database.problems() == [])
    }

    @Test func `an integrity check passes a sound database and fails a damaged one`() throws {
        let database = try sandbox.database()
        let needle = "a text that stands in the file once"
        try database.create("a", ["text": .string(needle)])
        try database.performMaintenance(.integrityCheck)
        database.close()

        let mark = Data(needle.utf8)
        let file = try #require(
            try sandbox.contents().first { $0.value.firstRange(of: mark) != nil })
        var bytes = file.value
        bytes[try #require(bytes.firstRange(of: mark)).lowerBound] ^= 1
        try bytes.write(to: sandbox.folder.appending(path: file.key))
        let damaged = try sandbox.database()
        let error = #expect(throws: DatabaseError.self) {
            try damaged.performMaintenance(.integrityCheck)
        }
        #expect(error?.code == .corrupted)
        let problem = try #require(try damaged.verify().first)
        #expect(error?.message.contains(problem.message) == true)
        #expect(error?.documentID == problem.documentID)
    }

    @Test func `maintenance is refused where the work it stands for is`() throws {
        try sandbox.database().create("a")
        let reader = try sandbox.database { $0.readOnly = true }
        #expect(code { try reader.performMaintenance(.compact) } == .readOnly)
        #expect(code { try reader.performMaintenance(.reindex) } == .readOnly)
        try reader.performMaintenance(.integrityCheck)
    }
}
