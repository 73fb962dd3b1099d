// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanDatabase
import DivanTestSupport
import FoundationEssentials
import Testing

/// Writing where only reading makes sense: inside `read`, whose snapshot does not change.
@Suite struct WriteInsideReadTests {
    private struct Note: DocumentModel {
        static let documentType: String? = "note"
        var identity = ModelIdentity()
        var text: String
    }

    private typealias Verb = (name: String, run: () throws -> Void)

    private let sandbox = Sandbox()
    private let manager: Manager
    private let database: Database
    private let index: FullTextIndex
    private let view: DatabaseView

    init() throws {
        manager = try sandbox.manager()
        database = try manager.database(named: "db")
        let first = try database.create("a", ["n": 1])
        try database.create("conflicted", ["n": 0])
        try database.putExistingRevision("conflicted", ["n": 2], history: ["1-0"])
        try database.putExistingRevision("conflicted", ["n": 3], history: ["1-1"])
        try database.putLocalDocument("l", ["n": 1])
        try database.createIndex(PropertyIndex(on: "n"))
        index = database.fullTextIndex(named: "text", on: ["text"])
        _ = try index.search("word").run()
        view = database.view(named: "v")
        view.setMap(version: "1") { document, emit in emit(document["n"], nil) }
        try view.updateIndex()
        try database.save(first.toMutable())
    }

    // MARK: - The verbs

    private func verbs() throws -> [Verb] {
        try documentVerbs() + revisionVerbs() + liveVerbs() + modelVerbs() + indexVerbs()
            + databaseVerbs()
    }

    private func documentVerbs() throws -> [Verb] {
        let database = database
        let document = try database.existing("a")
        let attached = MutableDocument(id: "attached")
        attached.setAttachment(named: "x", contentType: nil, .bytes([1]))
        return [
            ("save new", { try database.save(MutableDocument()) }),
            ("save", { try database.save(document.toMutable(), .failOnConflict) }),
            ("save edited", { try database.save(Self.edited(document)) }),
            ("save attachment", { try database.save(attached) }),
            ("save asking", { _ = try database.save(Self.edited(document)) { _, _ in true } }),
            ("update", { try database.update("a") { $0["n"] = 2 } }),
            ("update nothing", { try database.update("a") { _ in } }),
            ("delete", { try database.delete("a") }),
            ("delete document", { try database.delete(document, .failOnConflict) }),
            ("purge", { try database.purge("a") }),
            ("purge document", { try database.purge(document) }),
            ("purge revisions", { try database.purge("a", revisions: ["1-a"]) }),
            ("put", { try database.put("b", [:], parent: nil) }),
            ("put local", { try database.putLocalDocument("l", [:]) }),
            ("delete local", { try database.deleteLocalDocument("l") }),
            ("expire at", { try database.setExpiration(of: "a", at: Date.distantFuture) }),
            ("expire after", { try database.setExpiration(of: "a", after: .seconds(1_000)) }),
            ("save blob", { _ = try database.saveBlob(Blob(contentType: nil, [1])) }),
            ("spool", { _ = try ContentSpool(for: database) }),
            ("write", { try database.write { _ in } }),
            ("batch", { try database.inBatch {} }),
        ]
    }

    private func revisionVerbs() throws -> [Verb] {
        let database = database
        let conflict = try #require(try database.conflict(of: "conflicted"))
        let revision = conflict.winner.revisionID
        return [
            ("put existing", { try database.putExistingRevision("b", [:], history: ["1-b"]) }),
            ("resolve", { try database.resolve(conflict, by: .keep(conflict.winner)) }),
            (
                "resolve keeping",
                { _ = try database.resolveConflicts(of: "conflicted", keeping: revision) }
            ),
            (
                "resolve one",
                { _ = try database.resolveConflicts(of: "conflicted", with: .keepWinner) }
            ),
            ("resolve all", { try database.resolveConflicts(with: .keepWinner) }),
        ]
    }

    private func liveVerbs() throws -> [Verb] {
        let live = try database["a"]
        let current = try #require(live.currentRevision)
        return [
            ("live put", { try live.putProperties(["n": 5]) }),
            ("live update", { let _: SavedRevision = try live.update { $0["n"] = 5 } }),
            (
                "live update or not",
                {
                    _ = try live.update { revision in
                        revision["n"] = 5
                        return true
                    }
                }
            ),
            ("live existing", { try live.putExistingRevision([:], history: ["1-c"]) }),
            ("live delete", { try live.delete() }),
            ("live purge", { try live.purge() }),
            ("live expire", { try live.setExpirationDate(.distantFuture) }),
            ("revision save", { try live.makeRevision().save() }),
            ("revision create", { try current.createRevision(with: ["n": 6]) }),
            ("revision delete", { try current.delete() }),
        ]
    }

    private func modelVerbs() throws -> [Verb] {
        let database = database
        var note = Note(text: "x")
        try database.save(&note)
        let saved = note
        let editor = try database.editor(of: saved)
        editor.text = "z"
        return [
            ("editor save", { try editor.save() }),
            ("save all models", { try database.saveAllModels() }),
            (
                "model save",
                {
                    var note = saved
                    try database.save(&note)
                }
            ),
            (
                "models save",
                {
                    var notes = [saved]
                    try database.save(&notes)
                }
            ),
            (
                "model update",
                { try database.update(Note.self, withID: saved.id) { $0.text = "y" } }
            ),
            (
                "model delete",
                {
                    var note = saved
                    try database.delete(&note)
                }
            ),
        ]
    }

