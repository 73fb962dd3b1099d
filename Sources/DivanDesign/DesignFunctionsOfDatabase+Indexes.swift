// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanLogging
internal import DivanModel
internal import Synchronization

// Indexes that design documents declare, and what is done when these change.
extension DesignFunctionsOfDatabase {
    /// Makes the indexes that design documents declare, and finds out whether these have rules. It does so later, on another thread.
    func lookAgain() {
        BlockingWork.start { [weak self] in
            guard let self, let database = state.withLock({ $0.database }),
                (try? database.checkWritable()) != nil
            else { return }
            do {
                try updateIndexes(of: database)
                guard validates else { return }
                try database.setDesignValidation { try !rules(of: database).isEmpty }
            } catch let error as DatabaseError where error.code == .databaseClosed {
                return
            } catch {
                Log.database.warning(
                    "The design documents of '\(database.name)' could not be looked at: \(error)")
            }
        }
    }

    /// Makes the indexes those that the design documents declare.
    ///
    /// Both are looked at in one turn of a writer, so that no other one changes the design documents meanwhile.
    func updateIndexes(of database: Database) throws {
        let seen = try designDocuments(of: database)
        guard state.withLock({ $0.indexesOf != seen && $0.makesIndexes }),
            (try? database.checkWritable()) != nil
        else { return }
        let isOwnTransaction = !database.core.isInTransaction
        let made = try database.inBatch {
            let found = try designDocuments(of: database)
            let documents = try found.compactMap { try database.document(withID: $0.id) }
            try QueryIndexes.update(documents, in: database)
            return found
        }
        // A batch around it may be undone.
        if isOwnTransaction { state.withLock { $0.indexesOf = made } }
    }

    /// All design documents.
    func designDocuments(of database: Database) throws -> [Seen] {
        var options = AllDocumentsOptions()
        options.startID = "_design/"
        // The byte behind the slash ends the range.
        options.endID = "_design0"
        var found: [Seen] = []
        try database.forEachDocument(options) {
            found.append(Seen(id: $0.id, sequence: $0.sequence, revision: $0.revisionID))
        }
        return found
    }
}
