// SPDX-License-Identifier: Apache-2.0

import DivanLMDB
import DivanStorage
import DivanStorageConformance
import DivanTestSupport
import Testing

/// Every write and sync of LMDB's is recorded, and power is lost around each.
@Suite(.serialized) struct LMDBEnginePowerLossTests {
    private static let rows = StoreName("rows", .integer)
    private static let info = StoreName("info", .bytes)
    private static let rowsPerTransaction = 16
    private static let transactions = 16

    private func open(
        _ path: String, _ durability: StorageOptions.Durability = .normal
    ) throws -> LMDBEngine {
        var options = StorageOptions()
        options.durability = durability
        return try LMDBEngine(directory: path, options: options)
    }

    /// Transaction n (from 1) adds its rows, rewrites some of earlier ones, and sets the counter to n.
    private func transaction(_ number: Int, on engine: LMDBEngine, durably: Bool) throws {
        let (rows, info) = (engine.store(Self.rows), engine.store(Self.info))
        try engine.write(durably: durably) { (writer: any StorageWriter) throws -> Void in
            let value = [UInt8](repeating: UInt8(number), count: 3_000 + number * 100)
            for row in 0..<Self.rowsPerTransaction {
                let key = Int64(number * Self.rowsPerTransaction + row)
                try writer.set(value.span, forKey: key, in: rows)
                if number > 2, row.isMultiple(of: 8) {
                    try writer.set(
                        value.span, forKey: key - Int64(2 * Self.rowsPerTransaction), in: rows)
                }
            }
            try writer.set([UInt8(number)].span, forKey: [99].span, in: info)
        }
    }

    /// Checks a database after a power loss; returns the number of its last transaction.
    private func check(_ path: String) throws -> Int {
        let engine = try open(path)
        defer { engine.close() }
        #expect(try engine.verifyStructure(progress: nil) == [])
        let (rows, info) = (engine.store(Self.rows), engine.store(Self.info))
        var number = 0
        try engine.read { (reader: any StorageReader) throws -> Void in
            number = try reader.value(forKey: [99].span, in: info).map { Int($0[0]) } ?? 0
            let count = try reader.count(of: rows)
            #expect(count == number * Self.rowsPerTransaction, "a prefix of whole transactions")
        }
        // It goes on from there.
        try transaction(number + 1, on: engine, durably: false)
        #expect(try engine.verifyStructure(progress: nil) == [])
        return number
    }

    @Test(arguments: [StorageOptions.Durability.full, .normal])
    func `after a power loss LMDB has all commits, or all but the newest one that was not safe`(
        _ durability: StorageOptions.Durability
    ) throws {
        try PowerLossRecorder.alone {
            let scratch = try ScratchDirectory()
            // What has been acknowledged: 1 when the engine is open, and more by one each commit that
            // no loss may take.
            try PowerLossRecorder.record(scratch.path) {
                let engine = try open(scratch.path, durability)
                PowerLossRecorder.acknowledge(1)
                for number in 1...Self.transactions {
                    let isDurable = durability == .full || number % 5 == 0
                    try transaction(number, on: engine, durably: isDurable)
                    if number % 7 == 0 {
                        try engine.sync()
                    }
                    PowerLossRecorder.acknowledge(
                        isDurable || number % 7 == 0 ? number + 1 : number)
                }
                engine.close()
            }
            let events = PowerLossRecorder.events
            let syncs = events.filter { PowerLossRecorder.isSync($0) }
            // One wait for the disk a commit; two where it is to survive a power loss at once.
            #expect(syncs.count >= Self.transactions * (durability == .full ? 2 : 1))
            var moments = syncs + syncs.map { $0 + 1 }
            let others = Soak.count(test: 25, soak: 2_000)
            moments += stride(from: 0, to: events.upperBound, by: max(events.count / others, 1))
            moments.append(events.upperBound - 1)
            for moment in moments { try checkImages(before: moment) }
            #expect(moments.count > 40)
        }
    }

    /// Makes images that a loss before an event leaves, and checks what is in them.
    private func checkImages(before moment: Int) throws {
        var random = Soak.random(round: moment, salt: 64)
        var losses: [PowerLossRecorder.Loss] = [.everything, .nothing]
        for _ in 0..<Soak.count(test: 2, soak: 10) {
            losses.append(.someSectors(seed: random.next()))
        }
        let safe = PowerLossRecorder.acknowledged(before: moment)
        for loss in losses {
            let image = try ScratchDirectory()
            try PowerLossRecorder.restore(before: moment, loss, into: image.path)
            let place = "seed \(Soak.seed), before event \(moment), \(loss), \(safe) safe"
            do {
                #expect(try check(image.path) + 1 >= safe, "\(place)")
            } catch let error as StorageError where safe == 0 && error.code == .corrupted {
                // The engine had never been open: its file was being made.
            } catch { Issue.record("\(place): \(error)") }
        }
    }

    @Test func `whichever write of LMDB's finds no room, whole transactions stay`() throws {
        try PowerLossRecorder.alone {
            var number = 1
            var (last, stopped) = (0, 0)
            var hasFailed = true
            while hasFailed {
                let scratch = try ScratchDirectory()
                try PowerLossRecorder.record(scratch.path) {
                    let engine = try open(scratch.path)
                    _ = PowerLossRecorder.failWrite(number)
                    var committed = 0
                    do {
                        for transaction in 1...3 {
                            try self.transaction(transaction, on: engine, durably: true)
                            committed = transaction
                        }
                    } catch let error as StorageError {
                        #expect(error.code == .full, "write \(number): \(error)")
                    }
                    hasFailed = PowerLossRecorder.failWrite(0)
                    let rows = engine.store(Self.rows)
                    // A page that is written in place needs no room; where it cannot be written all the
                    // same, LMDB does nothing more until the file is opened again.
                    do {
                        let count = try engine.read { try $0.count(of: rows) }
                        #expect(count == committed * Self.rowsPerTransaction, "write \(number)")
                        try transaction(committed + 1, on: engine, durably: false)
                        committed += 1
                    } catch let error as StorageError {
                        #expect(error.code == .io, "write \(number): \(error)")
                        stopped += 1
                    }
                    engine.close()
                    last = committed
                }
                #expect(try check(scratch.path) == last, "write \(number)")
                number += 1
            }
            #expect(number > 6)
            #expect(stopped == 3, "one such page a commit")
        }
    }
}
