// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
@testable import DivanIndex
@testable import DivanQuery
import DivanJSON
import DivanMaintenance
import DivanModel
import DivanStorage
import DivanTestSupport
import Foundation
import Synchronization
import Testing

/// What indexes keep of documents, so that their rows are found when the documents change: whatever happens to the
/// revisions that it was made of.
struct EmissionListsTests {
    private let sandbox = Sandbox()

    /// Indexes of three kinds: one row a document, a row for each element, and a row for some documents only.
    private struct Indexes {
        let database: Database
        var view: DatabaseView { database.view(named: "odd") }

        init(_ database: Database) throws {
            self.database = database
            try makeView()
            try database.createIndex(PropertyIndex(on: "n"))
            try database.createIndex(PropertyIndex(on: "tags[]"))
        }

        /// Makes the view, in place of a former one.
        func makeView() throws {
            try view.delete()
            view.setMap(version: "1") { document, emit in
                if document.int(forKey: "n") % 2 == 1 { emit(document["n"], document["text"]) }
            }
        }

        func update() throws {
            let before = try numbers()
            try database.updateIndexes()
            try view.updateIndex()
            // An index that a pass finds damaged is built anew, under another number.
            let after = try numbers()
            for (name, number) in before { #expect(after[name] == number) }
        }

        private func numbers() throws -> [IndexName: UInt64] {
            try database.core.read { snapshot in
                var numbers: [IndexName: UInt64] = [:]
                for name in try snapshot.indexNames() {
                    numbers[name] = try snapshot.indexRecord(name)?.number
                }
                return numbers
            }
        }

        /// Compares them with indexes that are made anew, and verifies them.
        func check(_ comment: Comment) throws {
            try update()
            #expect(try database.verify().map(\.message) == [], comment)
            let names = try database.core.read { try $0.indexNames() }
            let rows = try names.map { try keys(of: $0) }
            for index in try database.indexes() {
                try database.deleteIndex(named: index.name)
                try database.createIndex(index)
            }
            try makeView()
            try update()
            #expect(try names.map { try keys(of: $0) } == rows, comment)
        }

        /// The keys of an index: what rows of a property index remember of their documents may differ.
        private func keys(of name: IndexName) throws -> [[UInt8]] {
            try database.core.read { snapshot in
                let record = try #require(try snapshot.indexRecord(name))
                var keys: [[UInt8]] = []
                try snapshot.reader(of: record).forEachRow { key, _ in
                    keys.append((0..<key.count).map { key[$0] })
                    return true
                }
                return keys
            }
        }
    }

    /// A document's properties.
    private static func properties(_ random: inout DivanTestSupport.SeededRandom) -> JSONObject {
        let tags = (0..<random.below(3)).map { _ in JSONValue.integer(Int64(random.below(3))) }
        return [
            "n": .integer(Int64(random.below(6))), "tags": .array(tags),
            "text": .integer(Int64(random.below(2))),
        ]
    }

    /// Does something to one of a few documents.
    private static func change(
        _ database: Database, _ random: inout DivanTestSupport.SeededRandom, documents: Int = 6
    ) throws {
        let id = DocumentID("\(random.below(documents))")
        let tree = try database.revisionTree(of: id)
        switch random.below(16) {
        case 0: try database.purge(id)
        case 1:
            if let leaf = tree?.leaves.map(\.id).randomElement(using: &random) {
                try database.purge(id, revisions: [leaf])
            }
        case 2: if tree?.isDeleted == false { try database.delete(id) }
        case 3: try database.compact()
        case 4, 5, 6:
            // A revision from elsewhere, on any branch, that may be long or without a common ancestor.
            var history = [RevisionID]()
            if let parent = tree?.nodes.map(\.id).randomElement(using: &random), random.below(4) > 0
            {
                history = [parent]
            }
            for _ in 0...random.below(3) {
                let generation = (history.first?.generation ?? UInt64(random.below(3))) + 1
                history.insert(RevisionID("\(generation)-\(random.below(1_000))"), at: 0)
            }
            try database.putExistingRevision(
                id, properties(&random), history: history, isDeleted: random.oneIn(4))
        case 7:
            try? database.inBatch {
                try database.save(MutableDocument(properties(&random), id: id))
                try database.purge(id)
                throw CancellationError()
            }
        default:
            let document = try database.document(withID: id)?.toMutable() ?? MutableDocument(id: id)
            document.setProperties(properties(&random))
            try database.save(document)
        }
    }

