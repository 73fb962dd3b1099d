// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import Testing

@Suite struct JSONPointerTests {
    private let document: JSONValue = [
        "foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "m~n": 8, " ": 7, "~1": 9, "o": ["0": 3],
    ]

    @Test(
        arguments: [
            ("/foo/0", "bar"), ("/foo/1", "baz"), ("/", 0), ("/a~1b", 1), ("/c%d", 2), ("/m~0n", 8),
            ("/ ", 7), ("/~01", 9), ("/o/0", 3), ("/foo", ["bar", "baz"]),
        ] as [(String, JSONValue)])
    func `pointers find values in both forms`(text: String, value: JSONValue) throws {
        let pointer = try #require(JSONPointer(text))
        #expect(pointer.description == text)
        #expect(document[pointer] == value)
        #expect(PackedValue(document)[pointer] == PackedValue(value))
    }

    @Test(arguments: [
        "/foo/2", "/foo/-", "/foo/00", "/foo/01", "/foo/+1", "/foo/ 1", "/foo/0/x", "/x", "/foo/",
    ])
    func `pointers to nothing find nothing`(text: String) throws {
        let pointer = try #require(JSONPointer(text))
        #expect(document[pointer] == nil)
        #expect(PackedValue(document)[pointer] == nil)
    }

    @Test func `the empty pointer is the whole value`() throws {
        #expect(document[try #require(JSONPointer(""))] == document)
    }

    @Test(arguments: ["foo", "/~", "/~2", "/a~/b"])
    func `malformed pointers are refused`(text: String) {
        #expect(JSONPointer(text) == nil)
    }
}
