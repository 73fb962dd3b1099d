// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

/// A process exits while threads of Divan are at work.
@Suite struct ProcessExitTests {
    // Without the cure one in twenty crashes, where the processor is busy with others.
    @Test func `a process that exits in the middle of its work does not crash`() async throws {
        let rounds = Soak.count(test: 10, soak: 400)
        let statuses = try await withThrowingTaskGroup(of: [Int32].self) { group in
            for lane in 0..<6 {
                group.addTask {
                    try await offPool {
                        try (0..<rounds).map { round in
                            let microseconds = (round * 7 + lane) % 10 * 400
                            return try TestChild("leave", "\(microseconds)").finish()
                        }
                    }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(statuses.allSatisfy { $0 == 0 }, "\(statuses.filter { $0 != 0 })")
    }
}