    @Test func `indexes follow random histories`() throws {
        for round in Soak.rounds(test: 40, soak: 3_000) {
            var random = Soak.random(round: round, salt: 0x11575)
            let database = try sandbox.database("\(round)")
            defer { database.close() }
            try database.setRevisionBodyLimit(1 + random.below(4))
            let indexes = try Indexes(database)
            for step in 0..<30 {
                try Self.change(database, &random)
                if random.oneIn(8) { try database.inBatch { try indexes.update() } }
                if random.oneIn(3) { try indexes.update() }
                if random.oneIn(15) { try indexes.check("round \(round), step \(step)") }
            }
            try indexes.check("round \(round)")
        }
    }

    @Test func `indexes follow what other threads edit, compact and purge beside their passes`()
        async throws
    {
        for round in Soak.rounds(test: 6, soak: 100) {
            // A pass writes often, and each part of it is read in a later snapshot.
            let database = try sandbox.database("\(round)") { $0.indexingMemory = 100_000 }
            defer { database.close() }
            try database.setRevisionBodyLimit(3)
            let indexes = try Indexes(database)
            try database.inBatch {
                for number in 0..<3_000 {
                    try database.save(
                        MutableDocument(["n": .integer(Int64(number % 7))], id: "\(number)"))
                }
            }
            try await offPool {
                let (turn, writing) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
                let failure = Mutex<(any Error)?>(nil)
                Thread.detachNewThread {
                    defer { writing.signal() }
                    var random = Soak.random(round: round, salt: 0xBE51DE)
                    do {
                        for _ in 0..<10 {
                            turn.wait()
                            for _ in 0..<200 {
                                try Self.change(database, &random, documents: 3_000)
                            }
                        }
                    } catch { failure.withLock { $0 = error } }
                }
                for number in 0..<10 {
                    // Built anew, too, while documents change.
                    if number == 5 { try indexes.makeView() }
                    turn.signal()
                    try indexes.update()
                }
                writing.wait()
                if let error = failure.withLock({ $0 }) { throw error }
                try indexes.check("round \(round)")
            }
        }
    }

    @Test func `an edit that leaves the keys alone and one of other documents write no list`()
        throws
    {
        let database = try sandbox.database()
        defer { database.close() }
        try database.createIndex(PropertyIndex(on: "n"))
        for number in 0..<100 {
            try database.save(MutableDocument(["n": .integer(Int64(number))], id: "\(number)"))
        }
        try database.updateIndexes()
        #expect(try lists(of: database) == (1...100).map { SequenceNumber($0) })
        let document = try #require(try database.document(withID: "7")).toMutable()
        document.set("other", forKey: "text")
        try database.save(document)
        try database.updateIndexes()
        #expect(try lists(of: database) == (1...100).map { SequenceNumber($0) })
        document.set(1_000, forKey: "n")
        try database.save(document)
        try database.updateIndexes()
        #expect(try lists(of: database).suffix(2) == [100, 102])
    }

    @Test func `a compaction moves the lists that count and removes the others`() throws {
        let database = try sandbox.database()
        defer { database.close() }
        try database.createIndex(PropertyIndex(on: "n"))
        try database.save(MutableDocument(["n": 1], id: "same"))
        try database.save(MutableDocument(["n": 1], id: "other"))
        try database.updateIndexes()
        for (id, n) in [("same", 1), ("other", 2)] {
            let document = try #require(try database.document(withID: DocumentID(id))).toMutable()
            document.set(n, forKey: "n")
            document.set("edited", forKey: "text")
            try database.save(document)
        }
        try database.updateIndexes()
        #expect(try lists(of: database) == [1, 2, 4])
        try database.compact()
        #expect(try lists(of: database) == [3, 4])
        #expect(try database.verify().map(\.message) == [])
    }

    @Test func `the list of a purged document waits for the index, whoever takes its ID`() throws {
        let database = try sandbox.database()
        defer { database.close() }
        let indexes = try Indexes(database)
        try database.save(MutableDocument(["n": 1, "tags": [1, 2]], id: "a"))
        try database.save(MutableDocument(["n": 3], id: "b"))
        try indexes.update()
        try database.purge("a")
        try database.purge("b")
        #expect(try database.verify().map(\.message) == [])
        try database.save(MutableDocument(["n": 5], id: "a"))
        try indexes.check("a document of the same ID")
        let store = try propertyStores(of: database).purged
        #expect(try database.core.read { try $0.reader.count(of: store) } == 0)
    }

