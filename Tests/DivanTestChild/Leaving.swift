// SPDX-License-Identifier: Apache-2.0

import Divan
import Foundation

/// A process that exits while its threads are at work, as an app does whose user quits it.
enum Leaving {
    static func run(_ arguments: [String]) throws -> Never {
        let microseconds: UInt32 = try arguments.number(0)
        for number in 0..<4 {
            let database = try Database.inMemory(named: "busy\(number)")
            // Each run begins with a connection of its own, and so with the library of TLS.
            Thread.detachNewThread {
                while true {
                    let pull = database.makePullReplication(from: "https://127.0.0.1:9/db")
                    pull.start()
                    for n in 0..<20 { _ = try? database.put("\(n)", ["n": 1], parent: nil) }
                }
            }
        }
        usleep(microseconds)
        exit(0)
    }
}
