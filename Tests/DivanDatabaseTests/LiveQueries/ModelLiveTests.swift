// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import func DivanTestSupport.eventually
import class DivanTestSupport.Flag
import DivanTestSupport
import enum DivanTestSupport.Soak
import Observation
import Synchronization
import Testing

@testable import DivanDatabase
@testable import DivanQuery

/// Live queries of models.
///
/// Soak slices: 2
@Suite(.timeLimit(.minutes(10))) struct ModelLiveTests {
    struct Chore: DocumentModel {
        static let documentType: String? = "chore"
        var identity = ModelIdentity()
        var title: String
        var isDone = false

        init(_ title: String, id: DocumentID) {
            identity = ModelIdentity(id: id)
            self.title = title
        }
    }

    private let database: Database

    init() throws { database = try Database.inMemory() }

    private func save(_ title: String, id: DocumentID) throws {
        var chore = Chore(title, id: id)
        try database.save(&chore)
    }

    @Test func `a loop gets the models and how they changed`() async throws {
        try save("b", id: "1")
        let live = try database.live(
            Chore.self, interval: .zero, where: { !$0.isDone }, sortedBy: { $0.title < $1.title })
        var updates = live.updates.makeAsyncIterator()
        #expect(try await updates.next()?.rows.map(\.title) == ["b"])
        try save("a", id: "2")
        var update = try await updates.next()
        #expect(update?.rows.map(\.title) == ["a", "b"])
        #expect(update?.difference.inserted == [0])
        try database.update(Chore.self, withID: "2") { $0.title = "c" }
        update = try await updates.next()
        #expect(update?.rows.map(\.title) == ["b", "c"])
        #expect(update?.difference.inserted == [] && update?.difference.removed == [])
        #expect(update?.difference.moved.count == 1 && update?.difference.updated.count == 1)
        try database.update(Chore.self, withID: "1") { $0.isDone = true }
        update = try await updates.next()
        #expect(update?.rows.map(\.title) == ["c"])
        #expect(update?.difference.removed == [0])
    }

    @Test func `only documents that have changed are read again`() throws {
        for number in 0..<50 { try save("\(number)", id: "\(number)") }
        let source = try ModelLiveSource<Chore>(database, { _ in true }, nil)
        #expect(try source.fetch().rows.count == 50)
        #expect(source.reads.load(ordering: .relaxed) == 0)
        try save("new", id: "new")
        try database.delete("7")
        try database.purge("8")
        try database.create("other", ["type": "list"])
        #expect(try source.fetch().rows.count == 49)
        #expect(source.reads.load(ordering: .relaxed) == 4)
        _ = try source.fetch()
        #expect(source.reads.load(ordering: .relaxed) == 4)
    }

    @Test func `a model that cannot be read ends loops until it is mended`() async throws {
        try save("a", id: "a")
        let live = try database.live(Chore.self, interval: .zero)
        #expect(try await live.waitForRows()?.count == 1)
        try database.create("bad", ["type": "chore", "title": 1, "isDone": false])
        await eventually { live.lastError != nil }
        let error = try #require(live.lastError as? DatabaseError)
        #expect(error.code == .invalidDocument && error.documentID == "bad")
        await #expect(throws: DatabaseError.self) { try await live.waitForRows() }
        try database.update("bad") { $0["title"] = "b" }
        await eventually { live.rows?.map(\.title) == ["a", "b"] }
        #expect(live.lastError == nil)
    }

    @Test func `a type that does not say which documents are its own has no live query`() throws {
        struct Untyped: DocumentModel { var identity = ModelIdentity() }
        #expect { try database.live(Untyped.self) } throws: { error in
            (error as? DatabaseError)?.code == .invalidQuery
        }
    }

    @Test func `rows give models`() throws {
        try save("a", id: "1")
        let view = database.view(named: "titles")
        view.setMap(version: "1") { document, emit in emit(document["title"], nil) }
        #expect(try view.query().run().map { try $0.model(Chore.self)?.title } == ["a"])
        let found = try database.find(selector: ["title": "a"]).run()
        #expect(try found.map { try $0.model(Chore.self).id } == ["1"])
        try database.delete("1")
        #expect(try view.query().run().isEmpty)
    }

    @Test func `what shows the rows is told whenever they have changed`() async throws {
        let live = try database.live(Chore.self, interval: .zero)
        live.start()
        for number in 1...20 {
            await eventually { live.rows?.count == number - 1 }
            let told = Flag()
            withObservationTracking {
                _ = live.rows
            } onChange: {
                told.set()
            }
            try save("a", id: "\(number)")
            await eventually { told.isSet }
        }
    }

    @Test func `what shows the failure is told of it`() async throws {
        let live = try database.live(Chore.self, interval: .zero)
        #expect(try await live.waitForRows()?.isEmpty == true)
        let told = Flag()
        withObservationTracking {
            _ = live.lastError
        } onChange: {
            told.set()
        }
        try database.create("bad", ["type": "chore"])
        await eventually { told.isSet && live.lastError != nil }
    }

    @Test func `the models kept are those that a fresh look finds`() throws {
        for round in Soak.rounds(test: 100, soak: 5_000) {
            var random = Soak.random(round: round, salt: 0x30DE)
            let database = try Database.inMemory()
            let source = try ModelLiveSource<Chore>(database, { !$0.isDone }, nil)
            for _ in 0..<30 {
                for _ in 0..<random.below(4) { try Self.change(database, &random) }
                try source.checkInvariants()
                if random.oneIn(8) { try Self.fail(source, database) }
                let (rows, fresh) = (
                    try source.fetch().rows, try database.models(Chore.self) { !$0.isDone }
                )
                #expect(source.areEqual(rows, fresh), "round \(round)")
                #expect(rows.map(\.title) == fresh.map(\.title), "round \(round)")
                try source.checkInvariants()
            }
        }
    }

    /// Has a source fail at a document, behind which others have changed.
    private static func fail(_ source: ModelLiveSource<Chore>, _ database: Database) throws {
        try database.create("bad", ["type": "chore", "title": 1, "isDone": false])
        #expect(throws: DatabaseError.self) { try source.fetch() }
        try database.purge("bad")
        try source.checkInvariants()
    }

    private static func change(_ database: Database, _ random: inout SeededRandom) throws {
        let id: DocumentID = "d\(random.below(8))"
        switch random.below(8) {
        case 0: if try database.contains(id) { try database.delete(id) }
        case 1: if try database.contains(id) { try database.purge(id) }
        case 2: try database.compact()
        case 3:
            if try database.document(withID: id)?["type"].string == "chore" {
                try database.update(Chore.self, withID: id) { $0.isDone.toggle() }
            }
        case 4:
            if let document = try database.document(withID: id) {
                let edit = document.toMutable()
                edit["type"] = Fragment(random.below(2) == 0 ? "list" : "chore")
                try database.save(edit)
            }
        default:
            if try !database.contains(id) {
                var chore = Chore("t\(random.below(100))", id: id)
                try database.save(&chore)
            } else {
                try database.update(id) { $0["title"] = Fragment("t\(random.below(100))") }
            }
        }
    }
}
