// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanTestSupport
import Synchronization
import Testing

@testable import DivanDatabase
@testable import DivanQuery

/// Many indexes that are outdated at once share the memory for rows that wait.
struct IndexGroupTests {
    private static let documents = 2_000

    private let sandbox = Sandbox()

    private func database(_ name: String = "db", memory: Int = 400_000) throws -> Database {
        let database = try sandbox.database(name) { $0.indexingMemory = memory }
        try database.inBatch {
            for number in 0..<Self.documents {
                let text = String(repeating: "x", count: number % 100)
                try database.save(
                    MutableDocument(
                        ["n": .integer(Int64(number)), "text": .string(text)], id: "\(number)"))
            }
        }
        return database
    }

    /// Views of rows of different sizes, and how often each of their maps was called.
    private static func views(
        _ count: Int, of database: Database, _ calls: CallCounter
    ) -> [DatabaseView] {
        (0..<count).map { place in
            let view = database.view(named: "view \(place)")
            view.setMap(version: "1", reduce: .count) { document, emit in
                calls.note(place)
                for copy in 0...place % 4 {
                    let number = document.int(forKey: "n") % (place + 2)
                    emit([.integer(Int64(number)), .integer(Int64(copy))], document["text"])
                }
            }
            return view
        }
    }

    @Test func `many indexes map each document about once and keep few rows in memory`() throws {
        let memory = 4_000_000
        let database = try database(memory: memory)
        defer { database.close() }
        let calls = CallCounter()
        let views = Self.views(40, of: database, calls)
        let report = try IndexPass(
            core: database.core, definitions: views.map { try $0.definition() }
        ).run()
        for (place, view) in views.enumerated() {
            // The first piece tells how large the rows are, and only the first group keeps it.
            let first = IndexPart.firstCount(views.count, memory: memory)
            #expect(calls.count(place) >= Self.documents)
            #expect(calls.count(place) <= Self.documents + first)
            #expect(try !view.isStale)
            #expect(try view.totalRows == Self.documents * (place % 4 + 1))
        }
        #expect(report.mostPending > memory / 2)
        #expect(report.mostPending < memory * 5 / 4)
        // They were read once for each group, and there are far fewer groups than indexes.
        #expect(report.documents > 5 * Self.documents)
        #expect(report.documents < 20 * Self.documents)
        #expect(try database.verify().map(\.message) == [])
    }

    @Test func `few indexes that fit into memory read each document once`() throws {
        let database = try database(memory: 800_000)
        defer { database.close() }
        let views = (0..<2).map { place in
            let view = database.view(named: "view \(place)")
            view.setMap(version: "1") { document, emit in emit(document["n"], nil) }
            return view
        }
        let report = try IndexPass(
            core: database.core, definitions: views.map { try $0.definition() }
        ).run()
        #expect(report.documents == Self.documents)
        for view in views { #expect(try view.totalRows == Self.documents) }
    }

    /// Maps for many views at once, and counts the documents.
    private final class CountingMapper: GroupMapper {
        let count = Mutex(0)
        let views: Int

        init(views: Int) { self.views = views }

        func map(_ documents: [Document]) throws -> [PackedValue] {
            count.withLock { $0 += documents.count }
            return documents.map { document in
                let rows: JSONValue = [
                    [document["n"].value ?? .null, document["text"].value ?? .null]
                ]
                return PackedValue(.array([JSONValue](repeating: rows, count: views)))
            }
        }
    }

    @Test func `views that one mapper maps together are never divided`() throws {
        let database = try database()
        defer { database.close() }
        let mapper = CountingMapper(views: 12)
        let views = (0..<12).map { place in
            let view = database.view(named: "view \(place)")
            view.setMap(
                version: "1", by: mapper, place: place, reduce: nil, collation: .unicode,
                includesDesign: false)
            return view
        }
        let report = try IndexPass(
            core: database.core, definitions: views.map { try $0.definition() }
        ).run()
        #expect(mapper.count.withLock { $0 } == Self.documents)
        #expect(report.documents == Self.documents)
        for view in views { #expect(try view.totalRows == Self.documents) }
    }

    @Test func `the rows of many indexes are those of each built alone`() throws {
        let (together, alone) = (try database("together"), try database("alone"))
        defer {
            together.close()
            alone.close()
        }
        let many = Self.views(12, of: together, CallCounter())
        try many[0].updateIndex()
        for (place, view) in many.enumerated() {
            let single = Self.views(place + 1, of: alone, CallCounter())[place]
            _ = try IndexPass(core: alone.core, definitions: [single.definition()]).run()
            var queries = (view.query(), single.query())
            (queries.0.mapOnly, queries.1.mapOnly) = (true, true)
            let rows = (try queries.0.run(), try queries.1.run())
            #expect(rows.0.map(\.key) == rows.1.map(\.key))
            #expect(rows.0.map(\.documentID) == rows.1.map(\.documentID))
            #expect(rows.0.map(\.value) == rows.1.map(\.value))
        }
    }

    @Test func `progress of many indexes grows to its end and never goes back`() throws {
        let database = try database()
        defer { database.close() }
        let views = Self.views(12, of: database, CallCounter())
        var seen: [(completed: Int, total: Int)] = []
        try views[0].updateIndex { progress in
            guard progress.phase == "indexing", let total = progress.total else { return }
            seen.append((progress.completed, total))
        }
        #expect(seen.count > 12)
        #expect(zip(seen, seen.dropFirst()).allSatisfy { $0.completed < $1.completed })
        #expect(seen.allSatisfy { $0.completed < $0.total })
        // Once the groups are known, so is the work.
        let last = try #require(seen.last)
        #expect(Set(seen.dropFirst().map(\.total)).count <= 3)
        #expect(last.total - last.completed < Self.documents)
    }

    @Test func `a pass of many indexes that is stopped goes on where it was`() throws {
        struct Stop: Error {}
        let database = try database()
        defer { database.close() }
        let calls = CallCounter()
        let views = Self.views(12, of: database, calls)
        var stops = 0
        while true {
            var pieces = 0
            do {
                try views[0].updateIndex { progress in
                    guard progress.phase == "indexing" else { return }
                    pieces += 1
                    // A write brings two or three pieces, so each try does some of the work.
                    if pieces > 5 { throw Stop() }
                }
                break
            } catch is Stop { stops += 1 }
            try #require(stops < 200)
        }
        #expect(stops > 1)
        for (place, view) in views.enumerated() {
            #expect(try view.totalRows == Self.documents * (place % 4 + 1))
        }
        #expect(try database.verify().map(\.message) == [])
    }
}

/// Counts calls, by what they are for.
private final class CallCounter: Sendable {
    private let counts = Mutex<[Int: Int]>([:])

    func note(_ place: Int) { counts.withLock { $0[place, default: 0] += 1 } }

    func count(_ place: Int) -> Int { counts.withLock { $0[place] ?? 0 } }
}
