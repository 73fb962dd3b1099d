// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import FoundationEssentials

/// Flips one bit in a copy of a database, asks everything, and says how the answers compare.
///
///     begin 17 data-1/main.sqlite3 bit 3 of 40961      before, so that a crash is known by its round
///     end 17 same                                      every answer as before
///     end 17 refused corrupted                         it did not open
///     end 17 errors 3                                  so many answers were `corrupted`
///     end 17 found 2                                   answers differ, and verify says why
///     end 17 WRONG …                                   anything else
struct FlipRounds {
    private let golden: String
    private let scratch: String
    private let seed: UInt64
    private let rounds: Range<Int>

    init(_ arguments: [String]) throws {
        golden = try arguments.argument(0)
        scratch = try arguments.argument(1)
        seed = try arguments.number(2)
        rounds = try arguments.number(3)..<arguments.number(4)
    }

    func run() throws {
        Log.setLevel(.none)
        var expected: [String: [Answers.Entry]] = [:]
        for kind in ["closed", "crashed"] {
            try copy(kind)
            let database = try Database.forTest(at: scratch)
            let answers = Answers(database)
            guard answers.altered.isEmpty, try database.verify().isEmpty else {
                throw WrongArguments()
            }
            expected[kind] = answers.entries
            database.close()
        }
        for round in rounds {
            let kind = round % 2 == 0 ? "closed" : "crashed"
            var random = SeededRandom(seed: seed, UInt64(round))
            try copy(kind)
            let flip = try Flip(in: scratch, &random)
            Report.say("begin \(round) \(kind) \(flip)")
            try flip.apply()
            var comparison = Comparison(scratch, expected[kind] ?? [], random)
            Report.say("end \(round) \(comparison.outcome())")
        }
    }

    private func copy(_ kind: String) throws {
        try? FileManager.default.removeItem(atPath: scratch)
        try FileManager.default.copyItem(atPath: golden + "/" + kind, toPath: scratch)
    }
}

/// Says how damaged copies of the database `closed` compare with it, a line each.
struct DamageJudge {
    private let golden: String
    private let copies: ArraySlice<String>

    init(_ arguments: [String]) throws {
        golden = try arguments.argument(0)
        copies = arguments.dropFirst()
    }

    func run() throws {
        let database = try Database.forTest(at: golden + "/closed", readOnly: true)
        let expected = Answers(database).entries
        database.close()
        for (number, copy) in copies.enumerated() {
            Report.say("begin \(copy)")
            var comparison = Comparison(copy, expected, SeededRandom(seed: UInt64(number)))
            Report.say("end \(comparison.outcome())")
        }
    }
}

/// One bit of one file.
struct Flip: CustomStringConvertible {
    let path: String
    let name: String
    let offset: Int
    let bit: Int

    /// Chooses a bit of any file below a directory.
    ///
    /// Half by size; one in eight in the small files, one in four at the beginning of a page, where
    /// the engine's structure lies, one in eight in the first page, where its schema is.
    init(in directory: String, _ random: inout SeededRandom) throws {
        let files = try FileManager.default.subpathsOfDirectory(atPath: directory).sorted()
        var sizes: [(name: String, size: Int)] = []
        for name in files {
            // A folder has no contents.
            let size = FileManager.default.contents(atPath: directory + "/" + name)?.count ?? 0
            if size > 0 { sizes.append((name, size)) }
        }
        let choice = random.below(8)
        let small = sizes.filter { !$0.name.hasPrefix("data-") }
        let pool = choice == 0 && !small.isEmpty ? small : sizes
        var place = random.below(pool.reduce(0) { $0 + $1.size })
        var chosen = pool[0]
        for file in pool {
            chosen = file
            if place < file.size { break }
            place -= file.size
        }
        if choice == 1 || choice == 2 { place = place / 4_096 * 4_096 + random.below(120) }
        if choice == 3 { place %= 4_096 }
        name = chosen.name
        path = directory + "/" + name
        offset = min(place, chosen.size - 1)
        bit = random.below(8)
    }

    var description: String { "\(name) bit \(bit) of byte \(offset)" }

    /// Flips it.
    func apply() throws {
        let url = URL(filePath: path)
        var data = try Data(contentsOf: url)
        data[data.startIndex + offset] ^= 1 << UInt8(bit)
        try data.write(to: url)
    }
}
