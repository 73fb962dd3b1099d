// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

/// The commands in docs/two-devices.md, run as they stand there.
@Suite struct TwoDevicesPageTests {
    private let tool: TestTool

    init() throws { tool = try TestTool() }

    /// The words of each command in the page's shell block.
    private func commands() throws -> [[String]] {
        let page = TestFolder.repository.appending(path: "docs/two-devices.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        let block = try #require(text.components(separatedBy: "```sh\n").last)
        return try #require(block.components(separatedBy: "```").first)
            .split(separator: "\n").filter { !$0.hasPrefix("#") }
            .map { $0.split(separator: " ").map(String.init) }
    }

    /// A command as it is run here: on a free port, at the address and with the fingerprint that were printed.
    private func adapted(_ words: [String], _ url: String, _ fingerprint: String) -> [String] {
        words.dropFirst().map { word in
            switch word {
            case "6984": "0"
            case let word where word.hasPrefix("3f0c51"): fingerprint
            default:
                word.replacingOccurrences(
                    of: "https://ann:secret@192.168.1.7:6984/",
                    with: url.replacingOccurrences(of: "https://", with: "https://ann:secret@"))
            }
        }
    }

    @Test func `the commands of the page of two devices put two directories in sync`() throws {
        var (url, fingerprint) = ("", "")
        var children: [TestTool.Child] = []
        for command in try commands() {
            let isUsers = command[0] == "DIVAN_PASSWORD=secret"
            let words = adapted(isUsers ? Array(command.dropFirst()) : command, url, fingerprint)
            let child = try tool.start(
                words, environment: isUsers ? ["DIVAN_PASSWORD": "secret"] : [:])
            switch words[0] {
            case "serve":
                url = try #require(child.address()).url
                fingerprint = try #require(child.fingerprint())
                children.append(child)
            case "sync": children.append(child)
            default: #expect(try child.wait().status == 0, "\(words)")
            }
        }
        #expect(children.count == 2)
        #expect(fingerprint.count == 64)
        try tool.run("put", "notes.divan", "a", input: "{}")
        try tool.run("put", "data/notes.divan", "b", input: "{}")
        try eventually {
            try tool.run("get", "notes.divan", "b").status == 0
                && tool.run("get", "data/notes.divan", "a").status == 0
        }
        for child in children.reversed() {
            child.interrupt()
            #expect(try child.wait().status == 0)
        }
    }
}
