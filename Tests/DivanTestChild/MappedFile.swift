// SPDX-License-Identifier: Apache-2.0

package import DivanLMDB
package import DivanStorage

/// A file of LMDB's under a map that is small at first, and does what the lines on its input say:
///
///     grow N        adds N rows of 10 kB in transactions of ten         grown
///     rewrite N     writes the first ten rows anew, N times             rewritten
///     count         counts rows                                         N
///     watch N       reads N times both counters that each write sets    watched, or what was odd
///     reopen N      opens the file anew N times and watches     reopened, or what was odd
///     hold          begins to read, and stays                           held
///     release       ends that                                           released
///     write         begins to write a row, and stays                    writing
///     commit        ends that                                           committed
///
/// The end of the input ends it.
struct MappedFile {
    private let place: (directory: String, firstMapSize: Int)
    private var engine: LMDBEngine
    private var rows: Store { engine.store(MappedRows.name) }

    init(_ arguments: [String]) throws {
        place = (try arguments.argument(0), try arguments.number(1))
        engine = try LMDBEngine(
            directory: place.directory, firstMapSize: place.firstMapSize)
    }

    mutating func run() throws {
        Report.say("ready")
        while let line = readLine() {
            let words = line.split(separator: " ").map(String.init)
            Report.say(try answer(words))
        }
        engine.close()
    }

    private mutating func answer(_ words: [String]) throws -> String {
        switch try words.argument(0) {
        case "grow":
            try MappedRows.grow(engine, by: words.number(1))
            return "grown"
        case "rewrite":
            try MappedRows.rewrite(engine, times: words.number(1))
            return "rewritten"
        case "count": return String(try engine.read { try $0.count(of: rows) })
        case "watch":
            let times: Int = try words.number(1)
            for _ in 0..<times {
                if let odd = try MappedRows.oddity(engine) { return odd }
            }
            return "watched"
        case "reopen":
            for _ in 0..<(try words.number(1) as Int) {
                engine.close()
                engine = try LMDBEngine(
                    directory: place.directory, firstMapSize: place.firstMapSize)
                if let odd = try MappedRows.oddity(engine) { return odd }
            }
            return "reopened"
        case "hold":
            try engine.read { (reader: any StorageReader) throws -> Void in
                Report.say("held \(try reader.count(of: rows))")
                guard readLine() == "release" else { throw WrongArguments() }
            }
            return "released"
        case "write":
            try engine.write { (writer: any StorageWriter) throws -> Void in
                try writer.set([1].span, forKey: -1, in: rows)
                Report.say("writing")
                guard readLine() == "commit" else { throw WrongArguments() }
            }
            return "committed"
        default: throw WrongArguments()
        }
    }
}

/// The rows of such a file.
package enum MappedRows {
    package static let name = StoreName("rows", .integer)
    private static let value = [UInt8](repeating: 7, count: 10_000)

    /// Adds rows, in transactions of ten.
    package static func grow(_ engine: LMDBEngine, by count: Int) throws {
        let rows = engine.store(name)
        for start in stride(from: 0, to: count, by: 10) {
            try engine.write { (writer: any StorageWriter) throws -> Void in
                let first = Int64(try writer.count(of: rows))
                for row in 0..<Int64(min(10, count - start)) {
                    try writer.set(value.span, forKey: first + row, in: rows)
                }
            }
        }
    }

    /// Writes the first ten rows anew, each time with another number in the first and the last.
    package static func rewrite(_ engine: LMDBEngine, times: Int) throws {
        let rows = engine.store(name)
        for time in 0..<times {
            try engine.write { (writer: any StorageWriter) throws -> Void in
                let numbered = [UInt8](repeating: UInt8(truncatingIfNeeded: time), count: 10_000)
                for row in 0..<Int64(10) {
                    try writer.set(numbered.span, forKey: row, in: rows)
                }
            }
        }
    }

    /// What is odd about one snapshot: the first and the last of the ten rows must be of one transaction.
    package static func oddity(_ engine: LMDBEngine) throws -> String? {
        let rows = engine.store(name)
        var bytes: [UInt8] = []
        try engine.read { (reader: any StorageReader) throws -> Void in
            for row in [Int64(0), 9] {
                _ = try reader.withValue(forKey: row, in: rows) { bytes.append($0[5_000]) }
            }
        }
        return bytes.count == 2 && bytes[0] == bytes[1] ? nil : "odd \(bytes)"
    }
}
