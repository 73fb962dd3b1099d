// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

@Suite struct MedianAndDistinctTests {
    private let database: Database
    private let tracks: DatabaseView

    init() throws {
        database = try Database.inMemory()
        tracks = database.view(named: "tracks")
    }

    private func setReduce(_ reduce: Reduce) {
        tracks.setMap(version: "1", reduce: reduce) { document, emit in
            emit(document["key"], document["seconds"])
        }
    }

    private func store(_ key: JSONValue, _ seconds: JSONValue) throws {
        try database.save(MutableDocument(["key": key, "seconds": seconds]))
    }

    @Test func `a median is that of all values of the range or group`() throws {
        setReduce(.median)
        for (key, seconds) in [("a", 5), ("a", 1), ("a", 3), ("b", 10), ("c", 7)] {
            try store(.string(key), .integer(Int64(seconds)))
        }
        try store("b", 2.5)
        #expect(try tracks.query().run().map(\.value) == [4])
        var groups = tracks.query()
        groups.grouping = .exact
        #expect(try groups.run().map(\.value) == [3, 6.25, 7])
        #expect(try tracks.query(.keys("b", "c")).run().map(\.value) == [7])
        #expect(try tracks.query(.keys("z")).run().isEmpty)
        try store("z", "no number")
        #expect(code { try tracks.query().run() } == .invalidQuery)
        #expect(try database.problems() == [])
    }

    @Test func `distinct keys are counted exactly when few and closely when many`() throws {
        setReduce(.approximateDistinctCount)
        try database.inBatch {
            for number in 0..<600 { try store(.integer(Int64(number % 100)), 1) }
        }
        #expect(try tracks.query().run().map(\.value) == [100])
        #expect(try tracks.query(.range(from: 10, through: 19)).run().map(\.value) == [10])
        try database.inBatch {
            for number in 600..<20_000 { try store(.string("key \(number)"), 1) }
        }
        let estimate = try #require(try tracks.query().run().first?.value?.int64)
        // The standard error is 2.3 per cent; the hash and so the estimate are always the same.
        #expect(abs(estimate - 19_500) < 1_400)
        #expect(try database.problems() == [])
    }
}
