// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

@Suite struct PartitionQueryTests {
    private let database: Database

    init() throws { database = try Database.inMemory(partitioned: true) }

    private func view(_ reduce: Reduce? = nil) -> DatabaseView {
        let view = database.view(named: "byKey")
        view.isPartitioned = true
        view.setMap(version: "1", reduce: reduce) { document, emit in
            emit(document["key"], document["n"])
        }
        return view
    }

    private func fill() throws {
        for n in 1...20 {
            try database.create(
                DocumentID(partition: n.isMultiple(of: 2) ? "even" : "odd", "\(n)"),
                ["key": ["k", .integer(Int64(n % 3))], "n": .integer(Int64(n))])
        }
        try database.create("_design/d", ["key": "d", "n": 1_000])
    }

    // MARK: - Views

    @Test func `a view that is made for partitions finds, counts and reduces one`() throws {
        try fill()
        let view = view(.sum)
        let even = database.partition("even")
        #expect(try even.query(view).run().first?.value == 110)
        var query = even.query(view)
        query.mapOnly = true
        let all = try query.run()
        #expect(all.count == 10 && all.totalRows == 10)
        #expect(all.allSatisfy { $0.sourceDocumentID.map(even.owns) ?? false })
        query.startKey = ["k", 1]
        query.includeOffset = true
        let rest = try query.run()
        #expect(rest.offset == 3 && rest.totalRows == 10 && rest.count == 7)
        query.grouping = .level(2)
        query.mapOnly = false
        query.startKey = nil
        #expect(try query.run().map(\.key) == [["k", 0], ["k", 1], ["k", 2]])
        #expect(try query.run().map(\.value) == [36, 30, 44])
        #expect(try view.totalRows == 20)
        #expect(try database.partition("none").query(view).run().isEmpty)
    }

    @Test func `a view is asked in the way that it is made for`() throws {
        try fill()
        let parts = view()
        #expect(code { try parts.query().run() } == .invalidQuery)
        let whole = database.view(named: "whole")
        whole.setMap(version: "1") { document, emit in emit(document["n"], nil) }
        #expect(try whole.query().run().count == 20)
        #expect(code { try database.partition("even").query(whole).run() } == .invalidQuery)
        // Another kind of rows builds the index anew.
        whole.isPartitioned = true
        #expect(try database.partition("even").query(whole).run().count == 10)
        whole.isPartitioned = false
        #expect(try whole.query().run().count == 20)
    }

    @Test func `rows follow their documents, also after a purge and in a read`() throws {
        try fill()
        let view = view()
        var query = database.partition("odd").query(view)
        query.keys = [["k", 1]]
        let before = try query.run().count
        try database.update("odd:1") { $0["key"] = "other" }
        #expect(try query.run().count == before - 1)
        try database.purge("odd:7")
        #expect(try query.run().count == before - 2)
        try database.create("odd:99", ["key": ["k", 1]])
        let inside = try database.read { _ in try query.run().count }
        #expect(inside == before - 1)
        #expect(try database.problems() == [])
    }

    @Test func `a live query of a partition looks at changes of it`() async throws {
        try fill()
        let live = database.partition("even").query(view()).live(interval: .zero)
        var counts: [Int] = []
        for try await rows in live {
            counts.append(rows.count)
            switch counts.count {
            case 1:
                try database.create("odd:100", ["key": 1])
                try database.create("even:100", ["key": 1])
            default: break
            }
            if rows.count == 11 { break }
        }
        #expect(counts.first == 10 && counts.last == 11)
    }

    // MARK: - Selectors

    @Test func `an index that is made for partitions serves queries of one`() throws {
        try fill()
        var index = PropertyIndex(named: "byN", on: "n")
        index.isPartitioned = true
        try database.createIndex(index)
        #expect(try database.indexes() == [index])
        let query = try database.partition("even").find(selector: ["n": ["$gt": 10]]) {
            $0.sort = [.ascending("n")]
        }
        #expect(try query.run().map(\.id) == [12, 14, 16, 18, 20].map { DocumentID("even:\($0)") })
        #expect(try query.explain().index == index)
        #expect(try query.explain().actualRows < 10)
        let whole = try database.find(selector: ["n": ["$gt": 10]])
        #expect(try whole.run().count == 10 && whole.explain().index == nil)
        let other = try Database.inMemory()
        #expect(code { try other.createIndex(index) } == .invalidQuery)
    }

    @Test func `without an index the documents of the partition are read, and no others`() throws {
        try fill()
        let query = try database.partition("odd").find(selector: ["n": ["$gte": 0]])
        let result = try query.run()
        #expect(result.count == 10 && result.statistics.documentsExamined == 10)
    }

    @Test func `pages of a partition go together, and not with those of another`() throws {
        try fill()
        var query = try database.partition("odd").find(selector: ["n": ["$gte": 0]]) {
            $0.limit = 4
        }
        var ids: [DocumentID] = []
        for _ in 0..<3 {
            let page = try query.run()
            ids += page.map(\.id)
            query.bookmark = page.bookmark
        }
        #expect(Set(ids).count == 10)
        query.partition = "even"
        #expect(code { try query.run() } == .invalidQuery)
    }

    @Test func `a query of all documents of a partition passes over the others`() throws {
        try fill()
        var query = database.partition("even").allDocumentsQuery()
        #expect(try query.run().count == 10)
        query.keys = ["even:2", "odd:1", "even:none"]
        let rows = try query.run()
        #expect(rows.map(\.documentID) == ["even:2", nil, nil])
    }

    @Test func `a find in a partition looks at no other, also by IDs and where an index is poor`()
        throws
    {
        for n in 0..<300 { try database.create(DocumentID(partition: "a", "\(n)"), ["kind": "x"]) }
        for n in 0..<5 { try database.create(DocumentID(partition: "z", "\(n)"), ["kind": "x"]) }
        let index = PropertyIndex(named: "kinds", on: "kind")
        try database.createIndex(index)
        for selector: JSONValue in [
            ["_id": ["$gt": nil]], ["_id": ["$gte": "a:0"]], ["kind": "x"],
            ["_id": ["$gt": "z:1"], "kind": "x"],
        ] {
            let result = try database.partition("z").find(selector: selector).run()
            #expect(
                result.count == (selector["_id"]?["$gt"]?.string == "z:1" ? 3 : 5), "\(selector)")
            #expect(result.statistics.documentsExamined <= 5, "\(selector)")
        }
    }

    @Test func `an index of the other kind has no rows for a query that takes old ones`() throws {
        try fill()
        let view = view()
        _ = try database.partition("even").query(view).run()
        view.isPartitioned = false
        var whole = view.query()
        whole.updateMode = .never
        #expect(try whole.run().isEmpty)
        whole.updateMode = .before
        #expect(try whole.run().count == 20)
        view.isPartitioned = true
        var even = database.partition("even").query(view)
        even.updateMode = .never
        #expect(try even.run().isEmpty)
    }
}
