// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
@testable import DivanQuery
import Dispatch
import DivanJSON
internal import DivanModel
import DivanStorage
import DivanStorageConformance
import DivanTestChild
import DivanTestSupport
import Testing

/// Indexes survive kills, full disks, other processes and large emissions.
@Suite(.timeLimit(.minutes(10))) struct IndexRobustnessTests {
    private static func fill(_ database: Database, _ count: Int) throws {
        try database.inBatch {
            for number in 0..<count {
                try database.save(MutableDocument(["n": .integer(Int64(number))], id: "\(number)"))
            }
        }
    }

    @Test func `a map function that is broken off has not failed`() throws {
        let database = try Database.inMemory()
        try database.save(MutableDocument(["n": 1], id: "a"))
        let (flag, isBroken) = (CancellationFlag(), DivanTestSupport.Flag())
        let view = database.view(named: "v")
        view.setMap(version: "1") { document, emit in
            if !isBroken.isSet {
                isBroken.set()
                flag.cancel()
                try flag.check()
            }
            emit(document["n"], nil)
        }
        #expect(throws: (any Error).self) { try flag.carried { try view.updateIndex() } }
        #expect(isBroken.isSet)
        try view.updateIndex()
        #expect(try view.totalRows == 1)
    }

    /// What a fresh build gives, from the documents alone.
    private static func check(_ database: Database, _ comment: Comment) throws {
        let view = KnownView.define(on: database)
        var query = view.query()
        query.mapOnly = true
        let rows = try query.run()
        var expected = 0
        var sum: Int64 = 0
        try database.forEachDocument { row in
            guard let number = try database.document(withID: row.id)?["n"].int64 else { return }
            let own = KnownView.rows(number)
            expected += own.count
            sum += number * Int64(own.count)
        }
        #expect(rows.count == expected, comment)
        #expect(expected > 0, comment)
        #expect(try view.query().run().first?.value == .integer(sum), comment)
        #expect(try database.verify().map(\.message) == [], comment)
        let fresh = database.view(named: "fresh")
        fresh.setMap(version: "1") { document, emit in
            guard let number = document["n"].int64 else { return }
            for key in KnownView.rows(number) { emit(key, number) }
        }
        #expect(try fresh.query().run() == rows, comment)
        try fresh.delete()
    }

    @Test func `an index whose build was killed goes on and equals a fresh one`() async throws {
        let directory = try TestDirectory("index-kill")
        let path = directory.path("app.divan")
        do {
            let database = try Database.forTest(at: path, create: true)
            try Self.fill(database, 6_000)
            database.close()
        }
        let midway = try await offPool {
            var midway = 0
            for round in Soak.rounds(test: 20, soak: 200) {
                var random = Soak.random(round: round, salt: 0x1D3)
                let child = try TestChild("index", path)
                _ = child.readLine()
                _ = child.readLines(killingAfterMicroseconds: random.below(1_000_000))
                #expect(child.wait() == -9, "round \(round): the child failed by itself")
                let database = try Database.forTest(at: path)
                defer { database.close() }
                let indexed = try database.view(named: "known").lastSequenceIndexed
                if indexed > 0, indexed < 6_000 { midway += 1 }
                try Self.check(database, "round \(round)")
                if random.oneIn(2) { try database.view(named: "known").deleteIndex() }
            }
            return midway
        }
        print("Kills between the pieces of a build: \(midway).")
        #expect(midway > 0, "No build was killed midway.")
    }

    @Test func `two processes that index and write at once make one right index`() async throws {
        let directory = try TestDirectory("index-two")
        let path = directory.path("app.divan")
        let database = try Database.forTest(at: path, create: true)
        defer { database.close() }
        try Self.fill(database, 6_000)
        let child = try await offPool {
            let child = try TestChild("serve", path)
            #expect(child.readLine() == "ready")
            return UncheckedBox(child)
        }
        let view = KnownView.define(on: database)
        for round in Soak.rounds(test: 10, soak: 200) {
            async let theirs = offPool { () -> String? in
                _ = try child.value.ask("churn 20 \(round)")
                return try child.value.ask("index")
            }
            try await offPool {
                if round.isMultiple(of: 4) { try view.deleteIndex() }
                for number in 0..<10 {
                    try database.update("\(round * 10 + number)") { $0["n"] = Fragment(-number) }
                    _ = try view.totalRows
                }
            }
            #expect(try await theirs.flatMap { Int($0) } != nil)
            try await offPool { try Self.check(database, "round \(round)") }
        }
        #expect(try await offPool { child.value.finish() } == 0)
    }

    @Test(arguments: [StorageError.Code.full, .io])
    func `a build that runs out of disk loses nothing and goes on`(_ code: StorageError.Code) throws
    {
        let failed = try FailingBuilds(
            each: 60, thenEach: Soak.step(test: 17, soak: 5), with: code
        ).run {
            try Self.fill($0, 800)
        } build: {
            try KnownView.define(on: $0).updateIndex()
        } check: { database, comment in
            #expect(try database.verify().isEmpty)
            try Self.check(database, comment)
        }
        #expect(failed > 60, "Too few writes were failed.")
    }

    @Test func `what is purged or changed between map and insert is right in the end`() throws {
        let database = try Database.inMemory()
        defer { database.close() }
        try Self.fill(database, 500)
        let view = database.view(named: "meddled")
        let isDone = Flag()
        view.setMap(version: "1", reduce: .count) { document, emit in
            emit(document["n"], document.revisionID)
            guard document.id == "7", !isDone.isSet else { return }
            isDone.set()
            // The pieces are mapped and not yet written. A map function must not write, others may.
            let ended = DispatchSemaphore(value: 0)
            DispatchQueue(label: "meddler").async {
                _ = try? database.purge("3")
                _ = try? database.purge("4")
                _ = try? database.create("4", ["n": 1_004])
                _ = try? database.delete("5")
                _ = try? database.update("6") { $0["n"] = 1_006 }
                ended.signal()
            }
            ended.wait()
        }
        try view.updateIndex()
        var query = view.query()
        query.mapOnly = true
        let keys = try query.run().compactMap { $0.key.int64 }
        #expect(isDone.isSet)
        let unchanged = (0..<500).filter { !(3...6).contains($0) }.map { Int64($0) }
        #expect(keys == unchanged + [1_004, 1_006])
        #expect(try view.query().run().first?.value == .integer(Int64(keys.count)))
        #expect(try database.verify().map(\.message) == [])
    }

    @Test func `one document may emit a hundred thousand rows`() throws {
        let database = try Database.inMemory()
        let view = database.view(named: "many")
        view.setMap(version: "1", reduce: .count) { document, emit in
            for number in 0..<(document["rows"].int ?? 0) { emit(number, nil) }
        }
        try database.save(MutableDocument(["rows": 100_000], id: "a"))
        try database.save(MutableDocument(["rows": 1], id: "b"))
        #expect(try view.query().run().first?.value == 100_001)
        #expect(try view.query(.range(from: 99_990)).run().first?.value == 10)
        try database.update("a") { $0["rows"] = 2 }
        var rows = view.query()
        rows.mapOnly = true
        #expect(try rows.run().map(\.key) == [0, 0, 1])
        #expect(try database.verify().isEmpty)
    }

    @Test func `keys of a megabyte are stored, and longer ones reported`() throws {
        let database = try Database.inMemory()
        let view = database.view(named: "long")
        view.collation = .raw
        view.setMap(version: "1") { document, emit in
            emit(String(repeating: "x", count: document["length"].int ?? 0), nil)
        }
        let largest = EmissionSink.largestKey
        for (id, length) in [("fits", largest - 100), ("over", largest + 1)] {
            try database.save(
                MutableDocument(["length": .integer(Int64(length))], id: DocumentID(id)))
        }
        let rows = try view.query().run()
        #expect(rows.map(\.documentID) == ["fits"])
        #expect(rows.first?.key.string?.utf8.count == largest - 100)
        #expect(view.failures.map(\.documentID) == ["over"])
        let key = try #require(rows.first?.key)
        #expect(try view.query(.keys(key)).run().count == 1)
        #expect(try database.verify().isEmpty)
    }

    @Test func `statistics tell where the time of indexing went`() throws {
        let database = try Database.inMemory()
        try Self.fill(database, 2_000)
        let view = KnownView.define(on: database)
        #expect(view.statistics == IndexingStatistics())
        try view.updateIndex()
        let built = view.statistics
        #expect(built.documents == 2_000 && built.rows == 2_667)
        #expect(built.mapping > .zero && built.encoding > .zero)
        #expect(built.inserting > .zero && built.reducing > .zero)
        try view.updateIndex()
        #expect(view.statistics == built)
        try database.update("0") { $0["n"] = 1 }
        try view.updateIndex()
        #expect(view.statistics.documents == 1)
        #expect("\(built)".hasPrefix("2000 documents, 2667 rows"))
    }
}

