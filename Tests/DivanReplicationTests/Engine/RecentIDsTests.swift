// SPDX-License-Identifier: Apache-2.0

internal import DivanModel
import DivanReplication
import Testing

@Suite struct RecentIDsTests {
    @Test func `the last thousand are known, and few others`() {
        var recent = RecentIDs()
        #expect(!recent.contains("first"))
        for number in 0..<10_000 {
            recent.insert("\(number)")
            // Noted again and again, one stays.
            recent.insert("first")
        }
        #expect(recent.contains("first"))
        #expect((9_002..<10_000).allSatisfy { recent.contains("\($0)") })
        #expect((0..<8_000).allSatisfy { !recent.contains("\($0)") })
    }
}
