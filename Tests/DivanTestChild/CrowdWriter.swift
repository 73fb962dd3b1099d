// SPDX-License-Identifier: Apache-2.0

import Divan
import Foundation

/// Saves and deletes single documents on many threads, each commit durable, until it is killed.
///
/// Each thread has documents of its own and says what it has been told:
///
///     saved NAME-3-17       the document is there
///     gone NAME-3-16        it was deleted
struct CrowdWriter: Sendable {
    private let database: Database
    private let name: String

    init(_ arguments: [String]) throws {
        guard let keeping = Keeping(rawValue: try arguments.argument(2)) else {
            throw WrongArguments()
        }
        var options = DatabaseOptions()
        options.create = true
        options.durability = .full
        try keeping.apply(to: &options)
        database = try Database.open(
            at: URL(filePath: try arguments.argument(0)), options: options)
        name = try arguments.argument(1)
    }

    func run() throws {
        Report.say("ready")
        for thread in 0..<12 {
            Thread.detachNewThread {
                do { try write(thread) } catch { Report.trouble("crowd: \(error)") }
            }
        }
        while true { sleep(60) }
    }

    private func write(_ thread: Int) throws {
        for number in 0... {
            let id = DocumentID("\(name)-\(thread)-\(number)")
            try database.save(MutableDocument(KnownBody.make(id.text, number), id: id))
            Report.say("saved \(id)")
            // Refused, whatever it shares its commit with.
            if number % 5 == 0 { _ = try? database.save(MutableDocument(id: id)) }
            if number % 3 == 0 {
                try database.delete(id)
                Report.say("gone \(id)")
            }
        }
    }
}
