// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

/// Edits that save themselves, by a clock that the tests move.
@Suite struct ModelAutosaveTests {
    private let clock = ManualClock()

    /// An editor of a stored chore that saves by itself after two seconds.
    private func editor(in database: Database) throws -> ModelEditor<Chore> {
        var chore = Chore(title: "a")
        try database.save(&chore)
        let editor = try database.editor(of: chore, clock: clock)
        editor.autosaveDelay = .seconds(2)
        editor.autosaves = true
        return editor
    }

    private func title(of id: DocumentID, in database: Database) throws -> String? {
        try database.document(withID: id)?.string(forKey: "title")
    }

    private func save(_ chore: inout Chore, in database: Database) throws {
        try database.save(&chore)
    }

    private func retitle(_ id: DocumentID, _ title: String, in database: Database) throws {
        try database.update(id) { $0["title"] = Fragment(title) }
    }

    /// Saves in a batch that is undone.
    private func saveInVain(_ editor: ModelEditor<Chore>) throws {
        try editor.database.inBatch {
            try editor.save()
            throw Whim()
        }
    }

    @Test func `an edit saves itself its delay after the first one`() async throws {
        let database = try Database.inMemory()
        let editor = try editor(in: database)
        #expect(clock.sleeping == 0)
        editor.title = "b"
        await eventually { clock.sleeping == 1 }
        clock.advance(by: .seconds(1))
        editor.title = "c"
        // The second edit has not postponed the save: the one that sleeps is due in a second.
        #expect(clock.sleeping == 1)
        #expect(editor.needsSave)
        clock.advance(by: .seconds(1))
        await eventually { !editor.needsSave }
        #expect(try title(of: editor.id, in: database) == "c")
        #expect(editor.autosaveFailure == nil)

        editor.title = "d"
        await eventually { clock.sleeping == 1 }
        clock.advance(by: .seconds(2))
        try await eventually { try title(of: editor.id, in: database) == "d" }
    }

    @Test func `nothing saves itself unless that is wanted`() async throws {
        let database = try Database.inMemory()
        var chore = Chore(title: "a")
        try save(&chore, in: database)
        let editor = try database.editor(of: chore, clock: clock)
        #expect(!editor.autosaves && editor.autosaveDelay == .zero)
        editor.title = "b"
        #expect(clock.sleeping == 0 && editor.needsSave)
        editor.autosaveDelay = .seconds(1)
        editor.autosaves = true
        await eventually { clock.sleeping == 1 }
        editor.autosaves = false
        await eventually { clock.sleeping == 0 }
        clock.advance(by: .seconds(5))
        #expect(editor.needsSave)
        #expect(try title(of: editor.id, in: database) == "a")
    }

    @Test func `a save, a revert and an edit that is taken back call off the one that is due`()
        async throws
    {
        let database = try Database.inMemory()
        let ends: [(ModelEditor<Chore>) throws -> Void] = [
            { try $0.save() }, { try $0.revertChanges() }, { $0.title = "a" },
        ]
        for end in ends {
            let editor = try editor(in: database)
            editor.title = "b"
            await eventually { clock.sleeping == 1 }
            try end(editor)
            await eventually { clock.sleeping == 0 }
            #expect(!editor.needsSave)
        }
    }

    @Test func `a save that conflicts is told, and its edits are kept`() async throws {
        let database = try Database.inMemory(named: "autosave-conflict")
        let log = DatabaseLog(of: "autosave-conflict")
        let editor = try editor(in: database)
        editor.title = "mine"
        await eventually { clock.sleeping == 1 }
        try retitle(editor.id, "theirs", in: database)
        clock.advance(by: .seconds(2))
        await eventually { editor.autosaveFailure != nil }
        #expect((editor.autosaveFailure as? DatabaseError)?.code == .conflict)
        #expect(editor.needsSave && editor.hasConflict && editor.title == "mine")
        #expect(try title(of: editor.id, in: database) == "theirs")
        #expect(log.waits(for: "could not be saved automatically"))

        try editor.rebase { current, mine in current.title = mine.title }
        #expect(editor.autosaveFailure != nil)
        await eventually { clock.sleeping == 1 }
        clock.advance(by: .seconds(2))
        await eventually { !editor.needsSave }
        #expect(editor.autosaveFailure == nil)
        #expect(try title(of: editor.id, in: database) == "mine")
    }

    @Test func `an automatic save that failed is no news once its edits are dropped`() async throws
    {
        let database = try Database.inMemory()
        let editor = try editor(in: database)
        editor.title = "mine"
        await eventually { clock.sleeping == 1 }
        try retitle(editor.id, "theirs", in: database)
        clock.advance(by: .seconds(2))
        await eventually { editor.autosaveFailure != nil }
        try editor.revertChanges()
        #expect(editor.autosaveFailure == nil && editor.title == "theirs")
        editor.title = "again"
        #expect(editor.autosaveFailure == nil)
    }

    @Test func `an editor that is let go is kept until its save`() async throws {
        let database = try Database.inMemory()
        weak var gone: ModelEditor<Chore>?
        let id: DocumentID
        do {
            let editor = try editor(in: database)
            id = editor.id
            gone = editor
            editor.title = "b"
        }
        await eventually { clock.sleeping == 1 }
        #expect(gone != nil)
        clock.advance(by: .seconds(2))
        await eventually { gone == nil }
        #expect(try title(of: id, in: database) == "b")
    }

    @Test func `closing the database saves what is due, and says what is not saved`() throws {
        let sandbox = Sandbox()
        let log = DatabaseLog(of: "closing")
        let manager = try sandbox.manager()
        let database = try manager.database(named: "closing")
        let due = try editor(in: database)
        due.title = "b"
        let kept = try database.editor(of: Chore(title: "never"))
        database.close()
        #expect(log.waits(for: "edits of document '\(kept.id)'"))
        #expect(!log.messages(.warning).contains { $0.contains(due.id.text) })
        #expect(kept.needsSave && !due.needsSave)
        #expect(code { try kept.save() } == .databaseClosed)
        let again = try manager.database(named: "closing")
        #expect(try title(of: due.id, in: again) == "b")
        #expect(try again.document(withID: kept.id) == nil)
    }

    @Test func `suspending saves what is due, and edits made meanwhile wait for its end`()
        async throws
    {
        let sandbox = Sandbox()
        let manager = try sandbox.manager()
        let database = try manager.database(named: "suspended")
        let editor = try editor(in: database)
        editor.title = "b"
        try manager.suspend()
        #expect(!editor.needsSave)
        editor.title = "c"
        await eventually { clock.sleeping == 1 }
        clock.advance(by: .seconds(2))
        #expect(editor.needsSave && editor.autosaveFailure == nil)
        try manager.resume()
        await eventually { !editor.needsSave }
        #expect(try title(of: editor.id, in: database) == "c")
    }

    @Test func `a save that is due comes to its turn when the batch that saved is undone`()
        async throws
    {
        let database = try Database.inMemory()
        let editor = try editor(in: database)
        editor.title = "b"
        await eventually { clock.sleeping == 1 }
        #expect(throws: Whim.self) { try saveInVain(editor) }
        #expect(editor.needsSave)
        clock.advance(by: .seconds(2))
        await eventually { !editor.needsSave }
        #expect(try title(of: editor.id, in: database) == "b")
    }
}
