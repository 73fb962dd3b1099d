// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

@testable import DivanCommand

/// `divan nearby`: two devices in a shell that keep a database the same.
@Suite(.timeLimit(.minutes(10))) struct NearbyCommandTests {
    let tool: TestTool

    init() throws { tool = try TestTool() }

    private func nearby(_ folder: String, _ options: [String] = []) throws -> TestTool.Child {
        try tool.start(["nearby", folder, "--host", "127.0.0.1"] + options)
    }

    @Test func `two devices that are paired while they run tell each other what is saved`() throws {
        try FileManager.default.createDirectory(
            atPath: tool.path("ann"), withIntermediateDirectories: true)
        try tool.run("create", "ann/notes.divan")
        try tool.run("put", "ann/notes.divan", "a", input: #"{"n":1}"#)
        let ann = try nearby("ann", ["--qr", "notes", "--name", "Ann"])
        guard ann.waitForOutput("\ndivan://"), eventually({ ann.output.hasSuffix("\n") }) else {
            Issue.record("There is no link: \(ann.output)")
            return
        }
        let line = ann.output.split(separator: "\n").first { $0.hasPrefix("divan://") }
        let link = try #require(line.map(String.init))
        let bob = try nearby("bob", ["--name", "Bob"])
        let paired = try tool.run("pair", "-", "bob", "--name", "Bob", input: link + "\n")
        #expect(paired.status == 0, "\(paired.err)")
        #expect(ann.waitForOutput("Pairing with Bob ("))
        // The one that runs takes the new peer up.
        #expect(bob.waitForOutput("Ann: connected"))
        #expect(bob.waitForOutput("Ann: up to date"))
        #expect(try tool.run("get", "bob/notes.divan", "a").status == 0)
        try tool.run("put", "bob/notes.divan", "b", input: #"{"n":2}"#)
        try eventually { try tool.run("get", "ann/notes.divan", "b").status == 0 }
        #expect(ann.waitForOutput("Bob: notes: 1 document received"))
        ann.interrupt()
        let ended = try ann.wait()
        #expect(ended.status == 0, "\(ended.err)")
        #expect(bob.waitForOutput("Ann: away"))
        bob.interrupt()
        #expect(try bob.wait().status == 0)
    }

    @Test func `a terminal shows how far pulls have come, and nothing else does`() throws {
        try FileManager.default.createDirectory(
            atPath: tool.path("ann"), withIntermediateDirectories: true)
        try tool.run("create", "ann/notes.divan")
        let documents = (1...2_000).map { "{\"_id\":\"d\($0)\",\"n\":\($0)}" }
        try tool.run("import", "ann/notes.divan", "-", input: documents.joined(separator: "\n"))
        let ann = try nearby("ann", ["--qr", "notes", "--name", "Ann"])
        guard ann.waitForOutput("\ndivan://"), eventually({ ann.output.hasSuffix("\n") }) else {
            Issue.record("There is no link: \(ann.output)")
            return
        }
        let line = ann.output.split(separator: "\n").first { $0.hasPrefix("divan://") }
        let link = try #require(line.map(String.init))
        #expect(try tool.run("pair", "-", "bob", "--name", "Bob", input: link + "\n").status == 0)
        let (status, shown) = try tool.runOnTerminal(
            ["nearby", "bob", "--host", "127.0.0.1", "--name", "Bob"], until: "up to date\r\n")
        #expect(status == 0)
        #expect(shown.contains("\rReceiving  ["), "\(shown)")
        // The bar is away before a line is printed, and at the end.
        let last = try #require(shown.components(separatedBy: "Receiving  [").last)
        #expect(last.contains("\r\u{1B}[KAnn: notes: 2,000 documents received"), "\(shown)")
        ann.interrupt()
        let ended = try ann.wait()
        #expect(ended.status == 0)
        #expect(!(ended.out + ended.err).contains("Receiving"))
    }
}
