// SPDX-License-Identifier: Apache-2.0

import Divan
import Synchronization
import Testing

/// The samples of the reference of version 1.4: queries of all documents, and live queries.
@Suite(.timeLimit(.minutes(10))) struct LiveQuerySamples {
    private let sample: Sample
    private var database: Database { sample.database }

    init() throws { sample = try Sample() }

    private func makeWidgets() throws -> DatabaseView {
        let view = database.view(named: "widgets")
        view.setMap(version: "1") { document, emit in
            if document["type"].string == "widget" { emit(document["name"], document["price"]) }
        }
        return view
    }

    private func save(_ name: String, _ price: Double) throws {
        try database.save(
            MutableDocument(["type": "widget", "name": .string(name), "price": .double(price)]))
    }

    @Test func `documents with conflicts are listed by a query of all documents`() throws {
        try database.put("calm", [:], parent: nil)
        let first = try database.put("torn", ["n": 0], parent: nil)
        try database.put("torn", ["n": 1], parent: first.revisionID, options: .allowConflict)
        try database.put("torn", ["n": 2], parent: first.revisionID, options: .allowConflict)
        var query = database.allDocumentsQuery()
        query.allDocumentsMode = .onlyConflicts
        #expect(try query.run().map(\.documentID) == ["torn"])
    }

    @Test func `a query begins at a key and shows the first hundred rows`() throws {
        for (name, price) in [("lever", 4.0), ("mallet", 9.5), ("nut", 0.1)] {
            try save(name, price)
        }
        var query = try makeWidgets().query()
        query.startKey = "m"
        query.limit = 100
        let rows = try query.run()
        #expect(rows.map { $0.key.string } == ["mallet", "nut"])
        #expect(rows.map { $0.value?.double } == [9.5, 0.1])
    }

    @Test func `a live query shows the rows at once and again when they change`() async throws {
        try save("mallet", 9.5)
        var query = try makeWidgets().query()
        query.limit = 100
        let live = query.live()
        let shown = Mutex<[Int]>([])
        let token = live.addChangeListener { update in
            guard let rows = try? update.get().rows else { return }
            shown.withLock { $0.append(rows.count) }
        }
        await eventually { shown.withLock { $0 } == [1] }
        try save("nut", 0.1)
        await eventually { shown.withLock { $0 } == [1, 2] }
        // A document that is no widget changes no row, so the listener is not called.
        try database.put("note", ["type": "note"], parent: nil)
        try save("lever", 4)
        await eventually { shown.withLock { $0.last } == 3 }
        #expect(shown.withLock { $0 } == [1, 2, 3])
        token.remove()
    }
}
