// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport

/// Writes batches of every kind of change until it is killed.
///
/// For each batch it says, before the commit, what the batch will leave behind, and afterwards that
/// it is done:
///
///     plan 7
///     document-12 3-9f… 400        how each touched document then stands
///     total 812 31 96              last sequence, last purge's documents so far, live documents
///     end 7
///     done 7                       acknowledged
///
/// So the test knows what must be there, and what may be there whole or not at all.
struct BatchWriter {
    private let database: Database
    private var random: SeededRandom
    private var number = 0

    init(_ arguments: [String]) throws {
        guard let keeping = Keeping(rawValue: try arguments.argument(2)) else {
            throw WrongArguments()
        }
        database = try .forTest(at: arguments.argument(0), create: true, keeping: keeping)
        random = SeededRandom(seed: try arguments.number(1))
    }

    mutating func run() throws {
        Report.say("ready")
        while true {
            if random.oneIn(8) { try database.compact() }
            try writeBatch()
        }
    }

    private mutating func writeBatch() throws {
        number += 1
        let size = 1 + random.below(random.oneIn(5) ? 200 : 25)
        var random = random
        try database.inBatch {
            var touched: Set<String> = []
            for _ in 0..<size {
                let id: DocumentID = "document-\(random.below(1_200))"
                touched.insert(id.text)
                try change(id, &random)
            }
            var lines = ["plan \(number)"]
            for id in touched.sorted() {
                lines.append(try DocumentState.line(DocumentID(id), in: database))
            }
            lines.append("total \(try database.lastSequence) \(try database.documentCount)")
            lines.append("end \(number)")
            Report.say(all: lines)
        }
        self.random = random
        Report.say("done \(number)")
    }

    private func change(_ id: DocumentID, _ random: inout SeededRandom) throws {
        let n = random.below(100_000)
        switch random.below(20) {
        case 0: try database.purge(id)
        case 1, 2:
            if try database.contains(id) { try database.delete(id) }
        case 3, 4, 5: try addConflict(id, n, &random)
        case 6:
            // An inner batch that fails leaves nothing behind.
            try? database.inBatch {
                try save(id, n)
                throw WrongArguments()
            }
        default: try save(id, n)
        }
    }

    private func save(_ id: DocumentID, _ n: Int) throws {
        let document = try database.document(withID: id)?.toMutable() ?? MutableDocument(id: id)
        document.setProperties(KnownBody.make(id.text, n))
        try database.save(document)
    }

    private func addConflict(_ id: DocumentID, _ n: Int, _ random: inout SeededRandom) throws {
        let history = try database.revisionHistory(of: id)
        let digest =
            String(random.next() | 1 << 63, radix: 16) + String(random.next() | 1 << 63, radix: 16)
        // A sibling of the current revision, or the first revision of a document.
        let new: RevisionID = "\(history.first?.generation ?? 1)-\(digest)"
        let isDeleted = random.oneIn(6)
        try database.putExistingRevision(
            id, isDeleted ? [:] : KnownBody.make(id.text, n), history: [new] + history.dropFirst(),
            isDeleted: isDeleted)
    }
}
