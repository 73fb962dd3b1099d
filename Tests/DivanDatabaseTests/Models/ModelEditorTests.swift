// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Observation
import Testing

/// What is being edited: a document of one kind, for the tests of editors.
struct Chore: DocumentModel, Equatable {
    static let documentType: String? = "chore"
    var identity = ModelIdentity()
    var title: String
    var count = 0
    var note: String?

    mutating func willSave() throws {
        if title.isEmpty { throw Whim() }
    }
}

/// Models in an object that knows what is not saved.
@Suite struct ModelEditorTests {
    private let database: Database

    init() throws { database = try Database.inMemory() }

    /// An editor of a stored chore.
    private func editor(_ title: String = "a") throws -> ModelEditor<Chore> {
        var chore = Chore(title: title)
        try database.save(&chore)
        return try #require(try database.editor(Chore.self, withID: chore.id))
    }

    private func title(_ editor: ModelEditor<Chore>) throws -> String? {
        try database.document(withID: editor.id)?.string(forKey: "title")
    }

    private func count(_ editor: ModelEditor<Chore>) throws -> Int? {
        try database.document(withID: editor.id)?["count"].int
    }

    private func retitle(_ editor: ModelEditor<Chore>, _ title: String) throws {
        try database.update(editor.id) { $0["title"] = Fragment(title) }
    }

    // MARK: - Edits

    @Test func `an editor needs a save from an edit to its save`() throws {
        let editor = try editor()
        #expect(!editor.needsSave)
        #expect(try !editor.save())
        editor.title = "b"
        #expect(editor.needsSave && editor.title == "b")
        #expect(try title(editor) == "a")
        #expect(try editor.save())
        #expect(!editor.needsSave)
        #expect(try title(editor) == "b")
        #expect(editor.model.revisionID == editor.document.currentRevisionID)
        editor.count += 1
        #expect(try editor.save())
        #expect(try database.existing(editor.id).generation == 3)
    }

    @Test func `an edit that is taken back by hand needs no save`() throws {
        let editor = try editor()
        editor.title = "b"
        editor.title = "a"
        #expect(!editor.needsSave)
        editor.edit {
            $0.note = "x"
            $0.count = 2
        }
        #expect(editor.needsSave)
        editor.edit {
            $0.note = nil
            $0.count = 0
        }
        #expect(!editor.needsSave)
        #expect(try !editor.save())
    }

    @Test func `a model that was never saved needs a save, one with edits when it comes, too`()
        throws
    {
        let editor = try database.editor(of: Chore(title: "new"))
        #expect(editor.needsSave && !editor.hasConflict && !editor.document.exists)
        #expect(try editor.save())
        #expect(!editor.needsSave && editor.document.exists)
        var read = try #require(try database.model(Chore.self, withID: editor.id))
        #expect(try !database.editor(of: read).needsSave)
        read.title = "edited"
        #expect(try database.editor(of: read).needsSave)
    }

    @Test func `reverting drops the edits and shows what the document is now`() throws {
        let editor = try editor()
        editor.title = "mine"
        try database.update(editor.id) { $0["count"] = 7 }
        try editor.revertChanges()
        #expect(editor.title == "a" && editor.count == 7 && !editor.needsSave)
        let fresh = try database.editor(of: Chore(title: "new"))
        try fresh.revertChanges()
        #expect(fresh.title == "new" && fresh.needsSave)
    }

    @Test func `the properties to save are the model's, its type, and what the type does not name`()
        throws
    {
        let editor = try editor()
        try database.update(editor.id) { $0["colour"] = "red" }
        editor.title = "b"
        let expected: JSONObject = ["title": "b", "count": 0, "type": "chore", "colour": "red"]
        #expect(try editor.propertiesToSave() == expected)
        #expect(editor.needsSave)
        #expect(try title(editor) == "a")
        try editor.save()
        #expect(try database.existing(editor.id).properties == expected)
        editor.title = ""
        #expect(throws: Whim.self) { try editor.propertiesToSave() }
        #expect(throws: Whim.self) { try editor.save() }
        #expect(editor.needsSave)
    }

    // MARK: - Others who save

    @Test func `without edits an editor shows what others save`() throws {
        let editor = try editor()
        try database.update(editor.id) { $0["title"] = "theirs" }
        #expect(editor.title == "theirs" && !editor.needsSave)
        editor.title = "mine"
        try editor.save()
        #expect(try database.existing(editor.id).generation == 3)
        try database.delete(editor.id)
        #expect(editor.title == "mine" && editor.document.isDeleted)
    }

