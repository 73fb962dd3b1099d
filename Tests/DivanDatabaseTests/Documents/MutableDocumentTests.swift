// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import FoundationEssentials
import Testing

@Suite struct MutableDocumentTests {
    @Test func `a new document has an ID and neither revision nor properties`() {
        let document = MutableDocument()
        #expect(!document.id.text.isEmpty)
        #expect(document.revisionID == nil)
        #expect(document.sequence == 0)
        #expect(document.count == 0)
        #expect(document.hasUnsavedChanges)
    }

    @Test func `a document can be made from properties, JSON text or bytes`() throws {
        let expected: JSONObject = ["type": "task", "done": false]
        let text = #"{"type":"task","done":false}"#
        #expect(MutableDocument(expected).properties == expected)
        #expect(try MutableDocument(json: text).properties == expected)
        #expect(try MutableDocument(json: Array(text.utf8), id: "a").properties == expected)
        let more = Array(("[" + text + ",").utf8)
        let part = more.span.extracting(1..<more.count - 1)
        #expect(try MutableDocument(json: part, id: "a").properties == expected)
        #expect(try MutableDocument(json: text, id: "a").id == "a")
    }

    @Test func `edits do not touch the document they were made from`() throws {
        let database = try Database.inMemory()
        let document = try database.create("a", ["n": 1, "deep": ["x": 1]])
        let copy = document.toMutable()
        copy["n"] = 2
        copy["deep"]["x"] = 2
        #expect(document["n"].int == 1)
        #expect(document["deep"]["x"].int == 1)
        #expect(try database.existing("a")["n"].int == 1)
    }

    @Test func `an edit is seen by nobody else until it is saved`() throws {
        let database = try Database.inMemory()
        let copy = try database.create("a", ["n": 1]).toMutable()
        copy["n"] = 2
        #expect(copy.hasUnsavedChanges)
        #expect(try database.existing("a")["n"].int == 1)
        try database.save(copy)
        #expect(!copy.hasUnsavedChanges)
        #expect(try database.existing("a")["n"].int == 2)
    }

    @Test func `a saved document stands for its new revision and can be saved again`() throws {
        let database = try Database.inMemory()
        let document = MutableDocument(["n": 1], id: "a")
        let first = try database.save(document).document
        #expect(document.revisionID == first.revisionID)
        #expect(document.sequence == first.sequence)
        document["n"] = 2
        let second = try database.save(document, .failOnConflict)
        #expect(second.document.generation == 2)
        #expect(!second.overrode)
        #expect(document.sequence == 2)
    }

    @Test func `assigning nil removes a property and null keeps it`() {
        let document = MutableDocument(["a": 1, "b": 2, "c": 3])
        document["a"] = nil
        document["b"] = Fragment(JSONValue.null)
        document.removeValue(forKey: "c")
        document.removeValue(forKey: "never there")
        #expect(document.keys == ["b"])
        #expect(document.contains("b"))
        #expect(document["b"].isNull)
        #expect(!document.contains("a"))
    }

    @Test func `setProperties and setJSON replace everything`() throws {
        let document = MutableDocument(["a": 1])
        document.setProperties(["b": 2])
        #expect(document.properties == ["b": 2])
        try document.setJSON(#"{"c":3}"#)
        #expect(document.properties == ["c": 3])
        #expect(document.toJSON() == #"{"c":3}"#)
    }

    @Test func `JSON that is refused leaves the properties unchanged`() {
        let document = MutableDocument(["a": 1])
        #expect(code { try document.setJSON("[1]") } == .invalidDocument)
        #expect(code { try document.setJSON("{") } == .invalidDocument)
        #expect(document.properties == ["a": 1])
    }

    @Test func `typed setters store JSON`() {
        let document = MutableDocument()
        document.setString("text", forKey: "string")
        document.setInt(-1, forKey: "int")
        document.setInt64(.max, forKey: "int64")
        document.setDouble(0.5, forKey: "double")
        document.setFloat(0.25, forKey: "float")
        document.setBoolean(true, forKey: "boolean")
        document.setDate(Date(timeIntervalSince1970: 1_500_000_000.125), forKey: "date")
        document.setValue(["any": 1], forKey: "value")
        document.setArray([1, "two"], forKey: "array")
        document.setDictionary(["k": "v"], forKey: "dictionary")
        document.setString(nil, forKey: "nil")
        document.set([1, 2, 3], forKey: "ints")
        #expect(
            document.properties == [
                "string": "text", "int": -1, "int64": .integer(.max), "double": 0.5, "float": 0.25,
                "boolean": true, "date": "2017-07-14T02:40:00.125Z", "value": ["any": 1],
                "array": [1, "two"], "dictionary": ["k": "v"], "nil": nil, "ints": [1, 2, 3],
            ])
    }

    @Test func `generated IDs are UUIDs of version 7 in the order of making`() {
        let ids = (0..<10_000).map { _ in MutableDocument().id }
        #expect(Set(ids).count == ids.count)
        #expect(ids == ids.sorted())
        for id in ids.prefix(100) {
            let fields = id.text.split(separator: "-", omittingEmptySubsequences: false)
            #expect(fields.map(\.count) == [8, 4, 4, 4, 12])
            #expect(fields[2].first == "7")
            #expect(id.text.utf8.allSatisfy { "0123456789abcdef-".utf8.contains($0) })
        }
    }

    @Test func `generated IDs of many threads never meet`() throws {
        let count = Soak.count(test: 5_000, soak: 100_000)
        let work = (0..<8).map { _ in
            Running { (0..<count).map { _ in MutableDocument().id } }
        }
        let ids = try work.flatMap { try $0.value() ?? [] }
        #expect(Set(ids).count == 8 * count)
    }

    @Test func `edits of many threads are all kept`() throws {
        let document = MutableDocument()
        let work = (0..<4).map { thread in
            Running {
                for step in 0..<100 { document["\(thread)-\(step)"] = Fragment(step) }
            }
        }
        for one in work { _ = try one.value() }
        #expect(document.count == 400)
    }

    @Test func `an edit made while the document is being saved is not lost`() throws {
        let database = try Database.inMemory()
        let document = MutableDocument(id: "a")
        let isOver = Flag()
        let saver = Running {
            while !isOver.isSet { try database.save(document) }
        }
        for number in 0..<300 { document["\(number)"] = Fragment(number) }
        isOver.set()
        _ = try saver.value()
        try database.save(document)
        #expect(try database.existing("a").count == 300)
        #expect(!document.hasUnsavedChanges)
    }
}
