// SPDX-License-Identifier: Apache-2.0

package import Divan
import DivanTestSupport

/// Writes documents, attachments and index rows made of words that are looked for on the disk
/// afterwards, until it is killed:
///
///     ready
///     done 7          acknowledged
struct SecretWriter {
    private let database: Database
    private var random: SeededRandom
    private var number = 0

    init(_ arguments: [String]) throws {
        database = try .forTest(at: arguments.argument(0), create: true, keeping: .encrypted)
        random = SeededRandom(seed: try arguments.number(1))
    }

    mutating func run() throws {
        let view = database.view(named: "zephyrs")
        view.setMap(version: "1") { document, emit in emit(document["text"], document["_id"]) }
        Report.say("ready")
        while true {
            number += 1
            try writeBatch()
            Report.say("done \(number)")
            if random.oneIn(2) { _ = try view.query().run() }
            if random.oneIn(6) { try database.compact() }
        }
    }

    private mutating func writeBatch() throws {
        var random = random
        try database.inBatch {
            for _ in 0..<(1 + random.below(20)) {
                let number = random.below(300)
                let id: DocumentID = "secret-id-\(number)"
                if random.oneIn(6), try database.contains(id) {
                    try database.delete(id)
                    continue
                }
                let document =
                    try database.document(withID: id)?.toMutable() ?? MutableDocument(id: id)
                document.setProperties(Secrets.body(number, length: random.below(3_000)))
                if random.oneIn(4) {
                    document.setAttachment(
                        named: "quizzical.txt", contentType: "text/plain",
                        .bytes(Secrets.content(random.below(60_000))))
                }
                try database.save(document)
            }
        }
        self.random = random
    }
}

/// Words that no file of an encrypted database may have.
package enum Secrets {
    /// They are in documents, IDs, keys of rows, contents and names of attachments, and names of stores.
    package static let words = [
        "xylophone", "quizzical", "secret-id", "zephyrs", "wombatness", "revisions",
    ]

    /// The body of a document.
    package static func body(_ number: Int, length: Int = 0) -> JSONObject {
        let padding = String(repeating: "wombatness ", count: length / 11)
        return [
            "wombatness": .integer(Int64(number)),
            "text": .string("the quizzical xylophone \(number)\(padding)"),
        ]
    }

    /// The content of an attachment.
    package static func content(_ length: Int) -> [UInt8] {
        Array(String(repeating: "xylophone \(length) ", count: 1 + length / 16).utf8)
    }
}