/// A database that is open for reading only answers from an old index by scan.
@Suite struct ScannedIndexTests {
    private let sandbox = Sandbox()

    private func view(of database: Database, version: String = "1") -> DatabaseView {
        let view = database.view(named: "v")
        view.setMap(version: version, reduce: .sum) { document, emit in
            emit(
                [document["kind"].value ?? .null, document["n"].value ?? .null] as JSONValue,
                document["n"])
        }
        return view
    }

    private func fill(_ database: Database) throws {
        for number in 0..<40 {
            try database.create(
                "\(number)", ["kind": .integer(Int64(number % 3)), "n": .integer(Int64(number))])
        }
    }

    @Test func `a read-only database answers an old index by scan and says so`() throws {
        let writable = try sandbox.database()
        try fill(writable)
        let stored = self.view(of: writable)
        try stored.updateIndex()
        writable.close()
        do {
            let database = try sandbox.database { $0.readOnly = true }
            let rows = try self.view(of: database).query().run()
            #expect(!rows.isScanned)
            // Another version is another index.
            let scanned = try self.view(of: database, version: "2").query().run()
            #expect(scanned.isScanned)
            #expect(scanned == rows)
            #expect(code { try self.view(of: database).updateIndex() } == nil)
            #expect(code { try self.view(of: database, version: "2").updateIndex() } == .readOnly)
            database.close()
        }
        let again = try sandbox.database()
        try again.create("late", ["kind": 1, "n": 1_000])
        try again.delete("0")
        try again.purge("1")
        again.close()
        let database = try sandbox.database { $0.readOnly = true }
        defer { database.close() }
        let view = self.view(of: database)
        var groups = view.query()
        groups.groupLevel = 1
        let found = try groups.run()
        #expect(found.isScanned)
        #expect(found.map(\.value) == [273, 1_246, 260])
        var rows = view.query(.range(from: [1, 30], through: [1, [:]]))
        rows.mapOnly = true
        rows.descending = true
        swap(&rows.startKey, &rows.endKey)
        rows.includeDocuments = true
        let last = try rows.run()
        #expect(last.map(\.documentID) == ["late", "37", "34", "31"])
        #expect(last.first?.includedDocument?["n"].int == 1_000)
        #expect(last.totalRows == 39)
        #expect(try view.totalRows == 39)
        #expect(try !last.isStale)
        #expect(code { try view.updateIndex() } == .readOnly)
    }

    @Test func `a live query of a read-only database begins with a scan`() async throws {
        let writable = try sandbox.database()
        try fill(writable)
        // In this process handles share what is open, so that only the scan itself is asked here.
        writable.close()
        let database = try sandbox.database { $0.readOnly = true }
        let live = self.view(of: database).query().live(interval: .zero)
        #expect(try await live.waitForRows()?.first?.value == 780)
        live.stop()
        database.close()
    }
}