    @Test func `a document with very many conflicts keeps its list near the newest of them`() throws
    {
        let database = try sandbox.database()
        defer { database.close() }
        let indexes = try Indexes(database)
        for number in 100..<250 {
            try database.putExistingRevision(
                "a", ["n": .integer(Int64(number / 100)), "tags": [.integer(Int64(number / 50))]],
                history: [RevisionID("1-\(number)")])
            try indexes.update()
        }
        // The winner, and so the keys, changed three times; the lists have followed the sequences.
        let last = try #require(try lists(of: database).last)
        #expect(last > 100)
        try indexes.check("many conflicts")
    }

    @Test func `a list that moves while a document is mapped is the one that is replaced`()
        async throws
    {
        let database = try sandbox.database()
        defer { database.close() }
        try database.setRevisionBodyLimit(2)
        @Sendable func save(_ n: Int) throws {
            let document =
                try database.document(withID: "a")?.toMutable() ?? MutableDocument(id: "a")
            document.set(n, forKey: "n")
            try database.save(document)
        }
        try await offPool {
            let view = database.view(named: "v")
            view.setMap(version: "1") { document, emit in
                if document.int(forKey: "n") == 2 {
                    // The third revision takes the body of the first one away, and with it the list.
                    let isDone = DispatchSemaphore(value: 0)
                    Thread.detachNewThread {
                        try? save(3)
                        isDone.signal()
                    }
                    isDone.wait()
                }
                emit(document["n"], nil)
            }
            func number() throws -> UInt64? {
                try database.core.read { snapshot in
                    try snapshot.indexNames().first.flatMap { try snapshot.indexRecord($0)?.number }
                }
            }
            try save(1)
            try view.updateIndex()
            let first = try number()
            try save(2)
            for _ in 0..<2 { try view.updateIndex() }
            #expect(try view.query().run().map(\.key) == [3])
            // It was not found damaged and built anew.
            #expect(try number() == first)
            #expect(try database.verify().map(\.message) == [])
        }
    }

    @Test func `a document is saved though an index is damaged, which is then built anew`() throws {
        let (database, document) = try indexedDocument()
        defer { database.close() }
        let stores = try propertyStores(of: database)
        try database.core.write { context in
            let (writer, _) = try context.transaction()
            let damage: [UInt8] = [0xFF, 0xFF]
            try writer.set(damage.span, forKey: [0].span, in: stores.emissions)
        }
        document.set(2, forKey: "n")
        try database.save(document)
        #expect(try database.document(withID: "a")?.int(forKey: "n") == 2)
        // The save itself has emptied it.
        #expect(try propertyStores(of: database).emissions != stores.emissions)
        try database.updateIndexes()
        #expect(try database.verify().map(\.message) == [])
    }

    @Test func `a document is saved and purged though the record of an index is damaged`() throws {
        let (database, document) = try indexedDocument()
        defer { database.close() }
        try database.core.write { context in
            let (writer, snapshot) = try context.transaction()
            let name = try #require(try snapshot.indexNames().first)
            let damage = [UInt8](repeating: 0xFF, count: 9)
            try writer.set(damage.span, forKey: name.key.span, in: database.core.stores.indexes)
        }
        document.set(2, forKey: "n")
        try database.save(document)
        #expect(try database.document(withID: "a")?.int(forKey: "n") == 2)
        #expect(try database.purge("a"))
    }

    /// A database with a document in an index; each edit deletes the body before.
    private func indexedDocument() throws -> (Database, MutableDocument) {
        let database = try sandbox.database()
        try database.setRevisionBodyLimit(1)
        try database.createIndex(PropertyIndex(on: "n"))
        let document = MutableDocument(["n": 1], id: "a")
        try database.save(document)
        try database.updateIndexes()
        return (database, document)
    }

    private func propertyStores(of database: Database) throws -> IndexStores {
        try database.core.read { snapshot in
            let names = try snapshot.indexNames().filter { $0.kind == .property }
            let record = try #require(try names.first.flatMap { try snapshot.indexRecord($0) })
            return IndexStores(number: record.number, engine: database.core.engine)
        }
    }

    /// The sequences that have lists, in the first property index.
    private func lists(of database: Database) throws -> [SequenceNumber] {
        let stores = try propertyStores(of: database)
        return try database.core.read { snapshot in
            let cursor = try BlockCursor(stores.emissions, snapshot.reader)
            defer { cursor.close() }
            var sequences: [SequenceNumber] = []
            var found = try cursor.seekToFirst()
            while found {
                try cursor.withKey { sequences.append(try EmissionLists.sequence($0)) }
                found = try cursor.next()
            }
            return sequences
        }
    }
}
