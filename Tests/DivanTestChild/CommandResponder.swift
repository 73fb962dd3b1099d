// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport

/// Does what the lines on its input say, and answers each with a line.
///
///     save ID N     saves a document               saved REVISION
///     delete ID     deletes a document             deleted
///     purge ID      purges a document              purged
///     make N        makes documents `child-0`… in a transaction each       made
///     churn N SEED  changes documents at random in N transactions          churned
///     get ID        reads a number                 N, or none
///     count         counts documents               N
///     depth N       sets the depth of trees        set
///     hold          opens a write transaction and saves a document `held` in it    held
///     release       commits that                   released
///     identity      who the database is            PUBLIC-UUID INCARNATION
///     renew         replaces the UUIDs             renewed
///     expire ID N   lets a document expire in N milliseconds    expires
///     index         brings the known view up to date    N rows
///     close         closes the database            closed
///
/// The end of the input ends it.
struct CommandResponder {
    private let database: Database

    init(_ arguments: [String]) throws {
        database = try .forTest(at: arguments.argument(0), create: true)
    }

    func run() throws {
        Report.say("ready")
        while let line = readLine() {
            let words = line.split(separator: " ").map(String.init)
            guard let command = words.first else { continue }
            Report.say(try answer(command, words))
        }
    }

    private func answer(_ command: String, _ words: [String]) throws -> String {
        switch command {
        case "save":
            let id = try words.argument(1)
            let document =
                try database.document(withID: DocumentID(id))?.toMutable()
                ?? MutableDocument(id: DocumentID(id))
            let number: Int64 = try words.number(2)
            document.set(number, forKey: "n")
            return "saved \(try database.save(document).document.revisionID)"
        case "delete":
            try database.delete(DocumentID(words.argument(1)))
            return "deleted"
        case "purge":
            try database.purge(DocumentID(words.argument(1)))
            return "purged"
        case "make":
            let count: Int = try words.number(1)
            for number in 0..<count { try database.save(MutableDocument(id: "child-\(number)")) }
            return "made"
        case "churn":
            var random = SeededRandom(seed: try words.number(2))
            for _ in 0..<(try words.number(1) as Int) { try churn(&random) }
            return "churned"
        case "get":
            let number = try database.document(withID: DocumentID(words.argument(1)))?["n"].int64
            return number.map(String.init) ?? "none"
        case "depth":
            let depth: Int = try words.number(1)
            try database.setRevisionBodyLimit(depth)
            return "set"
        case "count": return String(try database.documentCount)
        case "hold":
            try database.inBatch {
                try database.save(MutableDocument(["n": 1], id: "held"))
                Report.say("held")
                guard readLine() == "release" else { throw WrongArguments() }
            }
            return "released"
        case "identity": return "\(database.publicUUID) \(database.incarnation)"
        case "renew":
            try database.replaceUUIDs()
            return "renewed"
        case "expire":
            let milliseconds: Int = try words.number(2)
            try database.setExpiration(
                of: DocumentID(words.argument(1)), after: .milliseconds(milliseconds))
            return "expires"
        case "index": return String(try KnownView.define(on: database).totalRows)
        case "close":
            database.close()
            return "closed"
        default: throw WrongArguments()
        }
    }

    /// A transaction of one to three changes of every kind.
    private func churn(_ random: inout SeededRandom) throws {
        try database.inBatch {
            for _ in 0...random.below(3) {
                let id: DocumentID = "document-\(random.below(50))"
                switch random.below(10) {
                case 0: try database.purge(id)
                case 1: if try database.contains(id) { try database.delete(id) }
                case 2, 3:
                    let digest = "\(random.below(1_000_000))"
                    try database.putExistingRevision(
                        id, ["n": .integer(Int64(random.below(100)))], history: ["2-\(digest)"])
                default:
                    let document = try database.document(withID: id)?.toMutable()
                    let saved = document ?? MutableDocument(id: id)
                    saved.set(random.below(100), forKey: "n")
                    try database.save(saved)
                }
            }
        }
    }
}
