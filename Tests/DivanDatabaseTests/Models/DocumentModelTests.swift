// SPDX-License-Identifier: Apache-2.0

import Divan
import FoundationEssentials
import Testing

/// Values of an app's own types as documents: identity, conflicts, relations.
@Suite struct DocumentModelTests {
    struct List: DocumentModel, Equatable {
        static let documentType: String? = "list"
        var identity = ModelIdentity()
        var name: String
    }

    struct Task: DocumentModel, Equatable {
        static let documentType: String? = "task"
        var identity = ModelIdentity()
        var title: String
        var due: Date?
        var list: ModelReference<List>?
        var helpers: [ModelReference<List>] = []
        var photo: Blob?
    }

    private let database: Database

    init() throws { database = try Database.inMemory() }

    // MARK: - Coming and going

    @Test func `a model is saved, read and saved again`() throws {
        var task = Task(title: "Learn Persian", due: Date(timeIntervalSince1970: 1_800_000_000))
        #expect(task.revisionID == nil)
        let document = try database.save(&task)
        #expect(document.id == task.id && document.revisionID == task.revisionID)
        #expect(document.generation == 1)
        let read = try #require(try database.model(Task.self, withID: task.id))
        #expect(read == task)
        task.title = "Learn Farsi"
        #expect(try database.save(&task).generation == 2)
        #expect(try database.model(Task.self, withID: task.id)?.title == "Learn Farsi")
        #expect(try database.model(Task.self, withID: "nobody") == nil)
    }

    @Test func `the identity is no property of the document, and the type is`() throws {
        var task = Task(identity: ModelIdentity(id: "task-1"), title: "x")
        try database.save(&task)
        let document = try database.existing("task-1")
        #expect(document.properties == ["title": "x", "helpers": [], "type": "task"])
    }

