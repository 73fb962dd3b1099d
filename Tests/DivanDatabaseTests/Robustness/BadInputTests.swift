// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

@Suite struct BadInputTests {
    private let database: Database

    init() throws { database = try Database.inMemory() }

    @Test(arguments: [
        "", " ", "null", "1", "\"text\"", "[]", "[{}]", "true", "{", "{}{}", "{\"a\":}", "{a:1}",
        "{\"a\":NaN}", "{\"a\":01}", "{\"a\":\"\\ud800\"}",
    ])
    func `text that is no JSON object is no document`(json: String) {
        #expect(code { try MutableDocument(json: json) } == .invalidDocument)
        #expect(code { try MutableDocument().setJSON(json) } == .invalidDocument)
    }

    @Test(
        arguments: [
            [0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82],
        ] as [[UInt8]])
    func `text that is not UTF-8 is refused`(bytes: [UInt8]) {
        let json = Array(#"{"a":""#.utf8) + bytes + Array(#""}"#.utf8)
        #expect(code { try MutableDocument(json: json) } == .invalidDocument)
        let key = Array(#"{""#.utf8) + bytes + Array(#"":1}"#.utf8)
        #expect(code { try MutableDocument(json: key) } == .invalidDocument)
    }

    @Test func `the error of bad JSON tells where and shows no content`() {
        let error = #expect(throws: DatabaseError.self) {
            try MutableDocument(json: #"{"secret":swordfish}"#, id: "a")
        }
        #expect(error?.message.contains("10") == true)
        #expect(error?.message.contains("swordfish") == false)
        #expect(error?.documentID == "a")
    }

    @Test func `of a key given twice the last value counts`() throws {
        let document = try MutableDocument(json: #"{"a":1,"b":2,"a":3}"#, id: "a")
        #expect(try database.save(document).document.properties == ["a": 3, "b": 2])
    }

    @Test(arguments: [513, 1_000, 1_000_000]) func `a depth bomb is an error`(depth: Int) {
        let arrays = #"{"a":"# + String(repeating: "[", count: depth)
        #expect(code { try MutableDocument(json: arrays) } == .invalidDocument)
        let objects = String(repeating: #"{"a":"#, count: depth)
        #expect(code { try MutableDocument(json: objects) } == .invalidDocument)
        let closed = arrays + String(repeating: "]", count: depth) + "}"
        #expect(code { try MutableDocument(json: closed) } == .invalidDocument)
    }

    @Test func `nesting up to the limit works in text and in values`() throws {
        var value: JSONValue = []
        for _ in 0..<510 { value = [value] }
        // The object around it is level 512.
        let document = try database.create("a", ["a": value])
        #expect(document.properties == ["a": value])
        try database.save(MutableDocument(json: document.toJSON(), id: "b"))
        #expect(try database.existing("b").properties == ["a": value])
        let deeper = MutableDocument(["a": [value]], id: "c")
        #expect(code { try database.save(deeper) } == .invalidDocument)
        #expect(code { try database.put("c", ["a": [value]], parent: nil) } == .invalidDocument)
        #expect(try database.documentCount == 2)
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity])
    func `numbers that JSON lacks are refused as values and null when converted`(
        number: Double
    )
        throws
    {
        #expect(code { try database.create("a", ["n": .double(number)]) } == .invalidDocument)
        #expect(
            code { try database.create("a", ["n": [["x": .double(number)]]]) } == .invalidDocument)
        let document = MutableDocument(id: "a")
        document.setDouble(number, forKey: "n")
        #expect(try database.save(document).document["n"].isNull)
    }

    @Test func `a refused document stays as it was and can be put right`() throws {
        let document = MutableDocument(["n": .double(.nan)], id: "a")
        #expect(code { try database.save(document) } == .invalidDocument)
        #expect(document.hasUnsavedChanges)
        document["n"] = 1
        #expect(try database.save(document).document["n"].int == 1)
    }
}
