// SPDX-License-Identifier: Apache-2.0

import Divan
import Testing

@testable import DivanListener

/// The name of a request, in its answer.
@Suite struct RequestIdentifierTests {
    @Test func `every answer names its request, and how long its body took`() throws {
        let served = try ServedSite()
        let client = try served.client()
        var names = Set<String>()
        for target in ["/", "/none", "/db/_all_docs"] {
            client.request("GET", target)
            let header = try #require(client.answer()).header
            names.insert(try #require(Self.field("X-Couch-Request-ID", in: header)))
            #expect(Self.field("X-CouchDB-Body-Time", in: header) == "0")
        }
        #expect(names.count == 3)
        #expect(names.allSatisfy { $0.count == 10 && $0.allSatisfy(\.isHexDigit) })
    }

    @Test func `a name that a client gives is repeated, if it is one`() throws {
        let served = try ServedSite()
        let client = try served.client()
        func answered(_ name: String) throws -> String? {
            client.request("GET", "/", ["X-Couch-Request-ID: \(name)"])
            return Self.field("X-Couch-Request-ID", in: try #require(client.answer()).header)
        }
        let given = "E7498DE1-B661-42FA-943D-17F890143068"
        #expect(try answered(given) == given)
        for other in [given + "0", "a b", "a;b", "é"] {
            #expect(try answered(other)?.count == 10, "\(other)")
        }
    }

    private static func field(_ name: String, in header: String) -> String? {
        header.split(separator: "\r\n").first { $0.hasPrefix(name + ": ") }
            .map { String($0.dropFirst(name.count + 2)) }
    }
}
