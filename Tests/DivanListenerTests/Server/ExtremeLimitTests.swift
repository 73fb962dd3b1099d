// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Testing

@testable import DivanListener

/// Limits of a listener with the largest, the smallest and no numbers.
@Suite(.timeLimit(.minutes(5))) struct ExtremeLimitTests {
    @Test(arguments: [0, -1, Int.min])
    func `a listener whose databases would keep no revision does not start`(limit: Int) throws {
        let site = try TestSite()
        let error = #expect(throws: DatabaseError.self) {
            _ = try site.listen { $0.revisionLimit = limit }
        }
        #expect(error?.code == .invalidQuery)
    }

    @Test(arguments: [1, Int.max])
    func `a client's database keeps as many revisions as it may`(limit: Int) throws {
        let served = try ServedSite { $0.revisionLimit = limit }
        #expect(try served.status("PUT", "/made", []) == 201)
        #expect(try served.status("PUT", "/made/x", [], Array("{}".utf8)) == 201)
        #expect(try served.status("GET", "/made/x", []) == 200)
        #expect(try served.status("GET", "/made/_revs_limit", []) == 200)
    }
}
