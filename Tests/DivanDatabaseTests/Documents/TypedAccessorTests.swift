// SPDX-License-Identifier: Apache-2.0

import Divan
import FoundationEssentials
import Testing

/// Every accessor on every type of value, in a saved document and in an edited one.
@Suite struct TypedAccessorTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var value: JSONValue
        var string: String?
        var int64: Int64 = 0
        var double = 0.0
        var bool = false
        var hasNumber = false
        var testDescription: String { "\(value)" }
    }

    static let rows: [Row] = [
        Row(value: nil),
        Row(value: true, int64: 1, double: 1, bool: true),
        Row(value: false),
        Row(value: 0, hasNumber: true),
        Row(value: 42, int64: 42, double: 42, bool: true, hasNumber: true),
        Row(value: -1, int64: -1, double: -1, bool: true, hasNumber: true),
        Row(
            value: .integer(.max), int64: .max, double: 0x1p63, bool: true, hasNumber: true),
        Row(value: .unsigned(.max), double: 0x1p64, bool: true, hasNumber: true),
        Row(value: 2.75, int64: 2, double: 2.75, bool: true, hasNumber: true),
        Row(value: -2.75, int64: -2, double: -2.75, bool: true, hasNumber: true),
        Row(value: 1e300, double: 1e300, bool: true, hasNumber: true),
        Row(value: "text", string: "text"),
        Row(value: "42", string: "42"),
        Row(value: "", string: ""),
        Row(value: [1]),
        Row(value: ["k": 1]),
    ]

    @Test(arguments: rows)
    func `an accessor gives the value or its default and never fails`(row: Row) throws {
        let mutable = MutableDocument(["key": row.value], id: "a")
        check(row, mutable)
        check(row, try Database.inMemory().save(mutable).document)
        check(row, mutable)
    }

    private func check(_ row: Row, _ document: some PropertyReader) {
        #expect(document.contains("key"))
        #expect(document.value(forKey: "key") == row.value)
        #expect(document.string(forKey: "key") == row.string)
        #expect(document.int64(forKey: "key") == row.int64)
        #expect(document.int(forKey: "key") == Int(row.int64))
        #expect(document.double(forKey: "key") == row.double)
        #expect(document.float(forKey: "key") == Float(row.double))
        #expect(document.bool(forKey: "key") == row.bool)
        #expect((document.number(forKey: "key") != nil) == row.hasNumber)
        #expect(document.date(forKey: "key") == nil)
        #expect(document.array(forKey: "key")?.values == row.value.array)
        #expect(document.dictionary(forKey: "key")?.properties == row.value.object)
    }

    @Test func `a missing property gives every default`() throws {
        let document = try Database.inMemory().create("a")
        #expect(!document.contains("key"))
        #expect(document.value(forKey: "key") == nil)
        #expect(document.string(forKey: "key") == nil)
        #expect(document.int(forKey: "key") == 0)
        #expect(document.double(forKey: "key") == 0)
        #expect(!document.bool(forKey: "key"))
        #expect(document.number(forKey: "key") == nil)
        #expect(document.date(forKey: "key") == nil)
        #expect(document.array(forKey: "key") == nil)
        #expect(document.dictionary(forKey: "key") == nil)
    }

    @Test func `a null property is contained`() throws {
        let document = try Database.inMemory().create("a", ["key": nil])
        #expect(document.contains("key"))
        #expect(document.string(forKey: "key") == nil)
    }

    @Test func `a number beyond double is a number that no integer accessor gives`() throws {
        let document = try Database.inMemory()
            .save(MutableDocument(json: #"{"n":1e400}"#)).document
        #expect(document.number(forKey: "n") == BigNumber("1e400").map { .number($0) })
        #expect(document.int64(forKey: "n") == 0)
    }

    @Test func `a date keeps its milliseconds`() throws {
        let date = Date(timeIntervalSince1970: 1_763_683_323.004)
        let document = MutableDocument(id: "a")
        document.setDate(date, forKey: "due")
        #expect(document["due"].string == "2025-11-21T00:02:03.004Z")
        let saved = try Database.inMemory().save(document).document
        let read = try #require(saved.date(forKey: "due"))
        #expect(abs(read.timeIntervalSince(date)) < 0.000_5)
    }

    @Test(arguments: [
        (Date.distantPast, "0000-12-30T00:00:00.000Z"),
        (Date.distantFuture, "4001-01-01T00:00:00.000Z"),
        (Date(timeIntervalSince1970: -62_167_219_200), "0000-01-01T00:00:00.000Z"),
    ])
    func `dates of the far past and future read back as they were`(date: Date, text: String) throws
    {
        let document = MutableDocument(id: "a")
        document.setDate(date, forKey: "d")
        #expect(document["d"].string == text)
        #expect(try Database.inMemory().save(document).document.date(forKey: "d") == date)
    }

    @Test(
        arguments: [
            (-1e300, "0000-01-01T00:00:00.000Z"), (-.infinity, "0000-01-01T00:00:00.000Z"),
            (1e300, "9999-12-31T23:59:59.999Z"), (.infinity, "9999-12-31T23:59:59.999Z"),
        ] as [(Double, String)])
    func `a date beyond four digits of a year is the nearest one`(seconds: Double, text: String) {
        #expect(Date(timeIntervalSince1970: seconds).jsonValue == .string(text))
    }

    @Test func `a date whose time is not a number is refused`() throws {
        let none = Date(timeIntervalSince1970: .nan)
        let document = MutableDocument(id: "a")
        document.setDate(none, forKey: "d")
        #expect(code { try Database.inMemory().save(document) } == .invalidDocument)
        #expect(throws: EncodingError.self) { try JSONValueEncoder().encode([none]) }
    }

    @Test(arguments: [
        ("2026-11-21T01:02:03Z", 1_795_222_923.0), ("2026-11-21T03:02:03+02:00", 1_795_222_923.0),
        ("2026-11-21T01:02:03.5-00:30", 1_795_224_723.5), ("1969-12-31T23:59:59.999Z", -0.001),
    ])
    func `a date is read with any offset`(text: String, seconds: Double) {
        let document = MutableDocument(["date": .string(text)])
        #expect(document.date(forKey: "date") == Date(timeIntervalSince1970: seconds))
    }

    @Test func `arrays and dictionaries read like documents`() throws {
        let document = try Database.inMemory().create(
            "a", ["address": ["zip": "1010", "floors": [1, 2, 3]]])
        let address = try #require(document.dictionary(forKey: "address"))
        #expect(address.string(forKey: "zip") == "1010")
        #expect(address.keys == ["floors", "zip"])
        #expect(address.count == 2)
        let floors = try #require(address.array(forKey: "floors"))
        #expect(floors.count == 3)
        #expect(floors.compactMap(\.int) == [1, 2, 3])
        #expect(!floors[3].exists)
        #expect(!floors[-1].exists)
    }
}