    private func indexVerbs() throws -> [Verb] {
        let (database, index, view) = (database, index, view)
        let report = try #require(try database.indexReports().first)
        return [
            ("create index", { try database.createIndex(PropertyIndex(on: "m")) }),
            ("create index again", { try database.createIndex(PropertyIndex(on: "n")) }),
            ("delete index", { try database.deleteIndex(named: "n") }),
            ("delete report", { try database.deleteIndex(report) }),
            ("update indexes", { try database.updateIndexes() }),
            ("update text", { try index.updateIndex() }),
            ("delete text", { try index.deleteIndex() }),
            ("update view", { try view.updateIndex() }),
            ("delete view index", { try view.deleteIndex() }),
            ("delete view", { try view.delete() }),
        ]
    }

    private func databaseVerbs() -> [Verb] {
        let (database, manager) = (database, manager)
        return [
            ("depth", { try database.setRevisionBodyLimit(5) }),
            ("purge limit", { try database.setPurgeHistoryLimit(5) }),
            ("UUIDs", { try database.replaceUUIDs() }),
            ("purge expired", { try database.purgeExpired() }),
            ("compact", { try database.compact() }),
            ("maintain compact", { try database.performMaintenance(.compact) }),
            ("maintain reindex", { try database.performMaintenance(.reindex) }),
            ("change key", { try database.changeEncryptionKey(to: nil) }),
            ("delete database", { try database.delete() }),
            ("delete named", { try manager.deleteDatabase(named: "db") }),
        ]
    }

    private static func edited(_ document: Document) -> MutableDocument {
        let copy = document.toMutable()
        copy["n"] = 7
        return copy
    }

    // MARK: - Tests

    @Test func `every verb that writes is refused inside a read and works after it`() throws {
        let verbs = try verbs()
        let before = try state()
        try database.read { _ in
            for verb in verbs {
                let error = #expect(throws: DatabaseError.self, "\(verb.name)") { try verb.run() }
                #expect(error?.code == .readOnly, "\(verb.name): \(error?.message ?? "")")
                #expect(error?.message.contains("inside a read") == true, "\(verb.name)")
            }
        }
        #expect(try state() == before)
        #expect(try database.problems() == [])
        try database.create("after")
        #expect(try database.update("a") { $0["n"] = 9 }.generation == 2)
    }

    /// What none of the verbs may have changed.
    private func state() throws -> [String] {
        [
            "\(try database.changes())", "\(try database.indexReports())",
            "\(try database.localDocument("l") ?? [:])", database.publicUUID,
            "\(try database.expirationDate(of: "a") ?? .distantPast)",
            "\(try database.revisionBodyLimit) \(try database.purgeHistoryLimit)",
        ]
    }

    @Test func `two updates of a document inside a read end with an error`() throws {
        let error = #expect(throws: DatabaseError.self) {
            try database.read { _ in
                try database.update("a") { $0["n"] = 2 }
                try database.update("a") { $0["n"] = 3 }
            }
        }
        #expect(error?.code == .readOnly)
        #expect(try database.existing("a").generation == 1)
    }

    @Test func `what a read calls may not write, either`() throws {
        let database = database
        let write = { try database.update("a") { $0["n"] = 2 } }
        #expect(code { try database.forEachDocument { _ in _ = try write() } } == .readOnly)
        #expect(code { try database.forEachDocumentID { _ in _ = try write() } } == .readOnly)
        #expect(code { try database.inspect { _ in _ = try write() } } == .readOnly)
        #expect(code { try database.read { try $0.scan { _ in _ = try write() } } } == .readOnly)
        database.setFilter(named: "writing") { _, _ in
            _ = try database.update("a") { $0["n"] = 2 }
            return true
        }
        #expect(code { try database.changes(filter: "writing") } == .readOnly)
        #expect(try database.existing("a").generation == 1)
    }

    @Test func `a read inside a batch may write, and reads what it wrote`() throws {
        try database.inBatch {
            try database.read { transaction in
                try database.update("a") { $0["n"] = 2 }
                try database.update("a") { $0["n"] = 3 }
                #expect(try transaction.document(withID: "a")?["n"].int == 3)
            }
        }
        try database.write { transaction in
            try transaction.read { _ in _ = try database.update("a") { $0["n"] = 4 } }
        }
        #expect(try database.existing("a")["n"].int == 4)
        #expect(try database.existing("a").generation == 4)
    }

    @Test func `a read of one database may write another one, and other threads may write its own`()
        throws
    {
        let other = try manager.database(named: "other")
        let database = database
        try database.read { transaction in
            try other.save(MutableDocument(id: "copy"))
            _ = try Running { try database.update("a") { $0["n"] = 2 } }.value()
            #expect(try transaction.document(withID: "a")?["n"].int == 1)
        }
        #expect(try other.contains("copy"))
        #expect(try database.existing("a")["n"].int == 2)
    }

    @Test func `an edit that changes what it edits ends with a conflict`() throws {
        let database = try Database.inMemory()
        try database.create("a", ["n": 0])
        let bump = {
            let copy = try database.existing("a").toMutable()
            copy["n"] = Fragment(copy.int(forKey: "n") + 1)
            try database.save(copy)
        }
        let update = {
            try database.update("a") { document in
                try bump()
                document["n"] = -1
            }
        }
        #expect(code { try update() } == .conflict)
        let live = try database["a"]
        let edit = { (revision: inout UnsavedRevision) throws -> Void in
            try bump()
            revision["n"] = -1
        }
        #expect(code { try live.update(edit) as SavedRevision } == .conflict)
        #expect(try database.existing("a")["n"].int == 2_000)
    }
}
