// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

/// What arithmetic and functions give, also for what they cannot take.
@Suite struct ExpressionFunctionTests {
    private func value(_ expression: QueryExpression) throws -> JSONValue? {
        let database = try Database.inMemory()
        try database.create("d", ["n": -7, "x": 2.5, "s": " Oslo ", "a": [1, 2], "z": .null])
        return try QueryBuilder.select(.expression(expression).as("v")).from(.database(database))
            .run()[0]["v"].value
    }

    @Test func `arithmetic keeps integers while it can`() throws {
        let n = QueryExpression.property("n")
        #expect(try value(n.add(1)) == -6)
        #expect(try value(n.subtract(1)) == -8)
        #expect(try value(n.multiply(2)) == -14)
        #expect(try value(n.divide(2)) == -3.5)
        #expect(try value(n.modulo(4)) == -3)
        #expect(try value(n.divide(0)) == JSONValue.null)
        #expect(try value(n.modulo(0)) == JSONValue.null)
        #expect(try value(QueryExpression.int(.max).add(1)) == .double(0x1p63))
        #expect(try value(n.add("1")) == JSONValue.null)
        #expect(try value(n.add(.property("nothing"))) == nil)
        #expect(try value(n.add(.property("z"))) == JSONValue.null)
    }

    @Test func `functions of numbers`() throws {
        let x = QueryExpression.property("x")
        #expect(try value(Function.abs(.property("n"))) == 7)
        #expect(try value(Function.ceil(x)) == 3.0)
        #expect(try value(Function.floor(x)) == 2.0)
        #expect(try value(Function.round(x)) == 3.0)
        #expect(try value(Function.trunc(x)) == 2.0)
        #expect(try value(Function.sqrt(.int(9))) == 3.0)
        #expect(try value(Function.sqrt(.property("n"))) == JSONValue.null)
        #expect(try value(Function.sign(.property("n"))) == -1)
        #expect(try value(Function.abs(.property("s"))) == JSONValue.null)
    }

