// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanJSON
import DivanTestSupport
import Testing

@Suite struct JSONOutlineTests {
    private func outline(_ text: String) -> JSONOutline {
        JSONOutline(Array(text.utf8), of: ["_id", "_rev"])
    }

    @Test func `an object that cannot be parsed says whose it is`() {
        let deep = String(repeating: "[", count: 600) + String(repeating: "]", count: 600)
        let found = outline(#"{"_id":"a","deep":\#(deep),"x":"\ud800","_rev":"1-x","n":tru}"#)
        #expect(found["_id"] == "a" && found["_rev"] == "1-x" && found.isWhole)
    }

    @Test func `of a text that breaks off there is what stands before`() {
        let found = outline(#"{"_id":"a","_rev":"1-x","n":[1,2"#)
        #expect(found["_id"] == "a" && found["_rev"] == "1-x" && !found.isWhole)
    }

    @Test(arguments: ["", "[1]", "7", "<html>", "{", "{,}", "{\"_id\":\"\\ud800\"}"])
    func `what is no object, or no JSON, has no members`(text: String) {
        #expect(outline(text)["_id"] == nil)
    }

    @Test func `any bytes are looked through`() {
        for round in Soak.rounds(test: 300, soak: 20_000) {
            var random = Soak.random(round: round)
            let bytes = (0..<random.below(80)).map { _ in
                random.element(of: Array("\"{}[],:\\x1_id".utf8))
            }
            #expect(JSONOutline(bytes, of: ["_id"])["nothing"] == nil)
        }
    }
}