    @Test func `other coders keep the identity`() throws {
        var task = Task(title: "x")
        try database.save(&task)
        let coded = try JSONEncoder().encode(task)
        #expect(try JSONDecoder().decode(Task.self, from: coded) == task)
        // Also one that no save takes: an app may archive what is not saved yet.
        let draft = Task(identity: ModelIdentity(id: "_draft"), title: "x")
        #expect(
            try JSONDecoder().decode(Task.self, from: JSONEncoder().encode(draft)) == draft)
    }

    @Test func `a save over a newer revision is a conflict and changes nothing`() throws {
        var mine = Task(title: "x")
        try database.save(&mine)
        var theirs = mine
        theirs.title = "theirs"
        try database.save(&theirs)
        mine.title = "mine"
        let before = mine
        #expect(code { try database.save(&mine) } == .conflict)
        #expect(mine == before)
        #expect(try database.reload(&mine))
        #expect(mine == theirs)
        mine.title = "mine"
        try database.save(&mine)
        #expect(try database.existing(mine.id).generation == 3)
    }

    @Test func `a stale model is a conflict also when its revision was compacted away`() throws {
        var mine = Task(title: "x")
        try database.save(&mine)
        try database.update(mine.id) { $0["title"] = "theirs" }
        _ = try database.compact()
        #expect(code { try database.save(&mine) } == .conflict)
        try database.delete(mine.id)
        #expect(code { try database.save(&mine) } == .conflict)
    }

    @Test func `a new model whose ID exists is a conflict`() throws {
        try database.create("taken")
        var task = Task(identity: ModelIdentity(id: "taken"), title: "x")
        #expect(code { try database.save(&task) } == .conflict)
        #expect(task.revisionID == nil)
    }

    @Test func `update reads, edits and saves in one transaction`() async throws {
        var task = Task(title: "0")
        try database.save(&task)
        let id = task.id
        try await withThrowingTaskGroup { group in
            for _ in 0..<20 {
                group.addTask { [database] in
                    try database.update(Task.self, withID: id) { task in
                        task.title = String((Int(task.title) ?? 0) + 1)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try database.model(Task.self, withID: id)?.title == "20")
        #expect(try database.update(Task.self, withID: "nobody") { $0.title = "x" } == nil)
    }

    @Test func `several models are saved together or not at all`() throws {
        var tasks = [Task(title: "a"), Task(title: "b")]
        try database.save(&tasks)
        #expect(tasks.allSatisfy { $0.revisionID != nil })
        let before = tasks
        try database.update(tasks[1].id) { $0["title"] = "theirs" }
        tasks[0].title = "changed"
        let edited = tasks
        #expect(code { try database.save(&tasks) } == .conflict)
        #expect(tasks == edited)
        #expect(try database.existing(before[0].id).string(forKey: "title") == "a")
    }

    @Test func `what the type does not name is kept, and what it names goes with nil`() throws {
        var task = Task(title: "x", due: Date(timeIntervalSince1970: 0))
        try database.save(&task)
        let copy = try database.existing(task.id).toMutable()
        copy["colour"] = "red"
        copy.setAttachment(named: "note", contentType: "text/plain", .bytes([1, 2, 3]))
        try database.save(copy)
        try database.reload(&task)
        task.due = nil
        try database.save(&task)
        let document = try database.existing(task.id)
        #expect(document["colour"].string == "red")
        #expect(!document.contains("due"))
        #expect(try document.attachment(named: "note")?.content() == [1, 2, 3])
    }

    @Test func `deleting leaves a tombstone and the model can be saved anew`() throws {
        var task = Task(title: "x")
        #expect(try !database.delete(&task))
        try database.save(&task)
        var copy = task
        #expect(try database.delete(&task, keeping: ["by": "Ann"]))
        #expect(try database.model(Task.self, withID: task.id) == nil)
        #expect(try database.leafRevisions(of: task.id).first?["by"].string == "Ann")
        // A second deletion of the same model succeeds, too.
        #expect(try database.delete(&copy))
        #expect(try database.save(&task).generation == 3)
        var stale = task
        task.title = "y"
        try database.save(&task)
        #expect(code { try database.delete(&stale) } == .conflict)
    }

    @Test func `a stale model is refused and stays as it is`() throws {
        var task = Task(title: "x")
        try database.save(&task)
        var stale = task
        task.title = "y"
        #expect(try database.save(&task).generation == 2)
        #expect(code { try database.save(&stale) } == .conflict)
        #expect(code { try database.delete(&stale) } == .conflict)
        #expect(try database.delete(&task))
        #expect(try database.model(Task.self, withID: stale.id) == nil)
    }

    // MARK: - Relations and types

    @Test func `a reference is an ID in the document and loads when asked`() throws {
        var list = List(name: "Errands")
        var task = Task(title: "x", list: ModelReference(list), helpers: [ModelReference(list)])
        try database.save(&task)
        #expect(try task.list?.load(from: database) == nil)
        try database.save(&list)
        #expect(try task.list?.load(from: database) == list)
        let document = try database.existing(task.id)
        #expect(document["list"].string.map { DocumentID($0) } == list.id)
        #expect(document["helpers"].array?.count == 1)
        #expect(try database.model(Task.self, withID: task.id) == task)
    }

    @Test func `the other side of a relation is found`() throws {
        var lists = [List(name: "a"), List(name: "b")]
        try database.save(&lists)
        var tasks = [
            Task(title: "1", list: ModelReference(lists[0])),
            Task(title: "2", list: ModelReference(lists[1])),
            Task(title: "3", helpers: [ModelReference(lists[0])]),
        ]
        try database.save(&tasks)
        let byList = try database.models(Task.self, referringTo: lists[0], by: "list")
        #expect(byList.map(\.title) == ["1"])
        let byHelper = try database.models(Task.self, referringTo: lists[0], by: "helpers")
        #expect(byHelper.map(\.title) == ["3"])
        #expect(try database.models(Task.self) { $0.list != nil }.map(\.title) == ["1", "2"])
        #expect(try database.models(List.self).count == 2)
    }

    @Test func `documents of several types are told apart by what they say`() throws {
        var list = List(name: "a")
        var task = Task(title: "1")
        try database.save(&list)
        try database.save(&task)
        try database.create("other", ["type": "unknown"])
        let types = ModelTypes([List.self, Task.self])
        let found = try [list.id, task.id, "other"].map {
            try types.model(from: database.existing($0))
        }
        #expect(found[0] as? List == list)
        #expect(found[1] as? Task == task)
        #expect(found[2] == nil)
        #expect(code { try database.model(Task.self, withID: list.id) } == .invalidDocument)
    }

    @Test func `a document without the properties of its type is an error`() throws {
        try database.create("odd", ["type": "task", "title": 1])
        #expect(code { try database.model(Task.self, withID: "odd") } == .invalidDocument)
        struct Nameless: DocumentModel { var identity = ModelIdentity() }
        #expect(code { try database.models(Nameless.self) } == .invalidQuery)
    }

    // MARK: - Blobs, hooks, observation

    @Test func `a blob in a model is stored and read back`() throws {
        var task = Task(title: "x", photo: Blob(contentType: "image/png", [1, 2, 3]))
        try database.save(&task)
        var read = try #require(try database.model(Task.self, withID: task.id))
        #expect(try read.photo?.content() == [1, 2, 3])
        read.title = "y"
        try database.save(&read)
        #expect(try database.existing(task.id).blob(forKey: "photo")?.content() == [1, 2, 3])
        let plain = try MutableDocument(encoding: task, id: "plain")
        try database.save(plain)
        #expect(try database.existing("plain").decode(Task.self).photo?.content() == [1, 2, 3])
    }

    @Test func `hooks complete and refuse what is saved, and see what was read`() throws {
        struct Note: DocumentModel {
            var identity = ModelIdentity()
            var text: String
            var words = 0
            var wasLoaded = false
            enum CodingKeys: CodingKey { case identity, text, words }
            mutating func willSave() throws {
                if text.isEmpty { throw Whim() }
                words = text.split(separator: " ").count
            }
            mutating func didLoad() { wasLoaded = true }
        }
        var note = Note(text: "one two")
        try database.save(&note)
        #expect(note.words == 2 && !note.wasLoaded)
        let read = try #require(try database.model(Note.self, withID: note.id))
        #expect(read.words == 2 && read.wasLoaded && read.revisionID == note.revisionID)
        note.text = ""
        #expect(throws: Whim.self) { try database.save(&note) }
    }

    @Test func `a property that is migrated when it is read stays migrated once it is saved`()
        throws
    {
        struct Note: DocumentModel {
            var identity = ModelIdentity()
            var name: String?
            var title: String?
            mutating func didLoad() {
                guard let title else { return }
                name = title
                self.title = nil
            }
        }
        for id in ["saved", "updated", "edited"] as [DocumentID] {
            try database.create(id, ["title": "A", "other": 1])
        }
        var note = try #require(try database.model(Note.self, withID: "saved"))
        #expect(note.name == "A")
        note.name = "B"
        try database.save(&note)
        try database.update(Note.self, withID: "updated") { $0.name = "B" }
        let editor = try #require(try database.editor(Note.self, withID: "edited"))
        editor.name = "B"
        #expect(try editor.propertiesToSave() == ["name": "B", "other": 1])
        try editor.save()
        for id in ["saved", "updated", "edited"] as [DocumentID] {
            #expect(try database.existing(id).properties == ["name": "B", "other": 1])
            #expect(try database.model(Note.self, withID: id)?.name == "B")
        }
    }

    @Test func `a model inside another one is no document until it is saved as one`() throws {
        struct Order: DocumentModel {
            static let documentType: String? = "order"
            var identity = ModelIdentity()
            var customer: List
            var others: [List] = []
        }
        var order = Order(customer: List(name: "Ann"), others: [List(name: "Bob")])
        try database.save(&order)
        // What it is in the document does not tell it either, whatever stands there.
        try database.update(order.id) { $0["customer"]["identity"] = "none of ours" }
        var read = try #require(try database.model(Order.self, withID: order.id))
        #expect(read.id == order.id)
        #expect(Set([read.id, read.customer.id, read.others[0].id]).count == 3)
        #expect(read.customer.revisionID == nil)
        try database.save(&read.customer)
        #expect(try database.existing(order.id)["customer"]["name"].string == "Ann")
        #expect(
            try database.existing(read.customer.id).properties == ["name": "Ann", "type": "list"])
        try database.save(&read)
        #expect(try database.existing(order.id)["type"].string == "order")
    }

    @Test func `a live document shows what it is as a model`() throws {
        var task = Task(title: "x")
        try database.save(&task)
        let live = try database.liveDocument(withID: task.id)
        #expect(try live.model(Task.self) == task)
        task.title = "y"
        try database.save(&task)
        #expect(try live.model(Task.self) == task)
        try database.delete(&task)
        #expect(try live.model(Task.self) == nil)
    }
}
