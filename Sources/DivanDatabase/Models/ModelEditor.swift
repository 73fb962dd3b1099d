// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
public import DivanModel
public import Observation
internal import Synchronization

/// A model that is being edited: it knows what is not saved yet, and saves it when told to or by itself.
///
/// ```swift
/// let editor = try database.editor(of: Chore(title: "Learn Persian"))
/// editor.title = "Learn Farsi"             // the properties of the model, read and written
/// editor.needsSave                         // true
/// try editor.save()
///
/// editor.autosaves = true                  // from now on edits save themselves,
/// editor.autosaveDelay = .seconds(2)       // two seconds after the first of them
/// editor.title = "Learn Dari"
/// ```
///
/// A model is a value, so nothing can watch it. An editor is the object around it that a form or a
/// view model holds: `Observable`, for any thread, with the model's properties as its own.
///
/// ```
///               edit                        save(), or autosaveDelay after the first edit
///  as stored ─────────► edited, needsSave ──────────────────────────────────► as stored
///      ▲                     │
///      └── revertChanges() ──┘
/// ```
///
/// ## What it shows
///
/// Without unsaved edits the editor follows its document: what another editor, a replication or another
/// process saves is shown, and observers are told. With unsaved edits it shows those. An edit that
/// is taken back by hand is no edit: ``needsSave`` compares the properties with those of the revision.
///
/// ## Conflicts
///
/// A save never overrides another writer's edit. When the document has changed since the value was read,
/// ``hasConflict`` is true and a save throws `.conflict`; the edits stay. ``revertChanges()`` drops them,
/// and ``rebase(_:)`` makes them anew on what the document is now.
///
/// ## Rules
/// 1. Each editor is one editing context. Two editors of one document have edits of their own, and the
///    second save is a conflict.
/// 2. An edit saved in a batch that is undone is an unsaved edit again.
/// 3. An editor that is released with unsaved edits drops them, as a form that is dismissed does; but
///    while an automatic save is due the editor stays alive until that is done.
/// 4. `Database.close()` and `Manager.suspend()` carry out the automatic saves that are due. Later
///    saves throw as any write does then.
///
/// State: `edits` and `autosaving`, each under its mutex, held for a few instructions and never while
/// the database is read or written or the app's code is called.
@dynamicMemberLookup
public final class ModelEditor<Model: DocumentModel>: EditedModel, Observable, Identifiable {
    /// The database of the document. It stays open as long as this object is held.
    public let database: Database
    /// The document as a live object: whether it exists, its revisions, its conflicts.
    public let document: LiveDocument

    let edits: Mutex<ModelEdits<Model>>
    let autosaving = Mutex(AutosaveState())
    let clock: any Clock<Duration>
    let registrar = ObservationRegistrar()

    init(_ model: Model, in database: Database, clock: any Clock<Duration>) throws {
        self.database = database
        self.clock = clock
        document = try database.liveDocument(withID: model.id)
        let (mark, base) = try database.read { transaction in
            guard let revision = model.revisionID else {
                return (try transaction.committedMark, Document?.none)
            }
            return (
                try transaction.committedMark, try transaction.base(of: model.id, revision)
            )
        }
        let original = try? base?.model(Model.self)
        edits = Mutex(
            ModelEdits(model, baseline: original.flatMap(ModelEdits.encoded), mark: mark))
        database.editors.add(self)
    }

    deinit {
        database.editors.remove(self)
        if held.isEdited { database.editors.noteDropped(id) }
    }

    /// The ID of the document.
    public var id: DocumentID { document.id }

    // MARK: - The model

    /// The model: as it is edited or, without unsaved edits, as the document is now.
    ///
    /// Assigning replaces all its properties; the identity stays. Where the document is gone, or no
    /// longer has the properties of the type, it is what was last known; `document` and
    /// ``revertChanges()`` tell which.
    public var model: Model {
        get {
            registrar.access(self, keyPath: \.model)
            return shown().value
        }
        set { edit { $0 = newValue } }
    }

    /// A property of the model.
    public subscript<Value>(dynamicMember property: KeyPath<Model, Value>) -> Value {
        model[keyPath: property]
    }

    /// A property of the model, which may be edited.
    ///
    /// Each access is one step; to read and write in one step beside other threads, use ``edit(_:)``.
    public subscript<Value>(dynamicMember property: WritableKeyPath<Model, Value>) -> Value {
        get { model[keyPath: property] }
        set { edit { $0[keyPath: property] = newValue } }
    }

