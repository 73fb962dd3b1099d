// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

@testable import DivanListener

@Suite struct ResponseHeaderTests {
    @Test func `header fields of the app stand in every answer`() throws {
        let site = try TestSite { options in
            options.responseHeaders = [
                "X-Frame-Options": "DENY", "Server": "mine", "X-Break": "a\r\nSet-Cookie: b",
            ]
        }
        _ = try site.manager.database(named: "db")
        for (method, path) in [
            ("GET", "/"), ("PUT", "/db/a"), ("GET", "/db/none"), ("PATCH", "/db"),
            ("OPTIONS", "/db"),
            ("GET", "/db/_changes"),
        ] {
            let answer = site.send(method, path, method == "PUT" ? "{}" : "")
            #expect(answer.headers["X-Frame-Options"] == "DENY", "\(method) \(path)")
            // What an answer has anyway stays.
            #expect(answer.headers["Server"] == Site.serverName)
            // A line break does not begin another field.
            #expect(answer.headers["X-Break"] == "a  Set-Cookie: b")
            #expect(answer.headers["Set-Cookie"] == nil)
        }
        let listener = Listener(site.manager, site.router.site.options)
        try listener.start()
        defer { listener.stop() }
        let client = try RawClient(port: try #require(listener.port))
        client.request("GET", "/db")
        #expect(client.answer()?.header.contains("X-Frame-Options: DENY\r\n") == true)
    }

    @Test(arguments: ["Content-Length", "transfer-encoding", "two words", ""])
    func `a field that would break answers is refused at the start`(name: String) throws {
        let site = try TestSite()
        var options = ListenerOptions()
        options.access = .everybodyOnLoopback
        options.responseHeaders = [name: "1"]
        let error = #expect(throws: DatabaseError.self) {
            try Listener(site.manager, options).start()
        }
        #expect(error?.code == .invalidName)
    }
}
