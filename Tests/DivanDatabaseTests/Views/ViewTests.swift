// SPDX-License-Identifier: Apache-2.0

@testable import DivanDatabase
import DivanJSON
internal import DivanModel
import DivanQuery
import DivanStorage
import DivanTestSupport
import Testing

@Suite struct ViewTests {
    private let database: Database
    private let phones: DatabaseView
    private let calls = Counter()

    init() throws {
        database = try Database.inMemory()
        phones = database.view(named: "phones")
    }

    /// The phone book of the guide: one row a phone.
    @discardableResult
    private func setMap(version: String = "1", reduce: Reduce? = nil) -> Bool {
        phones.setMap(version: version, reduce: reduce) { [calls] document, emit in
            calls.add()
            for phone in document["phones"].array ?? [] { emit(phone, document["name"]) }
        }
    }

    private func fill() throws {
        try database.create("ann", ["name": "Ann", "phones": ["1", "2"]])
        try database.create("bob", ["name": "Bob", "phones": ["3"]])
        try database.create("cat", ["name": "Cat"])
    }

    @Test func `a document emits no row, one or many`() throws {
        setMap()
        try fill()
        let rows = try phones.query().run()
        #expect(rows.map(\.key) == ["1", "2", "3"])
        #expect(rows.map(\.value) == ["Ann", "Ann", "Bob"])
        #expect(rows.map(\.documentID) == ["ann", "ann", "bob"])
        #expect(rows.totalRows == 3)
    }

    @Test func `a view of a name is one object`() throws {
        #expect(database.view(named: "phones") === phones)
        #expect(try database.existingView(named: "nothing") == nil)
        #expect(try database.existingView(named: "phones") == nil)
        setMap()
        #expect(try database.existingView(named: "phones") === phones)
        #expect(try database.viewNames() == [])
        _ = try phones.query().run()
        #expect(try database.viewNames() == ["phones"])
    }

    @Test func `a query of a view without a map function is an error`() throws {
        let error = #expect(throws: DatabaseError.self) { try phones.query().run() }
        #expect(error?.code == .invalidQuery)
        #expect(error?.message.contains("'phones'") == true)
    }

    @Test func `only documents that changed are mapped again`() throws {
        setMap()
        try fill()
        #expect(calls.take() == 0)
        _ = try phones.query().run()
        #expect(calls.take() == 3)
        _ = try phones.query().run()
        #expect(calls.take() == 0)
        try database.update("bob") { $0["phones"] = ["4"] }
        #expect(try phones.query().run().map(\.key) == ["1", "2", "4"])
        #expect(calls.take() == 1)
    }

    @Test func `a deleted document has no rows`() throws {
        setMap()
        try fill()
        _ = try phones.query().run()
        try database.delete("ann")
        #expect(try phones.query().run().map(\.key) == ["3"])
    }

    @Test func `a purged document has no rows, and one created again has its own`() throws {
        setMap()
        try fill()
        _ = try phones.query().run()
        try database.purge("ann")
        try database.purge("bob")
        try database.create("bob", ["name": "Bob", "phones": ["9"]])
        #expect(try phones.query().run().map(\.key) == ["9"])
    }

    @Test func `another view's older purges take no rows away`() throws {
        setMap()
        let other = database.view(named: "other")
        other.setMap(version: "1") { document, emit in emit(document.id) }
        try fill()
        _ = try other.query().run()
        phones.collation = .raw
        try database.purge("bob")
        try database.create("bob", ["name": "Bob", "phones": ["9"]])
        setMap(version: "2")
        #expect(try phones.query().run().map(\.key) == ["1", "2", "9"])
        #expect(try other.query().run().map(\.key) == ["ann", "bob", "cat"])
    }

    @Test func `another version builds the index anew and the same one keeps it`() throws {
        #expect(setMap())
        try fill()
        _ = try phones.query().run()
        _ = calls.take()
        #expect(!setMap())
        _ = try phones.query().run()
        #expect(calls.take() == 0)
        #expect(setMap(version: "2"))
        _ = try phones.query().run()
        #expect(calls.take() == 3)
        phones.setMap(version: "3") { document, emit in emit(document["name"], nil) }
        #expect(try phones.query().run().map(\.key) == ["Ann", "Bob", "Cat"])
    }

    @Test func `an index survives closing and needs its map function again`() throws {
        let sandbox = Sandbox()
        let first = try sandbox.database()
        let view = first.view(named: "names")
        view.setMap(version: "1") { document, emit in emit(document["name"]) }
        try first.create("a", ["name": "Ann"])
        #expect(try view.query().run().count == 1)
        first.close()
        let second = try sandbox.database()
        let again = try #require(try second.existingView(named: "names"))
        #expect(throws: DatabaseError.self) { try again.query().run() }
        again.setMap(version: "1") { [calls] document, emit in
            calls.add()
            emit(document["name"])
        }
        #expect(try again.query().run().map(\.key) == ["Ann"])
        #expect(calls.take() == 0)
        second.close()
    }

