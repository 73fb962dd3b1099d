// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel
internal import Synchronization

// What a save takes from a document, and what it tells the document.
//
// A save tells the object its new revision at once, though the batch it is part of may still be
// undone. The object remembers what it stood for before, beside the *outcome* of that batch, and goes
// back when it is next asked and finds that the batch was undone. So a transaction keeps no list of
// the objects saved in it: they are freed as soon as the app lets go of them, which is what keeps a
// batch of many saves in the processor's cache. It knows only those that hold content, and does not keep
// them either: they let go of that when it is committed.

/// What a document stood for before the saves that may still be taken back.
struct UnsettledSaves {
    struct Save {
        var outcome: BatchOutcome
        var formerBase: RevisionID?
        var formerSequence: SequenceNumber
        /// The store that the document came from.
        var formerStore: UInt32
        /// What this save and those after it in its batch stored, kept until the transaction has committed.
        var formerPending: PendingAttachments?
        var formerStubs: PackedValue?
    }

    /// The latest save; the others, of batches around it, are rare, and only they need memory of their own.
    private var latest: Save?
    private var others: [Save] = []

    var isEmpty: Bool { latest == nil }

    /// Notes a save; the first of several in one batch tells what to go back to, with the content of all.
    mutating func add(_ save: Save) {
        if let latest {
            if latest.outcome === save.outcome {
                self.latest?.formerPending.add(later: save.formerPending)
                return
            }
            others.append(latest)
        }
        latest = save
    }

    /// Takes out the earliest of the saves that were undone, which is what to go back to, with the content of all.
    mutating func takeUndone() -> Save? {
        var undone: Save?
        while var save = latest {
            guard save.outcome.isUndone else {
                // The saves before it are older parts of the same transaction.
                if save.outcome.isKept { self = UnsettledSaves() }
                break
            }
            save.formerPending.add(later: undone?.formerPending)
            undone = save
            latest = others.popLast()
        }
        return undone
    }
}

extension PendingAttachments? {
    /// Adds what a later edit does, if anything.
    fileprivate mutating func add(later: PendingAttachments?) {
        guard let later else { return }
        self = self ?? PendingAttachments()
        self?.add(later: later)
    }
}

extension MutableDocument.State {
    /// Goes back to what the document stood for before saves that were undone since; its
    /// properties, edited since or not, stay, and so does what was to be stored with them.
    fileprivate mutating func settle() {
        guard !unsettled.isEmpty, let undone = unsettled.takeUndone() else { return }
        base = undone.formerBase
        sequence = undone.formerSequence
        store = undone.formerStore
        if var former = undone.formerPending {
            if let pending { former.add(later: pending) }
            pending = former
            properties.setStubs(undone.formerStubs)
        }
        hasChanges = true
    }
}

extension MutableDocument {
    /// Reads or edits the state. Saves that were undone are taken back first, so no caller sees what they left.
    func withState<T: Sendable, E: Error>(_ body: (inout State) throws(E) -> T) throws(E) -> T {
        try state.withLock { (state) throws(E) in
            state.settle()
            return try body(&state)
        }
    }
}

extension MutableDocument: ContentHolder {
    func releaseContent() { withState { _ in } }
}

extension MutableDocument {
    /// What a save has to store.
    struct Draft {
        var id: DocumentID
        /// Whether the ID is one of ours and needs no check.
        var hasGeneratedID: Bool
        var base: RevisionID?
        var sequence: SequenceNumber
        var body: PackedValue
        var hasChanges: Bool
        /// Attachments and blobs that were added or removed.
        var pending: PendingAttachments?
        /// The store of the database that the document came from, by number; 0 for none.
        var origin: UInt32

        /// What the save stores.
        var content: RevisionContent {
            var content = RevisionContent(body: body, isDeleted: false, pending: pending)
            content.origin = origin
            return content
        }
    }

    /// What to save now.
    ///
    /// - Throws: `.invalidDocument` when an edited property cannot be stored as JSON.
    func draft() throws -> Draft {
        try withState { state in
            let body = try state.properties.pack(id: state.id)
            state.draftedEdits = state.edits
            return Draft(
                id: state.id, hasGeneratedID: state.hasGeneratedID, base: state.base,
                sequence: state.sequence, body: body, hasChanges: state.hasChanges,
                pending: state.pending?.needed(by: body), origin: state.store)
        }
    }

    /// Takes on the revision that was saved, until the batch it was saved in is undone.
    ///
    /// - Returns: Whether content is kept for the case that it is undone.
    func adopt(_ document: Document, savedIn outcome: BatchOutcome) -> Bool {
        withState { state in
            // An edit made since the draft was taken is still to be saved, with all that is pending.
            let isUpToDate = state.edits == state.draftedEdits
            state.unsettled.add(
                UnsettledSaves.Save(
                    outcome: outcome, formerBase: state.base, formerSequence: state.sequence,
                    formerStore: state.store, formerPending: isUpToDate ? state.pending : nil,
                    formerStubs: state.properties.stubs))
            state.store = document.store
            state.base = document.revisionID
            state.sequence = document.sequence
            guard isUpToDate else { return false }
            state.properties = EditableProperties(document.body)
            defer { state.pending = nil }
            state.hasChanges = false
            return state.pending != nil
        }
    }
}
