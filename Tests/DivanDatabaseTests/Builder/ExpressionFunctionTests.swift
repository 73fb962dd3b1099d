// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

/// What arithmetic and functions give, also for what they cannot take.
@Suite struct ExpressionFunctionTests {
    private func value(_ expression: QueryExpression) throws -> JSONValue? {
        let database = try Database.inMemory()
        try database.create("d", ["n": -7, "x": 2.5, "s": " Oslo ", "a": [1, 2], "z": .null])
        return try QueryBuilder.select(.expression(expression).as("v")).from(.database(database))
            .execute()[0]["v"].value
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
