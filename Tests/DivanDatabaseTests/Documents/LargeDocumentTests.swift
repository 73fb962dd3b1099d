// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

@Suite struct LargeDocumentTests {
    private let sandbox = Sandbox()
    private let database: Database

    init() throws { database = try sandbox.database() }

    @Test(arguments: [16_383, 16_384, 16_385, 262_143, 262_144, 262_145, 524_288, 1_000_003])
    func `bodies around the limits of rows and chunks are kept`(size: Int) throws {
        let text = String(repeating: "x", count: size - 8) + "the end."
        try database.create("a", ["t": .string(text)])
        #expect(try database.existing("a").string(forKey: "t") == text)
        try database.update("a") { $0["n"] = 1 }
        #expect(try database.existing("a").string(forKey: "t") == text)
        try database.compact()
        #expect(try database.problems() == [])
    }

    @Test func `a document of fifty megabytes works`() throws {
        // One long text and many short members, as JSON text.
        var json = Array(#"{"t":""#.utf8)
        json += Array(repeating: UInt8(ascii: "x"), count: 50_000_000)
        json += Array(#"","n":7}"#.utf8)
        let document = try MutableDocument(json: json, id: "a")
        try database.save(document)
        let read = try database.existing("a")
        #expect(read["n"].int == 7)
        #expect(read["t"].string?.utf8.count == 50_000_000)
        #expect(try database.changes().changes.count == 1)
        try database.delete("a")
        #expect(try database.compact().bodiesDeleted == 1)
        #expect(try database.problems() == [])
    }

    @Test func `a body over the limit is refused with its size`() throws {
        let small = try sandbox.database("small") { $0.maximumDocumentSize = 1_000 }
        let text = JSONValue.string(String(repeating: "x", count: 1_000))
        let error = #expect(throws: DatabaseError.self) { try small.create("a", ["t": text]) }
        #expect(error?.code == .invalidDocument)
        #expect(error?.message.contains("1000") == true)
        #expect(error?.documentID == "a")
        #expect(code { try small.put("a", ["t": text], parent: nil) } == .invalidDocument)
        #expect(
            code { try small.putExistingRevision("a", ["t": text], history: ["1-a"]) }
                == .invalidDocument)
        try small.create("a", ["t": .string(String(repeating: "x", count: 900))])
        #expect(try small.documentCount == 1)
    }

    @Test func `a document of many properties is found by each`() throws {
        var properties: JSONObject = [:]
        for number in 0..<5_000 { properties["key\(number)"] = .integer(Int64(number)) }
        let document = try database.create("a", properties)
        #expect(document.count == 5_000)
        for number in stride(from: 0, to: 5_000, by: 37) {
            #expect(document["key\(number)"].int == number)
        }
        #expect(!document["key5000"].exists)
    }
}
