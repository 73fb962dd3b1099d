// SPDX-License-Identifier: Apache-2.0

import BenchmarkInput
import Divan
import DivanStorage
import Foundation

// A storage engine by itself: what long keys cost beside short ones. Indexes have keys of any length.
extension DivanWork {
    /// Runs a workload by name; nil when it is no work of an engine.
    func runKeyWork(_ work: String) throws -> Timing? {
        switch work {
        case "keys_short": try keys(behind: [])
        case "keys_long": try keys(behind: [UInt8](repeating: UInt8(ascii: "x"), count: 2_000))
        default: nil
        }
    }

    /// Stores keys in random order, seeks each, walks through all backwards, and removes each.
    private func keys(behind prefix: [UInt8]) throws -> Timing {
        let place = directory.path + "-engine"
        let engine = try storageEngine.open(directory: place, options: StorageOptions())
        defer { engine.close() }
        let store = engine.store(StoreName("keys", .bytes))
        return try measuring {
            var found = 0
            try change(engine) { writer, number in
                let key = key(number, behind: prefix)
                try writer.set(Array("value \(number)".utf8).span, forKey: key.span, in: store)
            }
            try engine.read { (reader: any StorageReader) throws -> Void in
                let cursor = try reader.cursor(in: store)
                defer { cursor.close() }
                for number in 0..<operations {
                    found += try cursor.seek(toAtLeast: key(number, behind: prefix).span) ? 1 : 0
                }
                var isThere = try cursor.seekToLast()
                while isThere {
                    try cursor.withRow { key, value in found += key.count + value.count }
                    isThere = try cursor.previous()
                }
            }
            try change(engine) { writer, number in
                found += try writer.remove(key: key(number, behind: prefix).span, in: store) ? 1 : 0
            }
            return found
        }
    }

    /// A key that is not in the order of its number.
    private func key(_ number: Int, behind prefix: [UInt8]) -> [UInt8] {
        let scattered = UInt64(number) &* 0x9E37_79B9_7F4A_7C15
        return prefix + Array(String(scattered, radix: 16).utf8)
    }

    private func change(
        _ engine: any StorageEngine, _ body: (any StorageWriter, Int) throws -> Void
    ) throws {
        for start in stride(from: 0, to: operations, by: 1_000) {
            try engine.write { (writer: any StorageWriter) throws -> Void in
                for number in start..<min(start + 1_000, operations) { try body(writer, number) }
            }
        }
    }
}
