// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestSupport
import Foundation
import Testing

/// A query inside `read`, whose snapshot does not change, whatever its index has.
struct QueryInsideReadTests {
    private let sandbox = Sandbox()

    @Test(arguments: [false, true])
    func `queries inside a read find what its snapshot has`(indexesAreThere: Bool) throws {
        let database = try sandbox.database()
        defer { database.close() }
        let view = try makeIndexes(in: database)
        try save(0..<1_000, in: database)
        if indexesAreThere { #expect(try Self.counts(database, view) == [1_000, 1_000, 1_000]) }
        try save(1_000..<2_000, in: database)
        let counts = try database.read { _ in
            let first = try Self.counts(database, view)
            try Self.elsewhere { try save(2_000..<2_010, in: database) }
            return [first, try Self.counts(database, view)]
        }
        #expect(counts == [[2_000, 2_000, 2_000], [2_000, 2_000, 2_000]])
        #expect(try Self.counts(database, view) == [2_010, 2_010, 2_010])
        let current = try database.read { _ in try Self.counts(database, view) }
        #expect(current == [2_010, 2_010, 2_010])
    }

    @Test func `bringing an index up to date inside a read is an error`() throws {
        let database = try sandbox.database()
        defer { database.close() }
        let view = try makeIndexes(in: database)
        try save(0..<10, in: database)
        let error = #expect(throws: DatabaseError.self) {
            try database.read { _ in try view.updateIndex() }
        }
        #expect(error?.code == .readOnly)
        #expect(error?.description.contains("inside a read") == true)
        try view.updateIndex()
    }

    // MARK: - Helpers

    private func makeIndexes(in database: Database) throws -> DatabaseView {
        let view = database.view(named: "n")
        view.setMap(version: "1") { document, emit in emit(document["n"], nil) }
        try database.createIndex(PropertyIndex(on: "n"))
        return view
    }

    /// How many documents a view, a selector and a search find.
    private static func counts(_ database: Database, _ view: DatabaseView) throws -> [Int] {
        var query = try database.find(selector: ["n": ["$gte": 0]])
        query.limit = 10_000
        let found = try query.run()
        let search = try database.fullTextIndex(named: "text", on: ["text"]).search("word").run()
        return [try view.query().run().count, found.count, search.count]
    }

    private func save(_ numbers: Range<Int>, in database: Database) throws {
        try database.inBatch {
            for number in numbers {
                let body: JSONObject = ["n": .integer(Int64(number)), "text": "a word"]
                try database.save(MutableDocument(body, id: "\(number)"))
            }
        }
    }

    /// Runs work on another thread, and waits for it.
    private static func elsewhere(_ body: @escaping @Sendable () throws -> Void) throws {
        let done = DispatchSemaphore(value: 0)
        // Read when the semaphore says that the thread has set it.
        nonisolated(unsafe) var result: Result<Void, any Error>?
        Thread.detachNewThread {
            result = Result { try body() }
            done.signal()
        }
        done.wait()
        try result?.get()
    }
}
