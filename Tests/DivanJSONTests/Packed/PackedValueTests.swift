// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanTestSupport
import Testing

@Suite struct PackedValueTests {
    private static let person = #"""
        {"type":"person","name":"Ann Example","age":30,"email":"ann@example.com",
         "tags":["a","b","c"],"address":{"street":"1 Main Street","city":"York","zip":"12345"},
         "score":12.5,"big":18446744073709551615,"huge":1e999,"none":null,"ok":true}
        """#

    @Test func `properties are found without unpacking the rest`() throws {
        let body = try PackedValue(parsing: Self.person)
        #expect(body.kind == .object)
        #expect(body.count == 11)
        #expect(body["name"]?.string == "Ann Example")
        #expect(body["age"]?.int64 == 30)
        #expect(body["age"]?.double == 30)
        #expect(body["score"]?.double == 12.5)
        #expect(body["score"]?.int64 == nil)
        #expect(body["big"]?.unsigned == .max)
        #expect(body["big"]?.int64 == nil)
        #expect(body["huge"]?.bigNumber?.text == "1e999")
        #expect(body["none"]?.isNull == true)
        #expect(body["ok"]?.bool == true)
        #expect(body["tags"]?[2]?.string == "c")
        #expect(body["tags"]?[3] == nil)
        #expect(body["tags"]?[-1] == nil)
        #expect(body["address"]?["zip"]?.string == "12345")
        #expect(body["absent"] == nil)
        #expect(body["nam"] == nil)
        #expect(body["name"]?["x"] == nil)
        #expect(body[0] == nil)
    }

    @Test func `kinds are told apart`() throws {
        let kinds: [(String, PackedValue.Kind)] = [
            ("null", .null), ("false", .bool), ("63", .integer), ("64", .integer), ("-1", .integer),
            ("9223372036854775807", .integer), ("9223372036854775808", .unsigned), ("1.0", .double),
            ("0.1234567890123456", .double), ("1e999", .number), ("\"\"", .string), ("[]", .array),
            ("{}", .object),
        ]
        for (text, kind) in kinds { #expect(try PackedValue(parsing: text).kind == kind) }
    }

    @Test func `scans read properties of borrowed bytes`() throws {
        let bytes = try PackedValue(parsing: Self.person).bytes
        // A span may not be named inside of `#expect`: take the answers first.
        func int64(_ key: String) -> Int64? { PackedValue.int64(in: bytes.span, key: key) }
        func equals(_ key: String, _ text: String) -> Bool {
            PackedValue.equals(in: bytes.span, key: key, text)
        }
        #expect(int64("age") == 30)
        #expect(int64("type") == nil)
        #expect(int64("absent") == nil)
        #expect(equals("type", "person"))
        #expect(!equals("type", "persoN"))
        #expect(!equals("age", "30"))
        let score = PackedValue.double(in: bytes.span, key: "score")
        #expect(score == 12.5)
        let ok = PackedValue.bool(in: bytes.span, key: "ok")
        #expect(ok == true)
        var length = 0
        let hasEmail = PackedValue.withString(in: bytes.span, key: "email") { length = $0.count }
        #expect(hasEmail && length == 15)
        let hasAge = PackedValue.withString(in: bytes.span, key: "age") { _ in length = 0 }
        #expect(!hasAge && length == 15)
        let tags = PackedValue.value(in: bytes.span, key: "tags")
        #expect(tags?.jsonText == #"["a","b","c"]"#)
    }

    @Test func `keys are sorted by UTF-16 unit`() throws {
        let keys = [
            "\u{1F600}", "\u{E000}", "\u{FFFF}", "\u{10FFFF}", "\u{D7FF}", "b", "a\u{0}", "a", "",
        ]
        let object = JSONObject(keys.map { ($0, JSONValue.null) })
        let sorted = keys.sorted { $0.utf16.lexicographicallyPrecedes($1.utf16) }
        #expect(PackedValue(.object(object)).keys == sorted)
        let text = JSONWriter.string(.object(object))
        #expect(try PackedValue(parsing: text).keys == sorted)
    }

    @Test func `the form is the documented one`() throws {
        #expect(
            try PackedValue(parsing: #"{"name":"Ann","age":30}"#).bytes
                == [1, 0xC2, 14, 3] + Array("age".utf8) + [0x5E, 4] + Array("name".utf8) + [3]
                + Array("Ann".utf8))
        #expect(
            try PackedValue(parsing: "[-1,64,1.5,-0.0]").bytes
                == [1, 0xE4, 10, 0x98, 0, 0x90, 64, 0xA0, 21, 15, 0xA0, 0x96, 0])
    }

    @Test func `a nested value makes a root of its own`() throws {
        let address = try #require(try PackedValue(parsing: Self.person)["address"])
        #expect(PackedValue(bytes: address.bytes) == address)
        #expect(address.jsonText == #"{"city":"York","street":"1 Main Street","zip":"12345"}"#)
        #expect(PackedValue(address.jsonValue()).bytes == address.bytes)
        let copied = address.withBytes { PackedValue(copying: $0) }
        #expect(copied == address)
        try address.validate()
    }

    @Test(arguments: [0, 1, 14, 15, 16, 17, 32, 33, 100, 255, 256, 300, 5000, 30_000])
    func `containers of every size find their entries`(count: Int) throws {
        var object = JSONObject()
        for index in 0..<count { object["k\(index * 7919 % 100_003)"] = .integer(Int64(index)) }
        let array = JSONValue.array((0..<count).map { .integer(Int64($0)) })
        let objectText = JSONWriter.string(.object(object))
        let packed = try PackedValue(parsing: objectText)
        try packed.validate()
        #expect(packed == PackedValue(.object(object)))
        #expect(packed.count == count)
        #expect(packed.bytes.count <= max(objectText.utf8.count, 2))
        let elements = try PackedValue(parsing: JSONWriter.string(array))
        try elements.validate()
        #expect(elements == PackedValue(array))
        // The version byte and a head of two are more than `[0]` has to spare.
        #expect(elements.bytes.count <= max(JSONWriter.string(array).utf8.count, 4))
        for index in stride(from: 0, to: count, by: max(1, count / 500)) {
            #expect(packed["k\(index * 7919 % 100_003)"]?.int64 == Int64(index))
            #expect(elements[index]?.int64 == Int64(index))
        }
        #expect(packed["k-1"] == nil)
        #expect(elements[count] == nil)
    }

    @Test func `a person takes fewer bytes than its JSON`() throws {
        let text =
            #"{"type":"person","name":"Person Number 10000","age":47,"#
            + #""email":"person10000@example.com","tags":["red","green","blue"],"#
            + #""address":{"street":"12 Main Street","city":"Springfield","zip":"12345"},"bio":""#
            + String(repeating: "lorem ipsum ", count: 19) + "\"}"
        #expect(text.utf8.count > 420)
        let packed = try PackedValue(parsing: text)
        #expect(packed.bytes.count <= text.utf8.count * 395 / 427)
    }

    @Test func `large documents are packed`() throws {
        let row =
            #"{"id":12345,"name":"row with some text","values":[1.5,2.5,"x"],"sub":{"b":1,"a":2}}"#
        let text = "{\"rows\":[" + repeatElement(row, count: 20_000).joined(separator: ",") + "]}"
        let packed = try PackedValue(parsing: text)
        #expect(packed["rows"]?[19_999]?["sub"]?["a"]?.int64 == 2)
        #expect(packed.bytes.count < text.utf8.count)
        try packed.validate()
    }

    @Test func `deeply nested unsorted objects are packed in time`() throws {
        let deep =
            String(repeating: #"{"b":"#, count: 500) + "\"" + String(repeating: "x", count: 100_000)
            + "\"" + String(repeating: #","a":1}"#, count: 500)
        let packed = try PackedValue(parsing: deep)
        #expect(packed == PackedValue(try JSONParser.parse(deep)))
        try packed.validate()
    }

    @Test func `packing random values loses nothing`() throws {
        for round in Soak.rounds(test: 1000, soak: 200_000) {
            var random = Soak.random(round: round, salt: 13)
            let value = RandomJSON.value(depth: 5, using: &random)
            let packed = PackedValue(value)
            try packed.checkInvariants()
            #expect(packed.jsonValue() == value)
            let text = JSONWriter.string(value, pretty: random.oneIn(2))
            #expect(try JSONParser.parse(text) == value)
            #expect(try PackedValue(parsing: text) == packed)
            #expect(try PackedValue(parsing: packed.jsonText) == packed)
        }
    }
}
