// SPDX-License-Identifier: Apache-2.0

import Divan
import FoundationEssentials
import Testing

@Suite struct CodableTests {
    struct Task: Codable, Equatable {
        enum Priority: String, Codable { case low, high }
        struct Step: Codable, Equatable {
            var text: String
            var done: Bool
        }

        var title: String
        var priority = Priority.low
        var due: Date?
        var steps: [Step] = []
        var counts: [String: Int] = [:]
        var extra: JSONValue = .null
    }

    private let task = Task(
        title: "Buy milk", priority: .high, due: Date(timeIntervalSince1970: 1_763_683_323.25),
        steps: [.init(text: "go", done: true)], counts: ["a": 1], extra: ["any": [1, nil]])

    @Test func `a value is saved and read back`() throws {
        let database = try Database.inMemory()
        let document = try MutableDocument(encoding: task, id: "a")
        try database.save(document)
        #expect(try database.existing("a").decode(Task.self) == task)
    }

    @Test func `a date is ISO-8601 text with milliseconds and read from any offset`() throws {
        let document = try MutableDocument(encoding: task)
        #expect(document["due"].string == "2025-11-21T00:02:03.250Z")
        let other = try Database.inMemory()
            .create("a", ["dates": ["2025-11-21T02:02:03.25+02:00", "2025-11-21T00:02:03.25Z"]])
        let dates = try other.decode([String: [Date]].self)["dates"]
        #expect(dates == [task.due, task.due].compactMap { $0 })
    }

    @Test func `a missing optional is left out and read as nil`() throws {
        let document = try MutableDocument(encoding: Task(title: "x"))
        #expect(!document.contains("due"))
        let saved = try Database.inMemory().save(document).document
        #expect(try saved.decode(Task.self).due == nil)
    }

    @Test func `properties that the type does not name are ignored`() throws {
        struct Title: Decodable { var title: String }
        let document = try Database.inMemory().create("a", ["title": "x", "more": [1]])
        #expect(try document.decode(Title.self).title == "x")
    }

    @Test func `a property that does not fit is an error with the cause`() throws {
        let document = try Database.inMemory().create("a", ["title": 1])
        let error = #expect(throws: DatabaseError.self) { try document.decode(Task.self) }
        #expect(error?.code == .invalidDocument)
        #expect(error?.documentID == "a")
        #expect(error?.underlying is DecodingError)
    }

    @Test func `text that is no date is an error`() throws {
        let document = try Database.inMemory().create("a", ["date": "yesterday"])
        #expect(code { try document.decode([String: Date].self) } == .invalidDocument)
    }

    @Test func `a value that is no object cannot be a document`() {
        #expect(code { try MutableDocument(encoding: [1, 2]) } == .invalidDocument)
        #expect(code { try MutableDocument(encoding: "text") } == .invalidDocument)
        #expect(code { try MutableDocument(encoding: Date()) } == .invalidDocument)
        #expect(code { try MutableDocument(encoding: ["n": Double.nan]) } == .invalidDocument)
    }

    @Test func `setProperties replaces all properties by those of a value`() throws {
        let document = MutableDocument(["old": 1])
        try document.setProperties(encoding: Task(title: "new"))
        #expect(!document.contains("old"))
        #expect(document["title"].string == "new")
        #expect(code { try document.setProperties(encoding: 1) } == .invalidDocument)
        #expect(document["title"].string == "new")
    }

    // MARK: - Types of Foundation

    private struct Order: Codable, Equatable {
        var url = URL(string: "https://example.org/a?b=c")
        var data = Data([0, 1, 255])
        var price = Decimal(string: "19.99")
        var id = UUID(uuidString: "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
        var all = [Data()]
    }

