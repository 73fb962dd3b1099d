// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import FoundationEssentials

/// Saves documents that expire and purges them, until it is killed.
///
///     ready
///     saved d1 d2 … kept1        one batch: documents that are due soon, and some that are not
///     purged                     what was due of the batch is gone
struct ExpiringWriter {
    private let database: Database
    private var random: SeededRandom
    private var number = 0

    init(_ arguments: [String]) throws {
        database = try .forTest(at: arguments.argument(0), create: true)
        random = SeededRandom(seed: try arguments.number(1))
    }

    mutating func run() throws {
        Report.say("ready")
        while true {
            let due = Date(timeIntervalSinceNow: random.oneIn(2) ? -1 : 0.02)
            let ids = (0..<random.below(100) + 1).map { index in
                // A document that stays now and then, so that the database grows slowly.
                index % 40 == 0 ? "kept\(random.below(200))" : "d\(number)-\(index)"
            }
            number += 1
            try database.inBatch {
                for id in Set(ids) {
                    let document =
                        try database.document(withID: DocumentID(id))?.toMutable()
                        ?? MutableDocument(id: DocumentID(id))
                    document.setProperties(KnownBody.make(id, random.below(1_000)))
                    try database.save(document)
                    try database.setExpiration(
                        of: DocumentID(id),
                        at: id.hasPrefix("kept") ? Date(timeIntervalSinceNow: 1e6) : due)
                }
            }
            Report.say("saved \(Set(ids).sorted().joined(separator: " "))")
            // By hand or by the timer, whichever is faster; both, often.
            while try database.documentsExpiring(before: due.addingTimeInterval(1)).count > 0 {
                _ = try database.purgeExpired()
            }
            Report.say("purged")
        }
    }
}
