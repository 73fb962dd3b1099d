// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
@testable import DivanQuery
import DivanJSON
import DivanModel
import DivanStorage
import DivanStorageConformance
import DivanTestChild
import DivanTestSupport
import enum DivanTestSupport.Soak
import Testing

/// Full-text indexes survive kills and full disks, and do not grow with what is searched.
@Suite(.timeLimit(.minutes(10))) struct FullTextRobustnessTests {
    private static func fill(_ database: Database, _ count: Int) throws {
        try database.inBatch {
            for number in 0..<count {
                try database.save(
                    MutableDocument(
                        ["text": .string(KnownText.text(number))], id: DocumentID("\(number)")))
            }
        }
    }

    /// The index has what the documents say.
    private static func check(_ database: Database, _ comment: Comment) throws {
        let index = KnownText.index(of: database)
        var search = index.search("every")
        search.includeDocuments = false
        let all = try search.run()
        #expect(UInt64(all.count) == (try database.documentCount), comment)
        for word in ["third", "prime7", "number12", "\"every third\""] {
            let expected = (0..<all.count).filter { number in
                KnownText.text(number).contains(
                    word.replacing("\"", with: "")) && (word != "number12" || number == 12)
            }
            let found = try index.search(word).run().map(\.documentID.text)
            #expect(found.sorted() == expected.map { "\($0)" }.sorted(), comment)
        }
        #expect(try database.verify().map(\.message) == [], comment)
    }

    @Test(arguments: [StorageError.Code.full, .io])
    func `a build that runs out of disk loses nothing and goes on`(_ code: StorageError.Code) throws
    {
        let failed = try FailingBuilds(
            each: 16, thenEach: Soak.step(test: 7, soak: 1), with: code
        ).run {
            try Self.fill($0, 400)
        } build: {
            try KnownText.index(of: $0).updateIndex()
        } check: {
            try Self.check($0, $1)
        }
        #expect(failed > 30, "Too few writes were failed.")
    }

    @Test func `an index whose build was killed goes on and equals a fresh one`() async throws {
        let directory = try TestDirectory("text-kill")
        let path = directory.path("app.divan")
        do {
            let database = try Database.forTest(at: path, create: true)
            try Self.fill(database, 3_000)
            database.close()
        }
        let midway = try await offPool {
            var midway = 0
            for round in Soak.rounds(test: 6, soak: 200) {
                var random = Soak.random(round: round, salt: 0x7D3)
                let child = try TestChild("index", path, "text")
                _ = child.readLine()
                _ = child.readLines(killingAfterMicroseconds: random.below(500_000))
                #expect(child.wait() == -9, "round \(round): the child failed by itself")
                let database = try Database.forTest(at: path)
                defer { database.close() }
                let index = KnownText.index(of: database)
                let indexed = try index.lastSequenceIndexed
                if indexed > 0, indexed < 3_000 { midway += 1 }
                try Self.check(database, "round \(round)")
                if random.oneIn(2) { try index.deleteIndex() }
            }
            return midway
        }
        print("Kills between the pieces of a build: \(midway).")
        #expect(midway > 0, "No build was killed midway.")
    }

    @Test func `a build in many pieces gives what one in a single piece gives`() throws {
        let directory = try TestDirectory("text-pieces")
        let small = try Database.forTest(
            at: directory.path("small.divan"), create: true, indexingMemory: 20_000)
        let large = try Database.forTest(at: directory.path("large.divan"), create: true)
        for database in [small, large] { try Self.fill(database, 2_000) }
        for text in ["every", "third NOT prime7", "num*", "\"number every\"", "third OR prime5"] {
            let one = try KnownText.index(of: small).search(text).run()
            let other = try KnownText.index(of: large).search(text).run()
            #expect(one.map(\.documentID) == other.map(\.documentID), "\(text)")
            #expect(one.map(\.score) == other.map(\.score), "\(text)")
        }
        for database in [small, large] {
            try Self.check(database, "\(database.name)")
            database.close()
        }
    }

    @Test func `a limit gives the first rows of all, however many score alike`() throws {
        let database = try Database.inMemory()
        defer { database.close() }
        let index = database.fullTextIndex(named: "t", on: ["text"])
        try database.inBatch {
            for number in 0..<5_200 {
                // A few stand out; thousands are alike. IDs do not come in the order of documents.
                let text = number % 1_000 == 7 ? "word word other" : "word other other"
                let id = DocumentID("\(number * 7_919 % 10_007)")
                try database.save(MutableDocument(["text": .string(text)], id: id))
            }
        }
        for isRanked in [true, false] {
            var search = index.search("word")
            search.includeDocuments = false
            search.isRanked = isRanked
            let all = try search.run()
            #expect(all.count == 5_200 && all.totalMatches == 5_200)
            for (skip, limit) in [(0, 1), (0, 10), (5, 10), (0, 300), (5_190, 100), (20_000, 3)] {
                (search.skip, search.limit) = (skip, limit)
                let page = try search.run()
                #expect(Array(page) == Array(all.dropFirst(skip).prefix(limit)))
                #expect(page.totalMatches == 5_200)
            }
            (search.skip, search.limit) = (0, 0)
            #expect(try search.run().isEmpty)
            (search.skip, search.limit) = (.max, .max)
            #expect(try search.run().isEmpty)
        }
    }

    @Test func `an index of an earlier release is built anew`() throws {
        let database = try Database.inMemory()
        defer { database.close() }
        try database.create("a", ["text": "every word"])
        let index = KnownText.index(of: database)
        let former = try database.core.write { context in
            try context.makeIndex(
                index.indexName, signature: "5 raw bytes map and reduce * 1 icu {}", version: "1")
        }
        #expect(try database.verify().isEmpty)
        #expect(try index.search("word").run().map(\.documentID) == ["a"])
        let record = try database.core.read { try $0.indexRecord(index.indexName) }
        #expect(record?.isText == true && record?.number == former.number + 1)
    }

    @Test func `positions of very many texts are not trusted to be small`() throws {
        let database = try Database.inMemory()
        defer { database.close() }
        let index = database.fullTextIndex(named: "t", on: ["texts"])
        let texts = (0..<4_000).map { JSONValue.string($0 == 3_999 ? "the last one" : "a") }
        try database.create("many", ["texts": .array(texts)])
        #expect(try index.search("\"last one\"").run().map(\.documentID) == ["many"])
        #expect(try index.search("\"a last\"").run().isEmpty)
        #expect(try database.verify().isEmpty)
    }
}