    @Test func `types of Foundation have the forms that other programs read`() throws {
        let document = try MutableDocument(encoding: Order())
        #expect(document["url"].string == "https://example.org/a?b=c")
        #expect(document["data"].string == "AAH/")
        #expect(document["price"].value == 19.99)
        #expect(document["id"].string == "E621E1F8-C36C-495A-93FC-0C247A3E6E5F")
        #expect(document["all"].array == [""])
        let saved = try Database.inMemory().save(document).document
        #expect(try saved.decode(Order.self) == Order())
        #expect(Data([1]).jsonValue == "AQ==")
    }

    @Test(
        arguments: [
            ("0", 0), ("-7", -7), ("19.99", 19.99), ("0.1", 0.1), ("-0.001", -0.001),
            ("18446744073709551615", .unsigned(.max)),
            ("0.1234567890123456789", "0.1234567890123456789"),
            ("12345678901234567890.5", "12345678901234567890.5"),
        ] as [(String, JSONValue)])
    func `a decimal keeps all its digits`(_ digits: String, _ json: JSONValue) throws {
        let decimal = try #require(Decimal(string: digits))
        #expect(try JSONValueEncoder().encode(decimal) == json)
        let text = JSONWriter.string(json)
        #expect(
            try JSONValueDecoder().decode(Decimal.self, from: JSONParser.parse(text)) == decimal)
    }

    @Test func `a decimal of more than 64 bits is a number, and one that is none is refused`()
        throws
    {
        let digits = "12345678901234567890123456789"
        let decimal = try #require(Decimal(string: digits))
        #expect(decimal.jsonValue == BigNumber(digits).map { .number($0) })
        #expect(Decimal(jsonValue: decimal.jsonValue) == decimal)
        #expect(throws: EncodingError.self) { try JSONValueEncoder().encode(Decimal.nan) }
        for value: JSONValue in ["12x", "", "Infinity", nil, [1], true, "1e400"] {
            #expect(Decimal(jsonValue: value) == nil, "\(value)")
        }
    }

    @Test func `the forms of Foundation that were written before are read`() throws {
        let old: JSONObject = [
            "url": ["base": ["relative": "https://example.org/"], "relative": "a?b=c"],
            "data": [0, 1, 255], "all": [[]],
            "price": [
                "exponent": -2, "length": 1, "isNegative": false, "isCompact": true,
                "mantissa": [1999, 0, 0, 0, 0, 0, 0, 0],
            ],
            "id": "e621e1f8-c36c-495a-93fc-0c247a3e6e5f",
        ]
        let order = try Database.inMemory().create("a", old).decode(Order.self)
        #expect(order.url?.absoluteString == Order().url?.absoluteString)
        #expect(order.data == Order().data && order.all == Order().all)
        #expect(order.price == Order().price && order.id == Order().id)
    }

    @Test func `what is no URL and no Base64 is refused`() throws {
        let document = try Database.inMemory().create("a", ["u": "", "d": "%", "e": [256]])
        #expect(code { try document.decode([String: URL].self) } == .invalidDocument)
        #expect(Data(jsonValue: "%") == nil)
        #expect(Data(jsonValue: [256]) == nil)
        #expect(Data(jsonValue: 1) == nil)
        #expect(URL(jsonValue: 1) == nil)
    }

    @Test func `a type may have a JSON value of its own`() throws {
        let document = try MutableDocument(encoding: ["p": Point(x: 1, y: 2)])
        #expect(document["p"].array == [1, 2])
        let saved = try Database.inMemory().save(document).document
        #expect(try saved.decode([String: Point].self) == ["p": Point(x: 1, y: 2)])
    }
}

private struct Point: JSONCodable, Equatable {
    var x: Int
    var y: Int

    init(x: Int, y: Int) {
        self.x = x
        self.y = y
    }

    init?(jsonValue: JSONValue) {
        guard let x = jsonValue[0]?.int64, let y = jsonValue[1]?.int64 else { return nil }
        self.init(x: Int(x), y: Int(y))
    }

    var jsonValue: JSONValue { [.integer(Int64(x)), .integer(Int64(y))] }
}
