// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestChild
import DivanTestSupport
import Testing

/// Content far larger than what may lie in memory.
@Suite struct LargeAttachmentTests {
    @Test func `a large attachment goes in and out in bounded memory`() async throws {
        let directory = try TestDirectory("attach-large")
        try await offPool {
            // A process of its own, so that the memory of other tests is not counted.
            let megabytes = Soak.count(test: 192, soak: 2_048)
            let child = try TestChild("large", directory.path("app.divan"), "\(megabytes)")
            var line: String?
            for _ in 0..<30 where line == nil { line = child.readLine() }
            let grown = try #require(line.flatMap { Int($0) })
            #expect(child.wait() == 0)
            // A sanitizer keeps aside what was freed.
            #expect(grown < 32 * 1_024 || Sanitizer.isOn, "\(grown) kB over the baseline.")
        }
    }
}
