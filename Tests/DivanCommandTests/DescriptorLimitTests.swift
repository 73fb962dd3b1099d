// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

/// A listener whose process may have few descriptors.
@Suite(.serialized) struct DescriptorLimitTests {
    @Test(
        .enabled(
            if: Machine.has("/usr/bin/prlimit") && Machine.has("/proc/self/fd"), "It needs prlimit."
        ))
    func `connections give way while there are descriptors left for databases`() throws {
        let most = 256
        let served = try ServedDatabase(descriptors: most)
        let silent = (0..<400).compactMap { _ in served.client.open() }
        defer { for descriptor in silent { close(descriptor) } }
        #expect(silent.count == 400)
        for number in 0..<4 {
            let start = ContinuousClock.now
            #expect(served.client.send("PUT", "/d\(number)", [served.root]) == 201)
            #expect(
                served.client.send("PUT", "/d\(number)/a", [served.root], Array("{}".utf8)) == 201)
            // The oldest silent connection gives way at once, and not when its time is over.
            #expect(start.duration(to: .now) < .seconds(5))
            #expect(served.isAlive)
        }
        #expect((most / 2..<most).contains(served.descriptors), "\(served.descriptors)")
    }
}
