// SPDX-License-Identifier: Apache-2.0

import DivanSQLite
import DivanStorage
import DivanStorageConformance
import DivanTestSupport
import Foundation
import Testing

@Suite(.serialized) struct SQLiteEnginePowerLossTests {
    private static let rows = StoreName("rows", .integer)
    private static let info = StoreName("info", .bytes)
    private static let rowsPerTransaction = 40
    private static let transactions = 24

    private static func options(sealed: Bool) -> StorageOptions {
        sealed ? .sealed() : StorageOptions()
    }

    /// Transaction n (from 1) adds its rows, rewrites some of earlier ones, and sets the counter to n.
    private func transaction(_ number: Int, on engine: SQLiteEngine, durably: Bool) throws {
        let (rows, info) = (engine.store(Self.rows), engine.store(Self.info))
        let counter = [UInt8(number)]
        try engine.write(durably: durably) { writer in
            let value = [UInt8](repeating: UInt8(number), count: 7_000)
            for row in 0..<Self.rowsPerTransaction {
                let key = Int64(number * Self.rowsPerTransaction + row)
                try writer.set(value.span, forKey: key, in: rows)
            }
            try writer.set(counter.span, forKey: [99].span, in: info)
        }
    }

    /// Checks a database after a power loss; returns the number of its last transaction.
    private func check(_ path: String, sealed: Bool) throws -> Int {
        let engine = try SQLiteEngine(directory: path, options: Self.options(sealed: sealed))
        defer { engine.close() }
        #expect(try engine.verifyStructure(progress: nil) == [])
        let (rows, info) = (engine.store(Self.rows), engine.store(Self.info))
        return try engine.read { reader in
            let number = try reader.value(forKey: [99].span, in: info).map { Int($0[0]) } ?? 0
            let count = try reader.count(of: rows)
            #expect(count == number * Self.rowsPerTransaction, "a prefix of whole transactions")
            return number
        }
    }

    @Test(arguments: [false, true])
    func `whichever write finds no room, whole transactions stay and the engine goes on`(
        sealed: Bool
    ) throws {
        try PowerLossRecorder.alone { try failEachWrite(sealed: sealed) }
    }

    private func failEachWrite(sealed: Bool) throws {
        var number = 1
        while true {
            let scratch = try ScratchDirectory()
            var hasFailed = false
            try PowerLossRecorder.record(scratch.path) {
                let engine = try SQLiteEngine(
                    directory: scratch.path, options: Self.options(sealed: sealed))
                _ = PowerLossRecorder.failWrite(number)
                var committed = 0
                do {
                    for transaction in 1...3 {
                        try self.transaction(transaction, on: engine, durably: true)
                        committed = transaction
                    }
                    _ = try engine.compact(progress: nil)
                } catch let error as StorageError {
                    #expect(error.code == .full, "write \(number): \(error)")
                }
                hasFailed = PowerLossRecorder.failWrite(0)
                let rows = engine.store(Self.rows)
                let count = try engine.read { try $0.count(of: rows) }
                #expect(count == committed * Self.rowsPerTransaction, "write \(number)")
                try transaction(committed + 1, on: engine, durably: false)
                engine.close()
            }
            _ = try check(scratch.path, sealed: sealed)
            if !hasFailed {
                break
            }
            number += Soak.step(test: 3, soak: 1)
        }
        #expect(number > 50)
    }

    @Test(arguments: [StorageOptions.Durability.full, .normal], [false, true])
    func `after a power loss there is a prefix of the commits, with all that were safe`(
        _ durability: StorageOptions.Durability, sealed: Bool
    ) throws {
        try PowerLossRecorder.alone { try losePower(durability, sealed: sealed) }
    }

    private func losePower(_ durability: StorageOptions.Durability, sealed: Bool) throws {
        let scratch = try ScratchDirectory()
        try PowerLossRecorder.record(scratch.path) {
            var options = Self.options(sealed: sealed)
            options.durability = durability
            let engine = try SQLiteEngine(directory: scratch.path, options: options)
            for number in 1...Self.transactions {
                let isDurable = durability == .normal && number % 5 == 0
                try transaction(number, on: engine, durably: isDurable)
                if number % 7 == 0 {
                    try engine.sync()
                }
                if durability == .full || isDurable || number % 7 == 0 {
                    PowerLossRecorder.acknowledge(number)
                }
                if number % 11 == 0 {
                    _ = try engine.compact(progress: nil)
                }
            }
            engine.close()
            PowerLossRecorder.acknowledge(Self.transactions)
        }
        let events = PowerLossRecorder.events
        var moments = events.filter {
            PowerLossRecorder.isSync($0) || PowerLossRecorder.isSync($0 - 1)
        }
        let others = Soak.count(test: 25, soak: 400)
        moments += stride(from: 0, to: events.upperBound, by: max(events.count / others, 1))
        moments.append(events.upperBound - 1)
        var images = 0
        for moment in moments {
            var random = Soak.random(round: moment, salt: 63)
            var losses: [PowerLossRecorder.Loss] = [.everything, .nothing]
            for _ in 0..<Soak.count(test: 2, soak: 6) {
                losses.append(.someSectors(seed: random.next()))
            }
            for loss in losses {
                try checkImage(before: moment, loss, sealed: sealed)
                images += 1
            }
        }
        #expect(images > 200)
    }

    @Test(arguments: [false, true])
    func `a creation that a power loss cuts short, at any moment, is begun anew`(
        sealed: Bool
    ) throws {
        try PowerLossRecorder.alone {
            let scratch = try ScratchDirectory()
            try PowerLossRecorder.record(scratch.path) {
                let engine = try SQLiteEngine(
                    directory: scratch.path, options: Self.options(sealed: sealed))
                try transaction(1, on: engine, durably: true)
                engine.close()
            }
            for moment in PowerLossRecorder.events {
                var random = Soak.random(round: moment, salt: 64)
                for _ in 0..<Soak.count(test: 10, soak: 500) {
                    try checkImage(
                        before: moment, .someSectors(seed: random.next()), sealed: sealed)
                }
            }
        }
    }

    /// Makes the image that a loss before an event leaves, and checks what is in it.
    private func checkImage(
        before moment: Int, _ loss: PowerLossRecorder.Loss, sealed: Bool
    ) throws {
        let image = try ScratchDirectory()
        try PowerLossRecorder.restore(before: moment, loss, into: image.path)
        let safe = PowerLossRecorder.acknowledged(before: moment)
        let place = "seed \(Soak.seed), before event \(moment), \(loss), \(safe) safe"
        do {
            let found = try check(image.path, sealed: sealed)
            #expect(found >= safe, "\(place)")
        } catch {
            Issue.record("\(place): \(error)")
        }
    }
}
