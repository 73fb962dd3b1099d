// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

/// Top-level keys that begin with an underscore belong to the database.
@Suite struct ReservedKeyTests {
    static let keys = [
        "_id", "_rev", "_deleted", "_removed", "_attachments", "_foo", "_", "_conflicts",
    ]

    private let database: Database

    init() throws { database = try Database.inMemory() }

    @Test(arguments: keys) func `save refuses a reserved key and names it`(key: String) throws {
        let error = #expect(throws: DatabaseError.self) {
            try database.save(MutableDocument([key: 1], id: "a"))
        }
        #expect(error?.code == .invalidDocument)
        #expect(error?.message.contains("'\(key)'") == true)
        #expect(error?.documentID == "a")
        #expect(try database.lastSequence == 0)
    }

    @Test(arguments: keys) func `an update refuses a reserved key`(key: String) throws {
        try database.create("a", ["n": 1])
        #expect(code { try database.update("a") { $0[key] = 1 } } == .invalidDocument)
        #expect(try database.existing("a").properties == ["n": 1])
    }

    @Test func `put and putExistingRevision refuse a reserved key`() throws {
        #expect(code { try database.put("a", ["_foo": 1], parent: nil) } == .invalidDocument)
        #expect(code { try database.put("a", ["_id": "a"], parent: nil) } == .invalidDocument)
        #expect(
            code { try database.putExistingRevision("a", ["_rev": "1-a"], history: ["1-a"]) }
                == .invalidDocument)
        #expect(try database.lastSequence == 0)
    }

    @Test func `a JSON text with a reserved key is refused`() throws {
        let document = try MutableDocument(json: #"{"a":1,"_rev":"1-a"}"#)
        #expect(code { try database.save(document) } == .invalidDocument)
    }

    @Test func `an underscore deeper down or inside a key is an ordinary one`() throws {
        let properties: JSONObject = [
            "deep": ["_id": 1], "list": [["_rev": 2]], "a_b": 3, "__proto": 4,
        ]
        let fine: JSONObject = ["deep": ["_id": 1], "list": [["_rev": 2]], "a_b": 3]
        #expect(code { try database.create("a", properties) } == .invalidDocument)
        #expect(try database.create("a", fine).properties == fine)
    }

    @Test func `a replicated revision keeps the stubs of its attachments through an edit`() throws {
        let entry: JSONValue = ["x": ["data": "aGVsbG8=", "revpos": 1]]
        try database.putExistingRevision("a", ["_attachments": entry, "n": 1], history: ["1-a"])
        let stubs = try #require(try database.existing("a").body["_attachments"]?.jsonValue())
        try database.update("a") { $0["n"] = 2 }
        #expect(try database.existing("a").properties == ["n": 2])
        #expect(try database.existing("a").body["_attachments"]?.jsonValue() == stubs)
    }
}