    @Test func `a conflict keeps the edits, which are made anew on what the document is`() throws {
        let editor = try editor()
        editor.title = "mine"
        #expect(!editor.hasConflict)
        try database.update(editor.id) {
            $0["title"] = "theirs"
            $0["count"] = 5
        }
        #expect(editor.hasConflict && editor.title == "mine")
        #expect(code { try editor.save() } == .conflict)
        #expect(editor.needsSave && editor.title == "mine")
        #expect(try title(editor) == "theirs")
        #expect(throws: Whim.self) { try editor.rebase { _, _ in throw Whim() } }
        #expect(editor.hasConflict && editor.title == "mine")
        try editor.rebase { current, mine in current.title = mine.title }
        #expect(editor.needsSave && !editor.hasConflict && editor.count == 5)
        #expect(try editor.save())
        #expect(try title(editor) == "mine")
    }

    @Test func `two editors of a document have edits of their own`() throws {
        let first = try editor()
        let second = try #require(try database.editor(Chore.self, withID: first.id))
        first.title = "first"
        #expect(second.title == "a")
        try first.save()
        #expect(second.title == "first")
        #expect(try database.editor(Chore.self, withID: "nobody") == nil)
    }

    @Test func `an edit saved in a batch that is undone is unsaved again`() throws {
        let editor = try editor()
        let before = editor.model.revisionID
        editor.title = "b"
        #expect(throws: Whim.self) {
            try database.inBatch {
                #expect(try editor.save())
                #expect(!editor.needsSave && editor.title == "b")
                throw Whim()
            }
        }
        #expect(editor.needsSave && editor.title == "b")
        #expect(editor.model.revisionID == before)
        #expect(try editor.save())
        #expect(try title(editor) == "b")
        #expect(try database.existing(editor.id).generation == 2)
    }

    @Test func `an editor needs a save until that is committed`() throws {
        let editor = try editor()
        editor.title = "b"
        let (saved, mayEnd) = (Gate(), Gate())
        let writer = Running { [database] in
            try database.inBatch {
                try editor.save()
                saved.open()
                mayEnd.wait()
                return editor.needsSave
            }
        }
        saved.wait()
        #expect(editor.needsSave && editor.title == "b")
        mayEnd.open()
        #expect(try writer.value() == false)
        #expect(!editor.needsSave && editor.title == "b")
        #expect(try title(editor) == "b")
    }

    @Test func `an edit after a save that is undone stands on what was there before`() throws {
        let editor = try editor()
        #expect(throws: Whim.self) {
            try database.inBatch {
                editor.title = "b"
                try editor.save()
                editor.count = 3
                throw Whim()
            }
        }
        #expect(editor.title == "b" && editor.count == 3 && !editor.hasConflict)
        #expect(try editor.save())
        #expect(try database.existing(editor.id).generation == 2)
    }

    @Test func `all edited models are saved in one transaction, or none of them`() throws {
        let editors = [try editor("a"), try editor("b"), try editor("c")]
        editors[0].title = "A"
        editors[2].title = "C"
        #expect(database.unsavedModels.map(\.id) == [editors[0].id, editors[2].id])
        try database.update(editors[2].id) { $0["title"] = "theirs" }
        #expect(code { try database.saveAllModels() } == .conflict)
        #expect(try title(editors[0]) == "a")
        #expect(database.unsavedModels.map(\.id) == [editors[0].id, editors[2].id])
        let conflict = try #require(database.unsavedModels.first { $0.hasConflict })
        #expect(conflict.id == editors[2].id)
        try conflict.revertChanges()
        editors[1].title = "B"
        let before = try database.lastSequence
        #expect(try database.saveAllModels() == 2)
        #expect(try database.lastSequence == before + 2)
        #expect(try title(editors[0]) == "A")
        #expect(try title(editors[1]) == "B")
        #expect(database.unsavedModels.isEmpty)
        #expect(try database.saveAllModels() == 0)
    }

    @Test func `an editor that is let go drops its edits`() throws {
        do {
            let editor = try editor()
            editor.title = "b"
            #expect(database.unsavedModels.count == 1)
        }
        #expect(database.unsavedModels.isEmpty)
    }

    // MARK: - Threads and observers

    @Test func `edits and saves of many threads lose nothing`() async throws {
        let editor = try editor()
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<50 { editor.edit { $0.count += 1 } }
                }
            }
            group.addTask {
                for _ in 0..<20 { _ = try? editor.save() }
            }
        }
        try editor.save()
        #expect(try count(editor) == 400)
    }

    @Test func `observers are told of edits, saves and what others save`() async throws {
        let editor = try editor()
        /// Whether a look at the editor is followed by a call when `body` runs.
        func isTold(_ look: () -> Void, _ body: () throws -> Void) async throws -> Bool {
            let told = Flag()
            withObservationTracking(look) { told.set() }
            try body()
            return await eventually { told.isSet }
        }
        #expect(try await isTold({ _ = editor.title }, { editor.title = "b" }))
        #expect(try await isTold({ _ = editor.needsSave }, { try editor.save() }))
        #expect(try await isTold({ _ = editor.title }, { try retitle(editor, "c") }))
        #expect(editor.title == "c")
    }
}
