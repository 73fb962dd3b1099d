// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import DivanCommand

@Suite struct JSONLayoutTests {
    private func indented(_ text: String, colored: Bool = false) -> String {
        String(
            decoding: JSONLayout.indented([UInt8](text.utf8).span, colored: colored), as: UTF8.self)
    }

    private func compact(_ text: String) -> String {
        String(decoding: JSONLayout.compact([UInt8](text.utf8).span), as: UTF8.self)
    }

    @Test func `properties and elements stand on lines of their own`() {
        #expect(
            indented(#"{"a":1,"b":[true,null],"c":{"d":"e"}}"#) == """
                {
                  "a": 1,
                  "b": [
                    true,
                    null
                  ],
                  "c": {
                    "d": "e"
                  }
                }
                """)
    }

    @Test func `empty containers stay closed`() {
        #expect(indented(#"{"a":{},"b":[ ]}"#) == "{\n  \"a\": {},\n  \"b\": []\n}")
        #expect(indented("{}") == "{}")
    }

    @Test func `structure inside strings is left alone`() {
        let text = #"{"a\"{":"[,]:\\"}"#
        #expect(compact(indented(text)) == text)
    }

    @Test func `compact undoes indented`() {
        let text = #"[1,-2.5e10,123456789012345678901234567890,"x",{"k":[[],{}]},false]"#
        #expect(compact(indented(text)) == text)
        #expect(compact(" [ 1 ,\n2 ] ") == "[1,2]")
    }

    @Test func `what a terminal would obey is escaped and all else is not`() {
        #expect(
            compact("[\"\u{7F}\u{9B}\u{2028}\u{202E}\u{2066}\"]")
                == #"["\u007f\u009b\u2028\u202e\u2066"]"#)
        let text = "[\"\u{E9}\u{A0}\u{2019}\u{2070}\u{4E2D}\u{1F600}\"]"
        #expect(compact(text) == text)
    }

    @Test func `keys, strings, numbers and literals have colours of their own`() {
        let text = indented(#"{"a":["b",1,true]}"#, colored: true)
        #expect(text.contains("\u{1B}[34m\"a\"\u{1B}[0m: ["))
        #expect(text.contains("\u{1B}[32m\"b\"\u{1B}[0m,"))
        #expect(text.contains("\u{1B}[36m1\u{1B}[0m,"))
        #expect(text.contains("\u{1B}[35mtrue\u{1B}[0m\n"))
    }

    @Test(arguments: ["", "{", "]]]]", "\"abc", "\"abc\\", "{\"a\"", "}{", "\u{0}", ":::,,,"])
    func `text that is not JSON is no trap`(_ text: String) {
        _ = indented(text, colored: true)
        _ = compact(text)
    }
}