    /// Edits several properties in one step.
    ///
    /// - Parameter change: Edits the model. It may be called again, with the then current model, when
    ///   another thread edits at the same time. When it throws, nothing is edited.
    public func edit(_ change: (inout Model) throws -> Void) rethrows {
        while true {
            let before = shown()
            var edited = before.value
            try change(&edited)
            let baseline = before.isEdited ? nil : ModelEdits.encoded(before.value)
            let encoded = ModelEdits.encoded(edited)
            let isDone = edits.withLock { [edited] edits in
                guard edits.version == before.version else { return false }
                edits.edit(edited, encoded: encoded, from: before.value, baseline: baseline)
                return true
            }
            if isDone { break }
        }
        announce()
        scheduleAutosave()
    }

    // MARK: - What is not saved

    /// Whether there are edits to save; always true for a model that was never saved.
    ///
    /// It becomes false when a save is committed; the thread that runs a batch sees its own saves before.
    public var needsSave: Bool {
        registrar.access(self, keyPath: \.model)
        let held = held
        return held.isEdited || !held.isSettled && !database.core.isInTransaction
    }

    /// Whether the document has changed under unsaved edits, so that a save would be a conflict.
    public var hasConflict: Bool {
        registrar.access(self, keyPath: \.model)
        let held = held
        guard held.isEdited, held.isSettled, let revision = held.value.revisionID else {
            return false
        }
        return revision != document.currentRevisionID
    }

    /// Drops the edits and shows what the document is.
    ///
    /// A model that was never saved, and one whose document is gone, keep their properties.
    ///
    /// - Throws: As `Database.model(_:withID:)`; the edits are then kept.
    public func revertChanges() throws { try rebase { _, _ in } }

    /// Makes the edits anew on what the document is now, which ends a conflict.
    ///
    /// ```swift
    /// do { try editor.save() } catch let error as DatabaseError where error.code == .conflict {
    ///     try editor.rebase { current, mine in current.title = mine.title }
    ///     try editor.save()
    /// }
    /// ```
    ///
    /// A model that was never saved, and one whose document is gone, stay as they are.
    ///
    /// - Parameter merge: Gets the model as the document is now, to change it, and the one with the
    ///   edits. It may be called again when another thread edits at the same time.
    /// - Throws: As `Database.model(_:withID:)`, and what `merge` throws; the edits are then kept.
    public func rebase(_ merge: (_ current: inout Model, _ mine: Model) throws -> Void) throws {
        while true {
            let mine = held
            let (mark, found) = try database.read { transaction in
                (try transaction.committedMark, try transaction.document(withID: id))
            }
            guard let current = try found?.model(Model.self) else { return }
            var merged = current
            try merge(&merged, mine.value)
            let (baseline, encoded) = (ModelEdits.encoded(current), ModelEdits.encoded(merged))
            let isDone = edits.withLock { [merged] edits in
                guard edits.version == mine.version else { return false }
                edits.show(current, mark: mark)
                edits.edit(merged, encoded: encoded, from: current, baseline: baseline)
                return true
            }
            if isDone { break }
        }
        announce()
        scheduleAutosave()
    }

    // MARK: - State

    /// What is held now, with what came of batches that have ended.
    var held: ModelEdits<Model> {
        edits.withLock { edits in
            edits.settle()
            return edits
        }
    }

    /// What to show: what is held or, without edits, what the document has become.
    private func shown() -> ModelEdits<Model> {
        var held = held
        // Also with edits: an observer of the model is to hear of a conflict.
        let revision = document.currentRevisionID
        guard held.followsDocument, let revision,
            revision != held.value.revisionID,
            let snapshot = try? document.snapshot(), let contents = snapshot.contents,
            !contents.isDeletion, let current = try? contents.document.model(Model.self)
        else { return held }
        // What the thread that runs a batch sees may be undone, so it is shown and not kept.
        if database.core.isInTransaction {
            held.showForNow(current)
            return held
        }
        return edits.withLock { edits in
            edits.settle()
            // An older snapshot says nothing about a newer save.
            if edits.version == held.version, edits.mark.isReached(by: snapshot.mark) {
                edits.show(current, mark: snapshot.mark)
            }
            return edits
        }
    }

    /// Tells observers that something has changed. They are told after the change, so that an
    /// observer that looks at once sees it.
    func announce() { registrar.withMutation(of: self, keyPath: \.model) {} }
}

extension ReadTransaction {
    /// How far the database had come, for a follower: zero in a batch, since what the batch does may
    /// be undone.
    fileprivate var committedMark: DatabaseMark {
        get throws {
            if snapshot.context != nil { return DatabaseMark(sequence: 0, purge: 0) }
            return try snapshot.state().mark
        }
    }
}

extension ModelEditor: CustomStringConvertible {
    /// The document's ID and whether there are edits; never the content.
    public var description: String {
        "ModelEditor<\(Model.self)>(\(id)\(needsSave ? ", edited" : ""))"
    }
}
