// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Foundation
import Testing

/// Numbers that an app gives and that make no sense are refused, and never end the process.
@Suite struct CallerNumberTests {
    private let database: Database

    init() throws {
        database = try Database.inMemory()
        for id: DocumentID in ["a", "b", "c"] {
            try database.create(id, ["n": 1, "text": "one odd word, and another"])
        }
    }

    private func isRefused(_ body: () throws -> Void) -> Bool {
        do { try body() } catch let error as DatabaseError {
            return error.code == .invalidQuery
        } catch { return false }
        return false
    }

    @Test func `an expression of a date beyond all texts is the nearest one`() throws {
        for seconds in [Double.infinity, -.infinity, .nan, 1e300, -1e300, 1e16] {
            let date = QueryExpression.date(Date(timeIntervalSince1970: seconds))
            let query = QueryBuilder.select(.expression(Meta.id)).from(.database(database))
                .where(date.isValued())
            #expect(try query.run().count == 3)
        }
    }

    @Test func `an expression of a date whose time is not a number equals no date`() throws {
        try database.create("epoch", ["d": "1970-01-01T00:00:00.000Z"])
        let none = QueryExpression.date(Date(timeIntervalSince1970: .nan))
        let query = QueryBuilder.select(.expression(Meta.id)).from(.database(database))
            .where(.property("d").equalTo(none))
        #expect(try query.run().count == 0)
    }

    @Test func `a query of all documents refuses a negative skip or limit in each of its forms`() {
        let forms: [(inout ViewQuery) -> Void] = [
            { _ in }, { $0.keys = ["a", "b"] }, { $0.filter = { _ in true } },
            { $0.sort = { $0.key.string ?? "" < $1.key.string ?? "" } },
        ]
        for form in forms {
            for (skip, limit) in [(-1, nil), (0, -1), (Int.min, Int.min)] as [(Int, Int?)] {
                var query = database.allDocumentsQuery()
                form(&query)
                (query.skip, query.limit) = (skip, limit)
                #expect(isRefused { _ = try query.run() })
            }
        }
    }

    @Test func `an enumeration of documents refuses a negative skip or limit`() {
        for (skip, limit) in [(-1, nil), (0, -1), (Int.min, 1)] as [(Int, Int?)] {
            var options = AllDocumentsOptions()
            (options.skip, options.limit) = (skip, limit)
            #expect(isRefused { _ = try database.allDocuments(options) })
            #expect(isRefused { try database.forEachDocumentID(options) { _ in } })
        }
    }

    @Test func `the changes feed and expirations refuse a negative limit`() async throws {
        #expect(isRefused { _ = try database.changes(limit: -1) })
        #expect(isRefused { _ = try database.read { try $0.changes(limit: .min) } })
        database.setFilter(named: "all") { _, _ in true }
        #expect(isRefused { _ = try database.changes(limit: -1, filter: "all") })
        #expect(isRefused { _ = try database.documentsExpiring(limit: -1) })
        #expect(try database.changes(limit: 0).changes.isEmpty)
        var stream = database.changeStream(limit: -1).makeAsyncIterator()
        let error = await #expect(throws: DatabaseError.self) { _ = try await stream.next() }
        #expect(error?.code == .invalidQuery)
    }

    @Test func `a date that is not a number is refused, and an infinite one is the last or first`()
        throws
    {
        let none = Date(timeIntervalSince1970: .nan)
        #expect(isRefused { try database.setExpiration(of: "a", at: none) })
        #expect(isRefused { _ = try database.documentsExpiring(before: none) })
        let isKept = try database.inBatch {
            try database.create("d")
            return isRefused { try database.setExpiration(of: "d", at: none) }
        }
        #expect(isKept)
        #expect(try database.document(withID: "d") != nil)
        try database.setExpiration(of: "a", at: Date(timeIntervalSince1970: .infinity))
        #expect(try database.expirationDate(of: "a")?.timeIntervalSince1970 == 253_402_300_799.999)
        #expect(
            try database.documentsExpiring(before: Date(timeIntervalSince1970: -.infinity)).isEmpty)
    }

    @Test(arguments: [Int.max, Int.max - 1, Int(Int32.max) + 1, Int(Int32.max)])
    func `a limit of revisions of any height is kept, and the database stays whole`(limit: Int)
        throws
    {
        let sandbox = Sandbox()
        let opened = try sandbox.database()
        try opened.create("a", ["n": 1])
        try opened.setRevisionLimit(limit)
        try opened.setRevisionBodyLimit(limit)
        try opened.setPurgeHistoryLimit(limit)
        for number in 2...40 {
            let copy = try #require(try opened.document(withID: "a")).toMutable()
            copy["n"] = Fragment(number)
            try opened.save(copy)
        }
        try opened.compact()
        opened.close()
        let again = try sandbox.database()
        defer { again.close() }
        #expect(try again.document(withID: "a")?.int(forKey: "n") == 40)
        #expect(try again.revisionHistory(of: "a").count == 40)
        #expect(try again.revisionLimit == Int(Int32.max))
        #expect(try again.revisionBodyLimit == Int(Int32.max))
        #expect(try again.verify().isEmpty)
    }

    @Test(arguments: [0, -1, Int.min])
    func `a database refuses to keep fewer than one revision or purge`(limit: Int) {
        #expect(isRefused { try database.setRevisionLimit(limit) })
        #expect(isRefused { try database.setRevisionBodyLimit(limit) })
        #expect(isRefused { try database.setPurgeHistoryLimit(limit) })
    }

    @Test func `a search refuses a negative nearness, wherever it stands`() throws {
        let index = database.fullTextIndex(named: "text", on: ["text"])
        let near = FullTextExpression.near(["one", "odd"], within: -1)
        for expression in [
            near, .all([.word("one"), near]), .any([near]), .except(near, .word("x")),
            .except(.word("one"), near),
        ] {
            #expect(isRefused { _ = try index.search(expression).run() })
        }
        #expect(try index.search(.near(["one", "odd"], within: .max)).run().count == 3)
    }

    @Test(arguments: [Int.max, Int.max - 1])
    func `a snippet of any number of words is the whole text`(words: Int) throws {
        let rows = try database.fullTextIndex(named: "text", on: ["text"]).search("odd").run()
        #expect(rows.first?.snippet(words: words) == "one odd word, and another")
        #expect(rows.first?.snippet(words: -words)?.contains("odd") == true)
    }

    @Test func `a reader of an attachment takes any number of bytes`() throws {
        let blob = Blob(contentType: "text/plain", Array("content".utf8))
        let reader = try blob.makeReader()
        #expect(try reader.read(upTo: -1).isEmpty)
        #expect(try reader.read(upTo: 3) == Array("con".utf8))
        #expect(try reader.read(upTo: .max) == Array("tent".utf8))
        #expect(try reader.read(upTo: .max).isEmpty)
    }
}
