// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import DivanSystem

/// What the file system of a file tells.
@Suite struct VolumeTests {
    @Test func `what is used is a percentage of what ordinary users may have, rounded up`() {
        #expect(Volume.usedPercent(blocks: 100, free: 50, available: 50) == 50)
        // Ten blocks are kept for the system.
        #expect(Volume.usedPercent(blocks: 100, free: 55, available: 45) == 50)
        #expect(Volume.usedPercent(blocks: 1_000, free: 999, available: 999) == 1)
        #expect(Volume.usedPercent(blocks: 100, free: 0, available: 0) == 100)
        #expect(Volume.usedPercent(blocks: 0, free: 0, available: 0) == 0)
    }

    @Test func `a file that is not there is on no file system`() throws {
        let percent = try #require(Volume.usedPercent(of: "/"))
        #expect((0...100).contains(percent))
        #expect(Volume.usedPercent(of: "/no/such/file") == nil)
    }
}