    @Test func `a change of the collation or the document type builds the index anew`() throws {
        let view = database.view(named: "names")
        view.setMap(version: "1") { document, emit in emit(document["name"]) }
        for name: DocumentID in ["b", "A", "a"] {
            try database.create(name, ["name": .string(name.text), "type": "letter"])
        }
        try database.create("x", ["name": "x"])
        #expect(try view.query().run().map(\.key) == ["a", "A", "b", "x"])
        view.collation = .raw
        #expect(try view.query().run().map(\.key) == ["A", "a", "b", "x"])
        view.documentType = "letter"
        #expect(try view.query().run().map(\.key) == ["A", "a", "b"])
    }

    @Test func `design documents are not mapped`() throws {
        setMap()
        try database.create("_design/app", ["phones": ["1"]])
        #expect(try phones.query().run().isEmpty)
    }

    @Test func `the winner of a conflict is mapped, also after it changed`() throws {
        let view = database.view(named: "n")
        view.setMap(version: "1") { document, emit in emit(document["n"]) }
        try database.putExistingRevision("a", ["n": 1], history: ["1-b"])
        try database.putExistingRevision("a", ["n": 2], history: ["1-a"])
        #expect(try view.query().run().map(\.key) == [1])
        try database.putExistingRevision("a", ["n": 3], history: ["1-c"])
        #expect(try view.query().run().map(\.key) == [3])
        _ = try database.put("a", [:], parent: "1-c", options: .tombstone)
        #expect(try view.query().run().map(\.key) == [1])
        try database.purge("a", revisions: ["1-b"])
        #expect(try view.query().run().map(\.key) == [2])
    }

    @Test func `a document whose map fails is skipped and reported, and the rest indexed`() throws {
        struct Refusal: Error, CustomStringConvertible { let description = "no name" }
        let view = database.view(named: "names")
        view.setMap(version: "1") { document, emit in
            guard document["name"].exists else { throw Refusal() }
            emit(document["name"])
        }
        try fill()
        try database.create("nameless")
        #expect(try view.query().run().map(\.key) == ["Ann", "Bob", "Cat"])
        #expect(view.failures == [IndexingFailure(documentID: "nameless", reason: "no name")])
    }

    @Test(arguments: [
        "nan", "infinity", "nested nan", "key too large", "value too large", "key too deep",
    ])
    func `an emission over the limits skips its document`(_ kind: String) throws {
        let view = database.view(named: "v")
        view.setMap(version: "1") { document, emit in
            emit("kept")
            guard document.id == "bad" else { return }
            switch kind {
            case "nan": emit(Double.nan)
            case "infinity": emit(1, Double.infinity)
            case "nested nan": emit(JSONValue.array([.double(.nan)]))
            case "key too large": emit(String(repeating: "x", count: 2 << 20))
            case "value too large": emit(1, String(repeating: "x", count: 9 << 20))
            default: emit((0..<600).reduce(JSONValue.null) { value, _ in .array([value]) })
            }
        }
        try database.create("bad")
        try database.create("good")
        #expect(try view.query().run().map(\.documentID) == ["good"])
        #expect(view.failures.map(\.documentID) == ["bad"])
    }

    @Test func `a key of nearly a megabyte and ten thousand emissions of a document work`() throws {
        let view = database.view(named: "v")
        view.setMap(version: "1") { document, emit in
            for number in 0..<10_000 { emit(number) }
            emit(String(repeating: "x", count: 300_000), true)
        }
        try database.create("a")
        let rows = try view.query().run()
        #expect(rows.count == 10_001)
        #expect(rows.last?.value == true)
        try database.delete("a")
        #expect(try view.query().run().isEmpty)
    }

    @Test func `a row may point to another document`() throws {
        let view = database.view(named: "links")
        view.setMap(version: "1") { document, emit in
            if let target = document["for"].string { emit(target, ["_id": target]) }
        }
        try database.create("boss", ["name": "Ann"])
        try database.create("note", ["for": "boss"])
        let row = try #require(try view.query().run().first)
        #expect(row.documentID == "boss")
        #expect(row.sourceDocumentID == "note")
        #expect(try row.document()?["name"].string == "Ann")
        var query = view.query()
        query.includeDocuments = true
        #expect(try query.run().first?.includedDocument?.id == "boss")
    }

    @Test func `a map function that changes the database gets an error`() throws {
        let database = database
        let view = database.view(named: "v")
        view.setMap(version: "1") { document, emit in
            try database.create("made by \(document.id)")
        }
        try database.create("a")
        #expect(try view.query().run().isEmpty)
        #expect(view.failures.first?.reason.contains("may only read") == true)
        #expect(try database.documentCount == 1)
    }

