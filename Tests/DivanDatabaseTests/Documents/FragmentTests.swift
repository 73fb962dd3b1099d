// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

@Suite struct FragmentTests {
    private let document: Document

    init() throws {
        document = try Database.inMemory().create(
            "a",
            [
                "address": ["zip": "1010", "geo": [48.2, 16.4]],
                "tags": ["red", ["deep": [true]]], "none": nil, "count": 3,
            ])
    }

    @Test func `subscripts chain through objects and arrays`() {
        #expect(document["address"]["zip"].string == "1010")
        #expect(document["address"]["geo"][1].double == 16.4)
        #expect(document["tags"][1]["deep"][0].bool == true)
    }

    @Test func `a step into nothing is absent however far it goes`() {
        #expect(!document["nowhere"]["deeper"][7]["still"].exists)
        #expect(!document["count"]["zip"].exists)
        #expect(!document["tags"][2].exists)
        #expect(!document["tags"][-1].exists)
        #expect(!document["address"][0].exists)
        #expect(document["nowhere"].value == nil)
    }

    @Test func `the wrong type is nil and null exists`() {
        #expect(document["address"].string == nil)
        #expect(document["count"].bool == nil)
        #expect(document["count"].array == nil)
        #expect(document["none"].exists)
        #expect(document["none"].isNull)
        #expect(!document["nowhere"].isNull)
    }

    @Test func `an integer may be read as a double but not the other way round`() {
        #expect(document["count"].int == 3)
        #expect(document["count"].int64 == 3)
        #expect(document["count"].double == 3)
        #expect(document["address"]["geo"][0].int == nil)
    }

    @Test func `count is that of elements or members`() {
        #expect(document["tags"].count == 2)
        #expect(document["address"].count == 2)
        #expect(document["count"].count == 0)
        #expect(document["nowhere"].count == 0)
    }

    @Test func `setting a member makes objects on the way`() {
        let copy = document.toMutable()
        copy["new"]["deep"]["er"] = 1
        copy["count"]["was a number"] = true
        copy["address"]["zip"] = "1020"
        #expect(copy["new"].object == ["deep": ["er": 1]])
        #expect(copy["count"].object == ["was a number": true])
        #expect(copy["address"]["zip"].string == "1020")
        #expect(copy["address"]["geo"][0].double == 48.2)
    }

    @Test func `setting an element replaces it and is ignored out of bounds`() {
        let copy = document.toMutable()
        copy["tags"][0] = "blue"
        copy["tags"][9] = "lost"
        copy["count"][0] = "lost"
        #expect(copy["tags"].array == ["blue", ["deep": [true]]])
        #expect(copy["count"].int == 3)
    }

    @Test func `setting nil removes a member and makes an element null`() {
        let copy = document.toMutable()
        copy["address"]["zip"] = nil
        copy["tags"][0] = nil
        #expect(!copy["address"]["zip"].exists)
        #expect(copy["tags"].count == 2)
        #expect(copy["tags"][0].isNull)
    }

    @Test func `fragments of equal values are equal`() {
        #expect(document["address"]["zip"] == "1010")
        #expect(document["count"] == 3)
        #expect(document["count"] != 3.0)
        #expect(document["nowhere"] == document["tags"][9])
        #expect(document["nowhere"] != document["none"])
    }

    @Test func `literals of every type make fragments`() {
        let copy = MutableDocument()
        copy["s"] = "text"
        copy["i"] = 1
        copy["d"] = 1.5
        copy["b"] = true
        copy["a"] = [1, "two", nil]
        copy["o"] = ["k": [1]]
        copy["n"] = nil
        #expect(
            copy.properties == [
                "s": "text", "i": 1, "d": 1.5, "b": true, "a": [1, "two", nil], "o": ["k": [1]],
            ])
    }
}
