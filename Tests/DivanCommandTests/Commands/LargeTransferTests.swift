// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

@testable import DivanCommand

/// Content far larger than what may lie in memory, from one process to another and back.
@Suite struct LargeTransferTests {
    private let tool: TestTool
    private let megabytes = Soak.count(test: 160, soak: 1_024)

    init() throws { tool = try TestTool() }

    /// The most memory that a process has had, in kilobytes.
    private func peak(_ child: TestTool.Child) throws -> Int {
        let path = "/proc/\(child.process.identifier)/status"
        let status = try String(contentsOfFile: path, encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        return try #require(Int(line.filter(\.isNumber)))
    }

    /// Waits until a document is there and has an attachment.
    private func wait(for id: String, in database: String) throws {
        try eventually { try tool.run("attachment", "ls", database, id).out.contains("x") }
    }

    /// Adds an attachment of so many megabytes, each of its own byte.
    private func attach(_ id: String, megabytes: Int) throws {
        let file = URL(filePath: tool.path("x"))
        try Data().write(to: file)
        let handle = try FileHandle(forWritingTo: file)
        for n in 0..<megabytes {
            try handle.write(contentsOf: Data(repeating: UInt8(n % 251), count: 1 << 20))
        }
        try handle.close()
        try tool.run("put", "a.divan", id, input: "{}")
        #expect(try tool.run("attach", "a.divan", id, "x").status == 0)
    }

    @Test func `a large attachment is pushed and pulled in bounded memory at both ends`() throws {
        try tool.run("create", "a.divan")
        try tool.run("create", "data/b.divan")
        let server = try tool.start(["serve", "data", "--port", "0", "--everybody"])
        let url = try #require(server.address()).url + "b"
        let push = try tool.start(["replicate", "a.divan", url, "--continuous", "-q"])
        let pull = try tool.start(["replicate", url, "c.divan", "--continuous", "-q"])
        try attach("small", megabytes: 1)
        for database in ["data/b.divan", "c.divan"] {
            try wait(for: "small", in: database)
        }
        let before = try [server, push, pull].map(peak)
        try attach("large", megabytes: megabytes)
        for database in ["data/b.divan", "c.divan"] {
            try wait(for: "large", in: database)
        }
        let grown = zip(try [server, push, pull].map(peak), before).map(-)
        // A sanitizer keeps what was freed for a while.
        for (name, kilobytes) in zip(["server", "push", "pull"], grown) where !Sanitizer.isOn {
            #expect(kilobytes < 64 * 1_024, "\(name): \(kilobytes) kB over the baseline")
        }
        for child in [push, pull, server] {
            child.interrupt()
            #expect(try child.wait().status == 0)
        }
        #expect(try tool.run("verify", "c.divan").status == 0)
        let listed = try tool.run("attachment", "ls", "c.divan", "large").out
        #expect(listed == (try tool.run("attachment", "ls", "a.divan", "large").out))
    }
}
