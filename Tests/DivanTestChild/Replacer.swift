// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import FoundationEssentials

/// Replaces the database `app` of a folder by one of its databases `source-0` to `source-2` until it
/// is killed, and says before and after each which it takes:
///
///     begin 2
///     done 2
struct Replacer {
    private let manager: Manager
    private let folder: String
    private var random: SeededRandom

    init(_ arguments: [String]) throws {
        folder = try arguments.argument(0)
        manager = try Manager(directory: URL(filePath: folder))
        random = SeededRandom(seed: try arguments.number(1))
    }

    mutating func run() throws {
        while true {
            let number = random.below(3)
            Report.say("begin \(number)")
            try manager.replaceDatabase(
                named: "app", from: URL(filePath: "\(folder)/source-\(number).divan"))
            Report.say("done \(number)")
        }
    }
}
