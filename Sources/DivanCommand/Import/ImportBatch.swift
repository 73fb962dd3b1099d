// SPDX-License-Identifier: Apache-2.0

internal import Divan

/// Documents that are stored in one transaction.
struct ImportBatch {
    /// 1,000 documents a transaction: more gain nothing. 16 MB of input: large ones stay bounded.
    private static let maximumCount = 1_000
    private static let maximumSize = 16 << 20

    /// What became of a batch.
    struct Outcome {
        var stored = 0
        var unchanged = 0
        var problems: [(message: String, location: RecordLocation)] = []
    }

    private var documents: [(document: ImportedDocument, location: RecordLocation)] = []
    private var size = 0

    var isEmpty: Bool { documents.isEmpty }
    var count: Int { documents.count }
    var isFull: Bool { documents.count >= Self.maximumCount || size >= Self.maximumSize }

    mutating func add(_ document: ImportedDocument, at location: RecordLocation, size: Int) {
        documents.append((document, location))
        self.size += size
    }

    mutating func removeAll() {
        documents.removeAll(keepingCapacity: true)
        size = 0
    }

    /// Stores the documents, but for those that the database refuses one by one.
    ///
    /// A refusal comes before anything of that document is written, so the others can go on.
    ///
    /// - Parameters:
    ///   - database: Where to.
    ///   - rules: Whether existing documents are replaced.
    ///   - stopsAtProblem: Whether what comes after a refused document is left out.
    /// - Returns: What was stored and what was refused.
    /// - Throws: `DatabaseError`, when none of the batch could be stored.
    func store(
        in database: Database, by rules: ImportRules, stopsAtProblem: Bool
    ) throws -> Outcome {
        try database.write { transaction in
            var outcome = Outcome()
            for (document, location) in documents {
                do {
                    if try document.store(in: transaction, by: rules) {
                        outcome.stored += 1
                    } else {
                        outcome.unchanged += 1
                    }
                } catch let error as DatabaseError where error.isAboutOneDocument {
                    outcome.problems.append((error.message, location))
                    if stopsAtProblem { break }
                }
            }
            return outcome
        }
    }
}

extension ImportedDocument {
    /// Stores the document; false if there was nothing to do.
    fileprivate func store(
        in transaction: borrowing WriteTransaction, by rules: ImportRules
    ) throws -> Bool {
        switch self {
        case .nothing:
            return false
        case .revision(let id, let history, let isDeleted, let body, let blobs):
            var content = try RevisionContent(
                given: body, isDeleted: isDeleted, claims: .verified, id: id)
            content.add(blobs)
            return try transaction.putExistingRevision(
                id, content, history: history, isDeferring: rules.keepsStubs)
        case .deletion(let id):
            guard try transaction.document(withID: id) != nil else { return false }
            _ = try transaction.delete(id)
            return true
        case .attached(let id, let properties, let blobs):
            let current = rules.replaces ? try transaction.document(withID: id) : nil
            var content = try WriteTransaction.content(id, properties, false, [:], .passedOver)
            content.add(blobs)
            _ = try transaction.put(
                id, content, parent: current?.revisionID, allowConflict: false)
            return true
        case .edit(let document, let body):
            guard rules.replaces, let current = try transaction.document(withID: document.id) else {
                _ = try transaction.save(document)
                return true
            }
            if current.body == body { return false }
            let copy = current.toMutable()
            copy.setProperties(document.properties)
            _ = try transaction.save(copy)
            return true
        }
    }
}

extension DatabaseError {
    /// Whether the fault is in one document, so that the others can go on.
    fileprivate var isAboutOneDocument: Bool {
        switch code {
        case .conflict, .forbidden, .invalidDocument, .invalidID, .attachmentNotFound: true
        default: false
        }
    }
}