    @Test func `a query in a batch sees the batch's writes, and they go with it`() throws {
        setMap()
        try fill()
        _ = try phones.query().run()
        struct Undo: Error {}
        #expect(throws: Undo.self) {
            try database.inBatch {
                try database.create("dan", ["name": "Dan", "phones": ["7"]])
                #expect(try phones.query().run().map(\.key) == ["1", "2", "3", "7"])
                throw Undo()
            }
        }
        #expect(try phones.query().run().map(\.key) == ["1", "2", "3"])
        try database.inBatch {
            try database.delete("ann")
            #expect(try phones.query().run().map(\.key) == ["3"])
        }
        #expect(try phones.query().run().map(\.key) == ["3"])
    }

    @Test func `a view knows how far its index is`() throws {
        setMap()
        #expect(try phones.isStale)
        #expect(try phones.lastSequenceIndexed == 0)
        try fill()
        #expect(try phones.totalRows == 3)
        #expect(try phones.lastSequenceIndexed == 3)
        #expect(try !phones.isStale)
        try database.purge("cat")
        #expect(try phones.isStale)
        try database.create("dan", ["name": "Dan", "phones": ["4"]])
        // What takes the reports may stop the work by throwing.
        #expect(throws: Whim.self) { try phones.updateIndex { _ in throw Whim() } }
        #expect(try phones.isStale)
        let phases = Record<String>()
        try phones.updateIndex { phases.append($0.phase) }
        #expect(try !phones.isStale)
        #expect(try phones.totalRows == 4)
        #expect(Set(phases.all) == ["indexing"])
    }

    @Test func `a deleted index is built again and a deleted view is not`() throws {
        setMap()
        try fill()
        _ = try phones.query().run()
        try phones.deleteIndex()
        #expect(try database.viewNames() == [])
        #expect(try phones.query().run().count == 3)
        try phones.delete()
        #expect(try database.viewNames() == [])
        #expect(throws: DatabaseError.self) { try phones.query().run() }
        #expect(database.view(named: "phones") !== phones)
    }

    @Test func `all outdated views are brought up in one pass`() throws {
        let other = database.view(named: "other")
        other.setMap(version: "1") { document, emit in emit(document.id) }
        setMap()
        try fill()
        _ = try phones.query().run()
        #expect(try !other.isStale)
    }

    @Test func `a query of an index that is up to date leaves the others alone`() throws {
        setMap()
        try fill()
        #expect(try phones.query().run().count == 3)
        let other = database.view(named: "other")
        other.setMap(version: "1") { document, emit in emit(document["name"], nil) }
        #expect(try phones.query().run().count == 3)
        #expect(try other.isStale)
        // An outdated one takes along the others.
        try database.create("dan", ["name": "Dan", "phones": ["4"]])
        #expect(try phones.query().run().count == 4)
        #expect(try !other.isStale)
    }

    @Test func `an index that somebody else built anew is found again`() throws {
        let sandbox = Sandbox()
        let (one, other) = (try sandbox.database(), try sandbox.database())
        try one.create("a", ["n": 1])
        let views = [one, other].map { database in
            let view = database.view(named: "numbers")
            view.setMap(version: "1") { document, emit in emit(document["n"], nil) }
            return view
        }
        #expect(try views.map { try $0.query().run().map(\.key) } == [[1], [1]])
        try views[1].deleteIndex()
        #expect(try views[0].query().run().map(\.key) == [1])
        try other.create("b", ["n": 2])
        #expect(try views[1].query().run().map(\.key) == [1, 2])
        views[0].setMap(version: "2") { document, emit in emit(document["n"].int, "two") }
        #expect(try views[0].query().run().map(\.value) == ["two", "two"])
    }

    @Test func `a damaged index is built anew`() throws {
        let view = database.view(named: "v")
        view.setMap(version: "1") { document, emit in emit(document["n"]) }
        for number in 0..<50 { try database.create("d\(number)", ["n": .integer(Int64(number))]) }
        _ = try view.query().run()
        try database.core.write { context in
            let (writer, _) = try context.transaction()
            try writer.removeAll(in: database.core.engine.store(StoreName("index/1/rows", .bytes)))
        }
        try database.update("d7") { $0["n"] = 1_000 }
        let rows = try view.query().run()
        #expect(rows.count == 50)
        #expect(rows.last?.documentID == "d7")
    }

    @Test func `a damaged index of another view is built anew, and a sound one stays`() throws {
        let views = ["sound", "damaged"].map { name in
            let view = database.view(named: name)
            view.setMap(version: "1") { document, emit in emit(document["n"]) }
            return view
        }
        for number in 0..<50 { try database.create("d\(number)", ["n": .integer(Int64(number))]) }
        for view in views { #expect(try view.query().run().count == 50) }
        func number(_ name: String) throws -> UInt64? {
            try database.core.read { try $0.indexRecord(IndexName(.view, name))?.number }
        }
        let (sound, damaged) = (
            try #require(try number("sound")), try #require(try number("damaged"))
        )
        try database.core.write { context in
            let (writer, _) = try context.transaction()
            let store = StoreName("index/\(damaged)/rows", .bytes)
            try writer.removeAll(in: database.core.engine.store(store))
        }
        try database.update("d7") { $0["n"] = 1_000 }
        #expect(try views[0].query().run().last?.documentID == "d7")
        #expect(try number("sound") == sound)
        #expect(try number("damaged") != damaged)
        #expect(try views[1].query().run().count == 50)
        #expect(try database.verify().isEmpty)
    }
}
