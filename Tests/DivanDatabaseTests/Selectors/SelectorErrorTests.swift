// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

/// A selector that makes no sense is refused with the operator and its place.
@Suite struct SelectorErrorTests {
    @Test(arguments: [
        (#"[]"#, "is no object"),
        (#"{"a":{"$foo":1}}"#, "'a.$foo' is unknown"),
        (#"{"$foo":1}"#, "'$foo'"),
        (#"{"$eq":1}"#, "'$eq' has no property"),
        (#"{"$or":{"a":1}}"#, "'$or' wants an array"),
        (#"{"$or":[1]}"#, "'$or[0]' wants an object"),
        (#"{"$or":[{"a":1},{"b":{"$in":2}}]}"#, "'$or[1].b.$in' wants an array"),
        (#"{"$not":[{"a":1}]}"#, "'$not' wants an object"),
        (#"{"a":{"$exists":1}}"#, "'a.$exists' wants true or false"),
        (#"{"a":{"$type":"integer"}}"#, "'a.$type' wants one of"),
        (#"{"a":{"$size":-1}}"#, "'a.$size' wants"),
        (#"{"a":{"$size":1.5}}"#, "'a.$size' wants"),
        (#"{"a":{"$mod":[0,1]}}"#, "'a.$mod' wants"),
        (#"{"a":{"$mod":[1.5,1]}}"#, "'a.$mod' wants"),
        (#"{"a":{"$regex":"(" }}"#, "'a.$regex' wants a regular expression"),
        (#"{"a":{"$regex":1}}"#, "'a.$regex' wants a string"),
        (#"{"a":{"$beginsWith":1}}"#, "'a.$beginsWith' wants a string"),
        (#"{"a":{"$elemMatch":1}}"#, "'a.$elemMatch' wants an object"),
        (#"{"a":{"$elemMatch":{"b":{"$nin":1}}}}"#, "'a.$elemMatch.b.$nin' wants an array"),
        (#"{"a":{"$where":"x"}}"#, "'a.$where' is unknown"),
        (#"{"":1}"#, "a name is empty"),
        (#"{"a..b":1}"#, "a dot with nothing"),
        (#"{"a.":1}"#, "a dot with nothing"),
    ])
    func `the message names the operator and where it stands`(_ row: (String, String)) throws {
        let json = try JSONParser.parse(row.0)
        let error = #expect(throws: DatabaseError.self) { try DocumentSelector(json: json) }
        #expect(error?.code == .invalidQuery)
        #expect(error?.message.contains(row.1) == true, "\(error?.message ?? "")")
    }

    @Test func `a selector nested too deep is refused`() throws {
        var json: JSONValue = ["a": 1]
        for _ in 0..<400 { json = ["$not": json] }
        #expect(throws: DatabaseError.self) { try DocumentSelector(json: json) }
    }
}
