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
        /// How many contents were missing of documents that were there.
        var supplied = 0
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
                    switch try document.store(in: transaction, by: rules) {
                    case .new: outcome.stored += 1
                    case .known(let supplied):
                        outcome.unchanged += 1
                        outcome.supplied += supplied
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
    /// Stores the document, or what is missing of it, if there is anything to do.
    fileprivate func store(
        in transaction: borrowing WriteTransaction, by rules: ImportRules
    ) throws -> RevisionArrival {
        switch self {
        case .nothing:
            return .known(supplied: 0)
        case .revision(let id, let history, let isDeleted, let body, let blobs):
            var content = try RevisionContent(
                given: body, isDeleted: isDeleted, claims: .verified, id: id)
            content.add(blobs)
            return try transaction.putExistingRevision(
                id, content, history: history, isDeferring: rules.keepsStubs)
        case .deletion(let id):
            guard try transaction.document(withID: id) != nil else { return .known(supplied: 0) }
            _ = try transaction.delete(id)
            return .new
        case .attached(let id, let properties, let blobs):
            let current = rules.replaces ? try transaction.document(withID: id) : nil
            var content = try WriteTransaction.content(id, properties, false, [:], .passedOver)
            content.add(blobs)
            _ = try transaction.put(
                id, content, parent: current?.revisionID, allowConflict: false)
            return .new
        case .edit(let document, let body):
            guard rules.replaces, let current = try transaction.document(withID: document.id) else {
                _ = try transaction.save(document)
                return .new
            }
            if current.body == body { return .known(supplied: 0) }
            let copy = current.toMutable()
            copy.setProperties(document.properties)
            _ = try transaction.save(copy)
            return .new
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