    @Test func `integers give integers, be they of more than 63 bits`() throws {
        func value(_ name: String, _ arguments: JSONValue...) throws -> JSONValue? {
            let database = try Database.inMemory()
            try database.create("d", [:])
            let json: JSONValue = ["WHAT": [["AS", .array([.string(name)] + arguments), "v"]]]
            return try SelectQuery(json: json, from: .database(database)).run()[0]["v"].value
        }
        let big = try JSONParser.parse("123456789012345678901234567890")
        for integer in [.unsigned(1 << 63), .unsigned(.max), big] {
            for name in ["ABS()", "CEIL()", "FLOOR()", "ROUND()", "TRUNC()"] {
                #expect(try value(name, integer) == integer, "\(name) \(integer)")
            }
            #expect(try value("ROUND()", integer, 2) == integer)
            #expect(try value("SIGN()", integer) == 1)
        }
        #expect(try value("ABS()", .integer(.min)) == .unsigned(1 << 63))
        #expect(
            try value("ABS()", JSONParser.parse("-9223372036854775809"))
                == .unsigned((1 << 63) + 1))
        #expect(try value("ABS()", JSONParser.parse("-123456789012345678901234567890")) == big)
        #expect(
            try value("SIGN()", JSONParser.parse("-123456789012345678901234567890")) == -1)
        #expect(try value("ABS()", JSONParser.parse("1e400")) == JSONValue.null)
        #expect(try value("%", .integer(.min), -1) == 0)
        #expect(try value("%", .unsigned(.max), 2) == 1)
        #expect(try value("-", .unsigned(.max), .unsigned(.max - 1)) == 1)
        #expect(try value("+", .unsigned(1 << 63), -1) == .integer(.max))
        #expect(try value("%", .unsigned(.max), 0) == JSONValue.null)
    }

    @Test func `numbers are rounded to decimal places`() throws {
        #expect(try value(Function.round(.double(2.345), digits: 1)) == 2.3)
        #expect(try value(Function.round(.double(-2.25), digits: 1)) == -2.3)
        #expect(try value(Function.round(.int(1_250), digits: -2)) == 1_300.0)
        #expect(try value(Function.trunc(.double(-2.39), digits: 1)) == -2.3)
        #expect(try value(Function.round(.int(.max), digits: 2)) == .integer(.max))
        #expect(try value(Function.round(.double(1e300), digits: 300)) == 1e300)
        #expect(try value(Function.round(.property("s"), digits: 1)) == JSONValue.null)
    }

    @Test func `functions of reals`() throws {
        func close(_ expression: QueryExpression, _ expected: Double) throws -> Bool {
            guard let result = try value(expression)?.double else { return false }
            return (result - expected).magnitude <= 1e-12
        }
        #expect(try value(Function.pi()) == .double(.pi))
        #expect(try close(Function.ln(Function.e()), 1))
        #expect(try close(Function.exp(.int(1)), 2.718281828459045))
        #expect(try close(Function.log(.int(1_000)), 3))
        #expect(try value(Function.power(.int(2), .int(10))) == 1_024.0)
        #expect(try close(Function.sin(Function.radians(.int(30))), 0.5))
        #expect(try close(Function.cos(Function.radians(.int(60))), 0.5))
        #expect(try close(Function.tan(Function.radians(.int(45))), 1))
        #expect(try close(Function.degrees(Function.asin(.int(1))), 90))
        #expect(try close(Function.degrees(Function.acos(.int(-1))), 180))
        #expect(try close(Function.degrees(Function.atan(.int(1))), 45))
        #expect(try close(Function.degrees(Function.atan2(.int(1), .int(-1))), 135))
    }

    @Test(arguments: [
        Function.ln(.int(0)), Function.log(.int(-1)), Function.acos(.int(2)),
        Function.power(.int(10), .int(400)), Function.exp(.int(1_000)), Function.sin("30"),
        Function.atan2(.int(1), .property("s")),
    ])
    func `what is no number, or has no finite result, is null`(_ expression: QueryExpression) throws
    {
        #expect(try value(expression) == JSONValue.null)
    }

    @Test func `functions of texts, arrays and dates`() throws {
        let s = QueryExpression.property("s")
        #expect(try value(Function.lower(s)) == " oslo ")
        #expect(try value(Function.upper(s)) == " OSLO ")
        #expect(try value(Function.trim(s)) == "Oslo")
        #expect(try value(Function.ltrim(s)) == "Oslo ")
        #expect(try value(Function.rtrim(s)) == " Oslo")
        #expect(try value(Function.length(s)) == 6)
        #expect(try value(Function.contains(s, "sl")) == true)
        #expect(try value(Function.contains(s, "xx")) == false)
        #expect(try value(Function.concat(s, "!")) == " Oslo !")
        #expect(try value(Function.arrayContains(.property("a"), 2.0)) == true)
        #expect(try value(Function.arrayLength(.property("a"))) == 2)
        #expect(try value(Function.arrayLength(s)) == JSONValue.null)
        #expect(try value(Function.millisToString(.int(0))) == "1970-01-01T00:00:00.000Z")
        #expect(try value(Function.stringToMillis("1970-01-01T00:00:01.000Z")) == 1_000)
        #expect(try value(Function.millisToUTC(.int(1))) == "1970-01-01T00:00:00.001Z")
        #expect(
            try value(Function.stringToUTC("1970-01-01T02:00:00+01:00"))
                == "1970-01-01T01:00:00.000Z")
        #expect(try value(Function.stringToUTC("yesterday")) == JSONValue.null)
        #expect(try value(Function.type(.property("a"))) == "array")
    }

    @Test func `logic has three values`() throws {
        let unknown = QueryExpression.property("z").equalTo(1)
        #expect(try value(unknown) == JSONValue.null)
        #expect(try value(unknown.and(false)) == false)
        #expect(try value(unknown.and(true)) == JSONValue.null)
        #expect(try value(unknown.or(true)) == true)
        #expect(try value(.not(unknown)) == JSONValue.null)
    }
}
