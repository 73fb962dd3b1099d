// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

/// The examples of docs/data-modelling.md.
@Suite struct DataModelSamples {
    private let sample: Sample
    private var database: Database { sample.database }

    init() throws { sample = try Sample() }

    struct Contact: DocumentModel {
        struct Address: Codable, Equatable {
            var street: String
            var city: String
        }
        struct Phone: Codable, Equatable {
            var kind: String
            var number: String
        }

        static let documentType: String? = "contact"
        var identity = ModelIdentity()
        var name: String
        var address: Address?
        var phones: [Phone] = []
    }

    struct Task: DocumentModel {
        static let documentType: String? = "task"
        var identity = ModelIdentity()
        var title: String
        var contact: ModelReference<Contact>?
    }

    @Test func `an entity in one document is one read and one write`() throws {
        try database.save(
            MutableDocument(
                ["type": "contact", "name": "Ann", "street": "1 Main St", "city": "Riverside"],
                id: "contact-1"))
        try database.update("contact-1") { $0["city"] = "Seaside" }
        let contact = try #require(try database.document(withID: "contact-1"))
        #expect(contact.string(forKey: "city") == "Seaside")
        #expect(contact.string(forKey: "street") == "1 Main St")
    }

    @Test func `an embedded object is a value in its document`() throws {
        var contact = Contact(name: "Ann", address: .init(street: "1 Main St", city: "Riverside"))
        try database.save(&contact)
        let document = try #require(try database.document(withID: contact.id))
        #expect(document["address"]["city"].string == "Riverside")
        #expect(try document.model(Contact.self).address == contact.address)
    }

    @Test func `embedded arrays keep their order and are changed with their document`() throws {
        var contact = Contact(
            name: "Ann",
            phones: [.init(kind: "home", number: "555-1"), .init(kind: "work", number: "555-2")])
        try database.save(&contact)
        contact.phones.append(.init(kind: "boat", number: "555-3"))
        try database.save(&contact)
        let document = try #require(try database.document(withID: contact.id))
        #expect(document["phones"][2]["kind"].string == "boat")
        #expect(try document.model(Contact.self).phones == contact.phones)
    }

    @Test func `related documents are found by a view and by references`() throws {
        var contact = Contact(name: "Ann")
        try database.save(&contact)
        for title in ["Call back", "Send book"] {
            var task = Task(title: title, contact: ModelReference(contact))
            try database.save(&task)
        }
        let view = database.view(named: "tasksByContact")
        view.setMap(version: "1") { document, emit in
            if document["type"].string == "task" { emit(document["contact"], document["title"]) }
        }
        let rows = try view.query(.keys(.string(contact.id.text))).run()
        #expect(rows.compactMap(\.value?.string).sorted() == ["Call back", "Send book"])
        let tasks = try database.models(Task.self, referringTo: contact, by: "contact")
        #expect(tasks.count == 2)
        #expect(try tasks[0].contact?.load(from: database)?.name == "Ann")
    }

    @Test func `people who edit tasks do not conflict with those who edit the contact`() throws {
        let other = try sample.manager.database(named: "other")
        var contact = Contact(name: "Ann")
        var task = Task(title: "Call", contact: ModelReference(contact))
        for model in [try database.save(&contact), try database.save(&task)] {
            try other.putExistingRevision(
                model.id, model.properties, history: [model.revisionID])
        }
        // Here the task is edited, there the contact; then each gets the other's edit.
        let edited = try database.update(task.id) { $0["title"] = "Call back" }
        let renamed = try other.update(contact.id) { $0["name"] = "Anne" }
        try other.putExistingRevision(
            task.id, edited.properties, history: try database.revisionHistory(of: task.id))
        try database.putExistingRevision(
            contact.id, renamed.properties, history: try other.revisionHistory(of: contact.id))
        for database in [database, other] {
            #expect(try !database.hasConflicts())
            #expect(try database.document(withID: task.id)?["title"].string == "Call back")
            #expect(try database.document(withID: contact.id)?["name"].string == "Anne")
        }
    }

    @Test func `people who edit parts of one document do conflict`() throws {
        let other = try sample.manager.database(named: "other")
        let contact = try database.save(
            MutableDocument(["name": "Ann", "task": "Call"], id: "contact-1")
        ).document
        try other.putExistingRevision(
            contact.id, contact.properties, history: [contact.revisionID])
        try database.update(contact.id) { $0["task"] = "Call back" }
        let renamed = try other.update(contact.id) { $0["name"] = "Anne" }
        try database.putExistingRevision(
            contact.id, renamed.properties, history: try other.revisionHistory(of: contact.id))
        #expect(try database.hasConflicts())
    }
}
