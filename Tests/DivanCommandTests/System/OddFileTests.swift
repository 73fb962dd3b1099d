// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

@testable import DivanCommand

/// Pipes and devices where a database has files: the tool ends by itself, with a sentence.
@Suite(.timeLimit(.minutes(10))) struct OddFileTests {
    private let tool: TestTool

    init() throws { tool = try TestTool() }

    /// Runs a command that must end by itself, however loaded the machine is.
    private func run(_ words: [String]) throws -> TestTool.Result {
        let child = try tool.start(words)
        if !eventually({ !child.process.isRunning }) {
            Issue.record("\(words) does not end.")
            child.process.signal(SIGKILL)
        }
        return try child.wait()
    }

    private static let engines = ["sqlite", "lmdb"]
    private static let commands = [
        ["info", "odd.divan"], ["put", "odd.divan", "b", "{}"],
        ["backup", "odd.divan", "backup.divan"],
    ]

    private func make(_ engine: String) throws {
        try tool.run("create", "whole.divan", "--engine", engine)
        try tool.run("put", "whole.divan", "a", "{}")
        try tool.write("hello", to: "hello.txt")
        try tool.run("attach", "whole.divan", "a", "hello.txt")
    }

    /// Puts a copy of the database in place, with something else instead of one of its files.
    private func put(_ thing: String, at file: String) throws {
        for name in ["odd.divan", "backup.divan"] {
            try? FileManager.default.removeItem(atPath: tool.path(name))
        }
        try FileManager.default.copyItem(
            atPath: tool.path("whole.divan"), toPath: tool.path("odd.divan"))
        let path = tool.path("odd.divan/" + file)
        try? FileManager.default.removeItem(atPath: path)
        switch thing {
        case "pipe": try #require(mkfifo(path, 0o600) == 0)
        default:
            try FileManager.default.createSymbolicLink(
                atPath: path, withDestinationPath: "/dev/zero")
        }
    }

    @Test func `an argument that is not UTF-8 is refused, and nothing is made`() throws {
        let script = #"exec "$0" create "$(printf 'bad\377')""#
        let result = try tool.start([], under: ["/bin/sh", "-c", script]).wait()
        #expect(result.status == 2)
        #expect(result.err.contains("UTF-8"), "\(result.err)")
        let made = try FileManager.default.contentsOfDirectory(atPath: tool.directory.path)
        #expect(!made.contains { $0.hasPrefix("bad") })
    }

    @Test(.enabled(if: Machine.has("/usr/bin/prlimit"), "It needs prlimit."))
    func `a file that may not become longer is an error`() throws {
        try tool.run("create", "db", "--engine", "sqlite")
        let text = String(repeating: "text ", count: 200)
        let lines = (0..<3_000).map { "{\"_id\":\"d\($0)\",\"t\":\"\(text)\"}" }
        let result = try tool.start(
            ["import", "db"], input: lines.joined(separator: "\n"),
            under: ["/usr/bin/prlimit", "--fsize=400000"]
        ).wait()
        #expect(result.status == 1, "\(result.err)")
        #expect(result.err.contains("failed to read or write"), "\(result.err)")
        #expect(try tool.run("verify", "db").status == 0)
    }

    @Test func `a path too long for SQLite's files is told as that`() throws {
        let name = String(repeating: "n", count: 120)
        let place = [String](repeating: name, count: 4).joined(separator: "/")
        let folder = tool.path(place)
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        let result = try tool.run("create", folder + "/db")
        #expect(result.status == 1)
        #expect(result.err.contains("bytes"), "\(result.err)")
    }

    @Test(arguments: engines)
    func `no pipe or device in a database's directory makes the tool wait`(engine: String) throws {
        try make(engine)
        let whole = tool.path("whole.divan")
        let files = try FileManager.default.subpathsOfDirectory(atPath: whole).filter {
            (try? FileManager.default.attributesOfItem(atPath: whole + "/" + $0)[.type]
                as? FileAttributeType) == .typeRegular
        }
        #expect(files.count >= 6)
        for file in files + ["data-1/main.sqlite3-wal", "data-1/main.sqlite3-journal"] {
            for command in Self.commands {
                try put("pipe", at: file)
                let result = try run(command)
                #expect((0..<20).contains(result.status), "\(file) \(command): \(result.err)")
            }
        }
        for file in ["manifest", "changes"] {
            try put("device", at: file)
            #expect(try run(["put", "odd.divan", "b", "{}"]).status != 0)
        }
        try put("pipe", at: "manifest")
        #expect(try run(["info", "odd.divan"]).err.contains("put a regular file in its place"))
    }
}
