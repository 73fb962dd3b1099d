// SPDX-License-Identifier: Apache-2.0

internal import DivanLogging
public import DivanModel
internal import Synchronization

/// What editors of all types of models have in common; see ``ModelEditor``.
public protocol EditedModel: AnyObject, Sendable {
    /// The ID of the document.
    var id: DocumentID { get }
    /// Whether there are edits to save.
    var needsSave: Bool { get }
    /// Whether the document has changed under unsaved edits.
    var hasConflict: Bool { get }
    /// Saves the edits, if there are any; false when there are none.
    ///
    /// - Throws: As `ModelEditor.save()`.
    @discardableResult func save() throws -> Bool
    /// Drops the edits and shows what the document is.
    ///
    /// - Throws: As `ModelEditor.revertChanges()`.
    func revertChanges() throws
}

extension Database {
    /// An editor of a model, new or read.
    ///
    /// - Parameters:
    ///   - model: The model; edits that it has already, against the revision that it was read from,
    ///     are edits to save.
    ///   - clock: What ``ModelEditor/autosaveDelay`` is measured with; a test gives one that it moves.
    /// - Returns: An editor of its own each time.
    /// - Throws: `DatabaseError` with code `.invalidID`, or as `read(_:)`.
    public func editor<M: DocumentModel>(
        of model: M, clock: any Clock<Duration> = ContinuousClock()
    ) throws -> ModelEditor<M> {
        try ModelEditor(model, in: self, clock: clock)
    }

    /// An editor of the model of a document; nil when there is no such document.
    ///
    /// - Parameters:
    ///   - type: The type of the model.
    ///   - id: The document's ID.
    ///   - clock: As for `editor(of:clock:)`.
    /// - Returns: An editor of its own each time; nil when there is no such document.
    /// - Throws: As `model(_:withID:)`.
    public func editor<M: DocumentModel>(
        _ type: M.Type = M.self, withID id: DocumentID,
        clock: any Clock<Duration> = ContinuousClock()
    ) throws -> ModelEditor<M>? {
        guard let document = try document(withID: id) else { return nil }
        return try editor(of: document.model(type), clock: clock)
    }

    /// The editors of this database with edits to save, in the order in which they were made.
    public var unsavedModels: [any EditedModel] { editors.all.filter(\.needsSave) }

    /// Saves what all editors of this database have to save, in one transaction.
    ///
    /// - Returns: How many models were saved.
    /// - Throws: As `ModelEditor.save()` of the first one that cannot be saved; then none is, and all
    ///   edits are kept.
    @discardableResult
    public func saveAllModels() throws -> Int {
        let unsaved = unsavedModels
        if unsaved.isEmpty { return 0 }
        return try inBatch { try unsaved.count { try $0.save() } }
    }
}

/// The editors of a database that the app holds.
///
/// State: `entries`, under its mutex; editors are called outside it.
final class ModelEditors: Sendable {
    private struct Entry {
        let key: ObjectIdentifier
        weak var editor: (any EditedModel & DueSaves)?
    }

    private let databaseName: String
    private let entries = Mutex<[Entry]>([])

    init(databaseName: String) { self.databaseName = databaseName }

    /// The editors, in the order in which they were made.
    var all: [any EditedModel & DueSaves] { entries.withLock { $0.compactMap(\.editor) } }

    func add(_ editor: some EditedModel & DueSaves) {
        entries.withLock { $0.append(Entry(key: ObjectIdentifier(editor), editor: editor)) }
    }

    func remove(_ editor: some EditedModel) {
        let key = ObjectIdentifier(editor)
        entries.withLock { $0.removeAll { $0.key == key && $0.editor == nil } }
    }

    /// Carries out the automatic saves that are due.
    func saveDue() { for editor in all { editor.saveIfDue() } }

    /// Logs which edits are lost with the database.
    func noteClosing() {
        for editor in all where editor.needsSave {
            Log.database.warning(
                "The database '\(databaseName)' is closed with edits of document '\(editor.id)' that "
                    + "were not saved.")
        }
    }

    func noteDropped(_ id: DocumentID) {
        Log.database.info(
            "The edits of document '\(id)' in the database '\(databaseName)' were dropped unsaved.")
    }
}

/// An editor whose automatic save may be due.
protocol DueSaves {
    func saveIfDue()
}

extension ModelEditor: DueSaves {}
