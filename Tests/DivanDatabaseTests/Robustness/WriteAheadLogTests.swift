// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Foundation
import Testing

/// The write-ahead log stays small whatever readers do, so that it neither fills the disk nor slows
/// what looks pages up in it.
@Suite(.enabled(if: TestEngine.isSQLite, "LMDB has no log."))
struct WriteAheadLogTests {
    private static let limit = 64 << 20

    private let sandbox = Sandbox()

    /// The bytes of the log; 0 when there is none.
    private func logSize() -> Int {
        let path = sandbox.url().path(percentEncoded: false) + "/data-1/main.sqlite3-wal"
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        return (attributes?[.size] as? NSNumber)?.intValue ?? 0
    }

    private func fill(_ database: Database, _ count: Int) throws {
        try database.inBatch {
            for number in 0..<count { try database.save(document(number, "first")) }
        }
    }

    private func document(_ number: Int, _ text: String) -> MutableDocument {
        MutableDocument(
            [
                "n": .integer(Int64(number)),
                "text": .string(text + String(repeating: "x", count: 400)),
            ],
            id: "\(number)")
    }

    /// Writes batches until `isOver`, looks at the log after each, and returns its largest size and
    /// how much was written.
    private func write(
        to database: Database, _ count: Int, until isOver: () -> Bool
    ) throws -> (largest: Int, batches: Int) {
        var random = Soak.random(round: 0, salt: 71)
        var (largest, batches) = (0, 0)
        while !isOver() {
            try database.inBatch {
                for _ in 0..<200 {
                    try database.update("\(random.below(count))") { $0["at"] = Fragment(batches) }
                }
            }
            batches += 1
            largest = max(largest, logSize())
        }
        return (largest, batches)
    }

    /// One turn of a reader: a look-up, a piece of the feed, a piece of the list.
    private static func read(_ database: Database, _ count: Int, _ random: inout SeededRandom)
        throws
    {
        switch random.below(3) {
        case 0: _ = try database.document(withID: "\(random.below(count))")
        case 1: _ = try database.changes(since: UInt64(random.below(count)), limit: 200)
        default:
            var options = AllDocumentsOptions()
            options.startID = "\(random.below(count))"
            options.limit = 200
            options.includeDocuments = true
            _ = try database.allDocuments(options)
        }
    }

    @Test func `writes beside eight looping readers keep the log under 64 MB`() async throws {
        let database = try sandbox.database()
        let count = 5_000
        try fill(database, count)
        let isOver = Flag()
        let readers = (0..<8).map { reader in
            Running {
                var random = Soak.random(round: reader, salt: 72)
                var turns = 0
                while !isOver.isSet {
                    try Self.read(database, count, &random)
                    turns += 1
                }
                return turns
            }
        }
        let seconds = Soak.count(test: 3, soak: 600)
        let (largest, batches) = try await offPool {
            defer { isOver.set() }
            let end = ContinuousClock.now + .seconds(seconds)
            return try write(to: database, count) { ContinuousClock.now > end }
        }
        let turns = try readers.map { try $0.value() ?? 0 }
        #expect(largest < Self.limit, "seed \(Soak.seed): the log grew to \(largest >> 20) MB")
        #expect(turns.allSatisfy { $0 > 0 } && batches > 0)
        if Soak.isOn {
            print(
                "WriteAheadLog: \(seconds) s, \(batches) batches of 200, \(turns.reduce(0, +)) reads,"
                    + " largest log \(largest >> 10) kB")
        }
    }

    @Test func `verify gives up when others write too much meanwhile`() throws {
        let database = try sandbox.database()
        try fill(database, 2_500)
        let filler = JSONValue.string(String(repeating: "x", count: 8 << 20))
        var saves = 0
        let error = #expect(throws: DatabaseError.self) {
            _ = try database.verify { progress in
                guard progress.phase == "checking documents" else { return }
                let writer = Running { [saves] in
                    for number in 0..<6 {
                        try database.save(MutableDocument(["f": filler], id: "\(saves)-\(number)"))
                    }
                }
                _ = try writer.value()
                saves += 6
            }
        }
        #expect(error?.code == .databaseBusy)
        // Neither at once nor without an end: it has borne at least 64 MB.
        #expect(saves * 8 >= 64 && saves <= 18)
        #expect(try database.problems() == [])
    }
}
