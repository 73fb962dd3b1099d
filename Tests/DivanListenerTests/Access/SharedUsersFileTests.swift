// SPDX-License-Identifier: Apache-2.0

import DivanListener
import DivanTestSupport
import FoundationEssentials
import Testing

/// One file of users that several processes change; each change locks it as if it were another process's.
@Suite struct SharedUsersFileTests {
    @Test func `users that are added at once are all there`() async throws {
        let folder = try ScratchDirectory()
        let path = folder.path
        try await withThrowingTaskGroup(of: Void.self) { group in
            for n in 0..<6 {
                group.addTask {
                    try ListenerUsers(directory: path).set("u\(n)", password: "secret")
                }
            }
            try await group.waitForAll()
        }
        let users = ListenerUsers(directory: path)
        #expect(try users.all().map { $0.name } == (0..<6).map { "u\($0)" })
        #expect(try users.remove("u3"))
        #expect(try !users.remove("u3"))
        #expect(try users.all().count == 5)
    }
}
