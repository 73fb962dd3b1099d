// SPDX-License-Identifier: Apache-2.0

public import DivanJSON
internal import Synchronization

extension ModelEditor {
    /// Saves the edits, if there are any.
    ///
    /// In a batch it is part of that. Edits made by other threads while it saves are kept, unsaved, on
    /// top of what it stored.
    ///
    /// - Returns: Whether there was something to save.
    /// - Throws: As `Database.save(_:)` of a model, with `DatabaseError` code `.conflict` when the
    ///   document has changed since the value was read. The edits are then kept.
    @discardableResult
    public func save() throws -> Bool {
        defer { announce() }
        let isSaved = try database.operation { try save(in: $0) }
        // Where the batch around this is undone, the automatic save that is due has its turn.
        if !database.core.isInTransaction {
            cancelAutosave()
            noteAutosave(failure: nil)
            // Edits made meanwhile are due again.
            scheduleAutosave()
        }
        return isSaved
    }

    /// The properties that a save would store: those of the model as `willSave` leaves them, its type,
    /// and those of the document that the type does not name.
    ///
    /// - Throws: What `willSave` throws, or `DatabaseError` with code `.invalidDocument` when the value
    ///   does not encode as an object, `.conflict` when the revision that it was read from is gone.
    public func propertiesToSave() throws -> JSONObject {
        var next = model
        try next.willSave()
        return try database.read { try $0.draft(of: next).document.properties }
    }

    private func save(in transaction: borrowing WriteTransaction) throws -> Bool {
        // The writer's turn is this thread's, so two saves never store the same edits.
        let draft = held
        guard draft.isEdited else { return false }
        var saved = draft.value
        let stored = try transaction.save(&saved)
        let encoded = ModelEdits.encoded(saved)
        let outcome = transaction.context.outcome
        edits.withLock { [saved] edits in
            edits.noteSave(
                of: saved, encoded: encoded, version: draft.version, sequence: stored.sequence,
                in: outcome)
        }
        return true
    }
}
