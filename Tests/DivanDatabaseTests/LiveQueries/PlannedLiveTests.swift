// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

@testable import DivanDatabase
@testable import DivanQuery

/// What one live query of any kind has told, by its callback.
final class ToldOf<Rows: Sendable & Equatable>: Sendable {
    let updates = Record<LiveUpdate<Rows>>()
    let errors = Record<String>()

    var last: Rows? { updates.all.last?.rows }

    func follow(_ live: LiveQuery<Rows>) -> ListenerToken {
        live.addChangeListener { result in
            switch result {
            case .success(let update): self.updates.append(update)
            case .failure(let error): self.errors.append("\(error)")
            }
        }
    }
}

/// Live queries of selectors and of the builder.
@Suite(.timeLimit(.minutes(10))) struct PlannedLiveTests {
    private let sandbox = Sandbox()
    private let database: Database

    init() throws {
        database = try sandbox.database()
        for number in 0..<20 {
            try database.create(
                "\(number)",
                ["n": .integer(Int64(number)), "type": number < 10 ? "low" : "high"])
        }
    }

    private func selector(_ json: JSONValue) throws -> FindQuery {
        try database.find(selector: json)
    }

    private var lowQuery: SelectQuery {
        QueryBuilder.select(.expression(Meta.id), .property("n")).from(.database(database))
            .where(.property("n").between(3, and: 6)).orderBy(.property("n").ascending())
    }

    @Test func `a live selector gives its documents at once and again when they change`()
        async throws
    {
        var query = try selector(["n": ["$gte": 18]])
        query.sort = [.ascending("n")]
        let live = query.live(interval: .zero)
        var results = live.makeAsyncIterator()
        #expect(try await results.next()?.map(\.id) == ["18", "19"])
        try database.update("3") { $0["n"] = 18.5 }
        #expect(try await results.next()?.map(\.id) == ["18", "3", "19"])
        try database.delete("18")
        #expect(try await results.next()?.map(\.id) == ["3", "19"])
        // Another property of a document that is found.
        try database.update("19") { $0["title"] = "last" }
        #expect(try await results.next()?.last?.properties["title"] == "last")
    }

    @Test func `a live query of the builder gives rows with their differences`() async throws {
        let told = ToldOf<SelectRows>()
        let token = told.follow(lowQuery.live(interval: .zero))
        await eventually { told.last?.compactMap { $0["n"].int } == [3, 4, 5, 6] }
        try database.update("4") { $0["n"] = 5.5 }
        await eventually { told.updates.all.count == 2 }
        let difference = told.updates.all.last?.difference
        #expect(difference?.updated == [.init(old: 1, new: 2)])
        #expect(difference?.moved.count == 1 && difference?.inserted == [])
        try database.delete("3")
        await eventually { told.updates.all.count == 3 }
        #expect(told.updates.all.last?.difference.removed == [0])
        token.remove()
    }

    @Test func `a listener of a query of the builder is called with groups`() async throws {
        let query =
            QueryBuilder
            .select(.property("type"), .expression(Function.count()).as("count"))
            .from(.database(database)).groupBy(.property("type"))
            .orderBy(.property("type").ascending())
        let told = ToldOf<SelectRows>()
        let token = query.addChangeListener(interval: .zero) { result in
            if case .success(let update) = result { told.updates.append(update) }
        }
        await eventually { told.last?.compactMap { $0["count"].int } == [10, 10] }
        try database.delete("0")
        await eventually { told.last?.compactMap { $0["count"].int } == [10, 9] }
        #expect(told.updates.all.last?.difference.updated == [.init(old: 1, new: 1)])
        token.remove()
    }

    /// Writes that concern documents 10 to 19 only, each looked at.
    private func writeElsewhere(_ looks: () -> Int) async throws {
        for number in 10..<20 {
            let before = looks()
            try database.update("\(number)") { $0["n"] = Fragment(number + 100) }
            await eventually { looks() > before }
        }
        let before = looks()
        try database.purge("19")
        await eventually { looks() > before }
    }

    // Each kind alone: a look that comes while another query brings the index up to date may not be able to tell, and runs
    // the query.
    @Test func `a write that touches no row that was read runs no selector`() async throws {
        try database.createIndex(PropertyIndex(named: "unicode", on: "n"))
        let found = try selector(["n": ["$gt": 2, "$lt": 7]]).live(interval: .zero)
        let told = ToldOf<FindResult>()
        let token = told.follow(found)
        await eventually { told.last?.count == 4 }
        let runs = found.fetchCount
        try await writeElsewhere { found.lookCount }
        // What comes after them is in the range.
        try database.update("5") { $0["title"] = "five" }
        await eventually { told.last?.contains { $0.properties["title"] == "five" } == true }
        try database.update("15") { $0["n"] = 4.5 }
        await eventually { told.last?.count == 5 }
        #expect(found.fetchCount == runs + 2)
        token.remove()
    }

    @Test func `a write that touches no row that was read runs no built query`() async throws {
        try database.createIndex(PropertyIndex(named: "raw", on: "n", collation: .raw))
        let selected = lowQuery.live(interval: .zero)
        let told = ToldOf<SelectRows>()
        let token = told.follow(selected)
        await eventually { told.last?.count == 4 }
        let runs = selected.fetchCount
        try await writeElsewhere { selected.lookCount }
        try database.update("5") { $0["title"] = "five" }
        await eventually { selected.fetchCount == runs + 1 }
        try database.update("15") { $0["n"] = 4.5 }
        await eventually { told.last?.count == 5 }
        #expect(selected.fetchCount == runs + 2)
        token.remove()
    }

    @Test func `a document that was looked at and not found may be found later`() async throws {
        try database.createIndex(PropertyIndex(on: "type"))
        let live = try selector(["type": "low", "star": true]).live(interval: .zero)
        let told = ToldOf<FindResult>()
        let token = told.follow(live)
        await eventually { told.last?.isEmpty == true }
        // The row of the index stays as it is.
        try database.update("7") { $0["star"] = true }
        await eventually { told.last?.map(\.id) == ["7"] }
        let looks = live.lookCount
        let runs = live.fetchCount
        try database.update("17") { $0["star"] = true }
        await eventually { live.lookCount > looks }
        #expect(live.fetchCount == runs)
        token.remove()
    }

    @Test func `a joined document concerns the query`() async throws {
        try database.createIndex(PropertyIndex(on: "author", collation: .raw))
        try database.create("post", ["author": "ann"])
        let query =
            QueryBuilder
            .select(.expression(.property("name").from("a")))
            .from(.database(database).as("p"))
            .join(
                .leftOuter(
                    .database(database).as("a"),
                    on: Meta.id.from("a").equalTo(.property("author").from("p")))
            )
            .where(.property("author").from("p").equalTo("ann"))
        let told = ToldOf<SelectRows>()
        let token = told.follow(query.live(interval: .zero))
        await eventually { told.last?.count == 1 }
        try database.create("ann", ["name": "Ann"])
        await eventually { told.last?.first?["name"].string == "Ann" }
        try database.update("ann") { $0["name"] = "Anna" }
        await eventually { told.last?.first?["name"].string == "Anna" }
        token.remove()
    }

    @Test func `another query may take a live query's place`() async throws {
        let live = try selector(["n": 3]).live(interval: .zero)
        let told = ToldOf<FindResult>()
        let token = told.follow(live)
        await eventually { told.last?.map(\.id) == ["3"] }
        live.query = try selector(["n": 4])
        await eventually { told.last?.map(\.id) == ["4"] }
        #expect(told.updates.all.last?.difference.removed == [0])
        let selected = lowQuery.live(interval: .zero)
        let rows = ToldOf<SelectRows>()
        let other = rows.follow(selected)
        await eventually { rows.last?.count == 4 }
        selected.query = lowQuery.limit(2)
        await eventually { rows.last?.count == 2 }
        token.remove()
        other.remove()
    }

    @Test func `a query that cannot be is told and mended`() async throws {
        let live = try selector(["n": 3]).live(interval: .zero)
        let told = ToldOf<FindResult>()
        let token = told.follow(live)
        await eventually { told.last?.count == 1 }
        var query = try selector(["n": 3])
        query.useIndex = "there is none"
        live.query = query
        await eventually { !told.errors.all.isEmpty && live.lastError != nil }
        live.query = try selector(["n": 5])
        await eventually { told.last?.map(\.id) == ["5"] && live.lastError == nil }
        token.remove()
    }
}
