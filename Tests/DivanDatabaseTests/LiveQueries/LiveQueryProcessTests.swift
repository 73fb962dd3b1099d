// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestChild
import DivanTestSupport
import FoundationEssentials
import Testing

@testable import DivanDatabase

/// What another process writes and purges, a live query shows.
@Suite struct LiveQueryProcessTests {
    @Test func `another process's writes and purges reach a live query`() async throws {
        let directory = try TestDirectory("live")
        let database = try Database.forTest(at: directory.path("app.divan"), create: true)
        defer { database.close() }
        let view = database.view(named: "n")
        view.setMap(version: "1") { document, emit in emit(document["n"]) }
        let told = Told()
        let token = told.follow(view.query().live(interval: .zero))
        let all = Told()
        let other = all.follow(database.allDocumentsQuery().live(interval: .zero))
        await eventually { told.last == [] && all.last == [] }
        let child = try await offPool {
            let child = try TestChild("serve", directory.path("app.divan"))
            #expect(child.readLine() == "ready")
            return UncheckedBox(child)
        }
        _ = try await offPool { try child.value.ask("save a 1") }
        await eventually { told.last == [1] && all.last == ["a"] }
        try database.create("b", ["n": 2])
        _ = try await offPool { try child.value.ask("save c 3") }
        await eventually { told.last == [1, 2, 3] && all.last == ["a", "b", "c"] }
        _ = try await offPool { try child.value.ask("purge a") }
        await eventually { told.last == [2, 3] && all.last == ["b", "c"] }
        let rounds = Soak.count(test: 200, soak: 5_000)
        _ = try await offPool { try child.value.ask("churn \(rounds) 7") }
        let fresh = try view.query().run()
        let documents = try database.allDocumentsQuery().run()
        await eventually {
            told.updates.all.last?.rows == fresh && all.updates.all.last?.rows == documents
        }
        #expect(try await offPool { child.value.finish() } == 0)
        token.remove()
        other.remove()
    }

    @Test func `live queries of a read-only handle follow a writer in another process`()
        async throws
    {
        let directory = try TestDirectory("live-read-only")
        let path = directory.path("app.divan")
        do {
            let database = try Database.forTest(at: path, create: true)
            // Built once, and then out of date.
            try database.createIndex(PropertyIndex(on: "n"))
            try database.updateIndexes()
            database.close()
        }
        let database = try Database.forTest(at: path, readOnly: true)
        defer { database.close() }
        let view = database.view(named: "n")
        view.setMap(version: "1") { document, emit in emit(document["n"]) }
        let told = Told()
        let token = told.follow(view.query().live(interval: .zero))
        let found = ToldOf<FindResult>()
        let query = try database.find(selector: ["n": ["$gte": 2]])
        let other = found.follow(query.live(interval: .zero))
        await eventually { told.last == [] && found.last?.isEmpty == true }
        let child = try await offPool {
            let child = try TestChild("serve", path)
            #expect(child.readLine() == "ready")
            return UncheckedBox(child)
        }
        _ = try await offPool { try child.value.ask("save a 1") }
        await eventually { told.last == [1] }
        _ = try await offPool { try child.value.ask("save c 3") }
        await eventually { told.last == [1, 3] && found.last?.map(\.id) == ["c"] }
        _ = try await offPool { try child.value.ask("purge a") }
        await eventually { told.last == [3] && found.last?.map(\.id) == ["c"] }
        _ = try await offPool { try child.value.ask("purge c") }
        await eventually { told.last == [] && found.last?.isEmpty == true }
        #expect(try await offPool { child.value.finish() } == 0)
        token.remove()
        other.remove()
    }

    @Test func `a live query of an index that was up to date follows a writer in another process`()
        async throws
    {
        let directory = try TestDirectory("live-outdated")
        let path = directory.path("app.divan")
        func numbers(of database: Database) -> DatabaseView {
            let view = database.view(named: "n")
            view.setMap(version: "1") { document, emit in emit(document["n"]) }
            return view
        }
        do {
            let database = try Database.forTest(at: path, create: true)
            try database.create("a", ["n": 1])
            try numbers(of: database).updateIndex()
            database.close()
        }
        let database = try Database.forTest(at: path, readOnly: true)
        defer { database.close() }
        let told = Told()
        let token = told.follow(numbers(of: database).query().live(interval: .zero))
        await eventually { told.last == [1] }
        let child = try await offPool {
            let child = try TestChild("serve", path)
            #expect(child.readLine() == "ready")
            return UncheckedBox(child)
        }
        _ = try await offPool { try child.value.ask("save b 2") }
        await eventually { told.last == [1, 2] }
        #expect(told.errors.all == [])
        #expect(try await offPool { child.value.finish() } == 0)
        token.remove()
    }
}
