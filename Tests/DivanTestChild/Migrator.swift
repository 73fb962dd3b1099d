// SPDX-License-Identifier: Apache-2.0

import Divan
import FoundationEssentials

/// Imports a Couchbase Lite database as `shop-0`, `shop-1` and so on into the folder `new` until it is
/// killed, and says before and after each which it is.
struct Migrator {
    private let manager: Manager
    private let source: URL

    init(_ arguments: [String]) throws {
        manager = try Manager(directory: URL(filePath: arguments.argument(0) + "/new"))
        source = URL(filePath: try arguments.argument(1))
    }

    func run() throws {
        for number in 0... {
            Report.say("begin \(number)")
            try manager.importCouchbaseLite(at: source, named: "shop-\(number)")
            Report.say("done \(number)")
        }
    }
}
