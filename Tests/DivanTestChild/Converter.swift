// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanLMDB
import DivanTestSupport
import FoundationEssentials

/// Moves the database `app` of a folder from engine to engine until it is killed, saves documents in
/// between, and says before and after each save which it is:
///
///     begin 41
///     done 41
///     moved lmdb
struct Converter {
    private let url: URL
    private var random: SeededRandom
    private var number = 0

    init(_ arguments: [String]) throws {
        url = URL(filePath: try arguments.argument(0) + "/app.divan")
        random = SeededRandom(seed: try arguments.number(1))
    }

    mutating func run() throws {
        while true {
            var options = DatabaseOptions()
            options.create = true
            options.storageEngine = random.oneIn(2) ? .sqlite : .lmdb
            let database = try Database.open(at: url, options: options)
            Report.say("moved \(database.storageEngineName)")
            number = max(number, try database.documentCount)
            for _ in 0..<(1 + random.below(8)) {
                Report.say("begin \(number)")
                try database.save(
                    MutableDocument(KnownBody.make("d-\(number)", number), id: "d-\(number)"))
                Report.say("done \(number)")
                number += 1
            }
            if random.oneIn(3) { try database.compact() }
            database.close()
        }
    }
}
