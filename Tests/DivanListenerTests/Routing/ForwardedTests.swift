// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import Testing

@testable import DivanListener

/// Where an answer says that something is, behind a proxy.
@Suite struct ForwardedTests {
    private let site: TestSite

    init() throws {
        site = try TestSite()
        _ = try site.manager.database(named: "db")
    }

    private func location(_ headers: HTTPHeaders) -> String? {
        site.send("POST", "/db", #"{"_id":"\#(UInt32.random(in: 0...UInt32.max))"}"#, headers)
            .headers["Location"].map { String($0.prefix { $0 != "?" }) }
            .map { $0.split(separator: "/").prefix(2).joined(separator: "//") }
    }

    @Test func `a location names the host that the proxy was called by`() {
        #expect(location([:]) == "http://localhost")
        #expect(location(["X-Forwarded-Host": "example.org:81"]) == "http://example.org:81")
        #expect(location(["X-Forwarded-Host": "[::1]:81"]) == "http://[::1]:81")
        #expect(location(["X-Forwarded-Proto": "https"]) == "https://localhost")
        #expect(location(["X-Forwarded-Ssl": "on"]) == "https://localhost")
        #expect(location(["X-Forwarded-Proto": "ftp"]) == "http://localhost")
    }

    @Test func `what is no host is passed over`() {
        for host in ["", "a/b", "a b", "user@a", "a?b", "a#b", String(repeating: "a", count: 256)] {
            #expect(location(["X-Forwarded-Host": host]) == "http://localhost", "\(host)")
        }
    }

    private func name(_ key: String, _ field: String) {
        let answer = site.send("PUT", "/_node/_local/_config/\(key)", "\"\(field)\"")
        #expect(answer.status == 200)
    }

    @Test func `the configuration names the fields of the proxy`() {
        name("chttpd/x_forwarded_host", "X-Host")
        #expect(location(["x-host": "a.example"]) == "http://a.example")
        #expect(location(["X-Forwarded-Host": "a.example"]) == "http://localhost")
        #expect(location(["X-Host": "a/b"]) == "http://localhost")
        // The section of CouchDB 2 counts where that of CouchDB 3 says nothing.
        name("httpd/x_forwarded_proto", "X-Scheme")
        #expect(location(["X-Scheme": "https"]) == "https://localhost")
        name("chttpd/x_forwarded_ssl", "X-Ssl")
        #expect(location(["X-Ssl": "on"]) == "https://localhost")
        #expect(location(["X-Forwarded-Ssl": "on"]) == "http://localhost")
        #expect(
            site.send("PUT", "/_node/_local/_config/chttpd/x_forwarded_ssl", "\"a b\"").status
                == 400)
    }
}
