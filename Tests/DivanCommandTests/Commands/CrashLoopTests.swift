// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Foundation
import Testing

@testable import DivanCommand

/// Servers that are killed soon after their replications have started.
@Suite(.timeLimit(.minutes(10))) struct CrashLoopTests {
    private let tool: TestTool
    private let silent: LoopbackServer

    init() throws {
        tool = try TestTool()
        // It answers nothing, so a replication with it goes on until the server dies.
        silent = try LoopbackServer(isDeaf: true) { _, _ in }
        let manager = try Manager(directory: URL(fileURLWithPath: tool.path("data")))
        defer { manager.close() }
        _ = try manager.database(named: "notes")
        try manager.database(named: "_replicator").save(
            MutableDocument(
                [
                    "source": "notes", "target": .string("http://127.0.0.1:\(silent.port)/db"),
                    "continuous": true,
                ], id: "job"))
    }

    private var record: String { tool.path("data/replicator-starts") }

    private func errors(_ child: TestTool.Child) -> String {
        (try? String(contentsOf: child.err, encoding: .utf8)) ?? ""
    }

    /// Starts a server, and waits until it says where it is.
    private func serve() throws -> TestTool.Child {
        let child = try tool.start(["serve", "data", "--port", "0", "--everybody", "--log", "info"])
        #expect(child.waitForOutput("\n"))
        return child
    }

    /// Waits until the server's own record is there, in the place of the last one's.
    private func waitForRecord(of child: TestTool.Child) {
        eventually {
            let text = (try? String(contentsOfFile: record, encoding: .utf8)) ?? ""
            return text.contains("\"process\":\(child.process.identifier),")
        }
    }

    @Test func `after three deaths a server starts all the same, with its replications paused`()
        throws
    {
        for _ in 0..<3 {
            let child = try serve()
            waitForRecord(of: child)
            #expect(!errors(child).contains("are paused"))
            child.process.signal(SIGKILL)
            #expect(try child.wait().status != 0)
        }
        let paused = try serve()
        eventually { errors(paused).contains("The process died 3 times in a row") }
        // A stop in order is not counted, and lets the next server try again.
        paused.process.signal(SIGTERM)
        #expect(try paused.wait().status == 0)
        #expect(!FileManager.default.fileExists(atPath: record))
        let again = try serve()
        waitForRecord(of: again)
        #expect(!errors(again).contains("are paused"))
        again.interrupt()
        #expect(try again.wait().status == 0)
    }

    @Test func `servers that end in order are never counted`() throws {
        for signal in [SIGTERM, SIGINT, SIGTERM, SIGINT] {
            let child = try serve()
            waitForRecord(of: child)
            child.process.signal(signal)
            #expect(try child.wait().status == 0)
            #expect(!FileManager.default.fileExists(atPath: record))
        }
    }
}
