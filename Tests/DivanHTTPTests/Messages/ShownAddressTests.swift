// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import Testing

/// How addresses that people have typed are shown: no password may be seen, wherever it stands.
@Suite struct ShownAddressTests {
    @Test(
        arguments: [
            ("http://example.com/notes", "http://example.com/notes"),
            ("http://ann:LEAK@h/db", "http://h/db"),
            ("HTTPS://ann:LEAK@h:6984/db", "HTTPS://h:6984/db"),
            ("http://ann:LEAK/ret@h/db", "http://h/db"), ("http://ann:12/LEAK@h/db", "http://h/db"),
            ("http://ann:p@LEAK/x@h/db", "http://h/db"), ("http://ann:LEAK%40h/db", "http://h/db"),
            ("http://ann:LEAK#@h/db", "http://…"), ("http://ann:LEAK?x@h/db", "http://…"),
            ("http://h/db?password=LEAK", "http://h/db"),
            ("http://h/db?password=x@LEAK", "http://…"),
            ("http://h/db#LEAK", "http://h/db"), ("http://h/a%40b", "http://h/a%40b"),
            ("http:/ann:LEAK@h/db", "h/db"), ("//ann:LEAK@h/db", "h/db"), ("ann:LEAK@h/db", "h/db"),
            ("http://ann:LEAK/\u{301}@h/db", "http://h/db"),
            ("ann:LEAK@http://h/db", "http://h/db"),
            ("http://\nann:LEAK@h", "http://h"), ("", ""), ("@", ""), ("notes", "notes"),
        ])
    func `an address is shown without what may be a password`(text: String, shown: String) {
        #expect(HTTPURL.shown(text) == shown)
    }

    @Test(
        arguments: [
            "http://ann:LEAK/ret@h/db", "http://ann:12/LEAK@h/db", "http://ann:p@LEAK/x@h/db",
            "http://ann:12#LEAK@h/db", "http://ann:12?LEAK@h/db",
        ])
    func `a URL whose password may stand behind the host is refused, without a word of it`(
        text: String
    ) {
        let failure = #expect(throws: HTTPURL.Failure.self) { try HTTPURL(typed: text) }
        #expect(failure?.description.contains("%2F") == true)
        #expect(failure?.description.contains("LEAK") == false)
    }

    @Test func `a URL whose password is encoded is read`() throws {
        let url = try HTTPURL(typed: "http://ann:p%2F%40@h/a%40b?c")
        #expect(url.user == HTTPURL.User(name: "ann", password: "p/@"))
        #expect(url.path == "/a%40b" && url.query == "c")
    }
}
