// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

@testable import DivanCommand

/// Files that a command writes for a person.
@Suite struct OutputFileTests {
    private let tool: TestTool

    init() throws { tool = try TestTool() }

    private var names: [String] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: tool.directory.path).sorted()
        }
    }

    @Test func `two that are written at once are each whole, and the last one stays`() throws {
        let path = tool.path("out")
        let (one, other) = (try OutputFile(path), try OutputFile(path))
        try one.sink.write(Array("one".utf8))
        try other.sink.write(Array("the other".utf8))
        try one.finish()
        #expect(try tool.read("out") == "one")
        try other.finish()
        #expect(try tool.read("out") == "the other")
        #expect(try names == ["out"])
    }

    private var partials: [String] { get throws { try names.filter { $0.hasSuffix(".partial") } } }

    @Test func `what a killed export left goes with the next one, and nothing that is written`()
        throws
    {
        let text = String(repeating: "x", count: 500)
        let records = (0..<20_000).map { "{\"_id\":\"d\($0)\",\"text\":\"\(text)\"}" }
        try tool.run("import", "db", "--create", input: records.joined(separator: "\n"))
        let written = try OutputFile(tool.path("out"))
        try written.sink.write(Array("whole".utf8))
        let child = try tool.start(["export", "db", "out"])
        eventually { (try? partials.count) == 2 || !child.process.isRunning }
        child.process.signal(SIGKILL)
        _ = try child.wait()
        #expect(try partials.count == 2)
        #expect(try tool.run("export", "db", "out").status == 0)
        #expect(try partials.count == 1)
        try written.finish()
        #expect(try partials == [])
        #expect(try tool.read("out") == "whole")
    }

    @Test func `a file of a person's beside it stays`() throws {
        let mine = ["out.partial", "out.1.partial", "out.divan-x.partial", "other.divan-1.partial"]
        for name in mine { try tool.write("mine", to: name) }
        try OutputFile.write("new", to: tool.path("out"))
        for name in mine { #expect(try tool.read(name) == "mine") }
        #expect(try tool.read("out") == "new")
    }

    @Test func `what a link leads to is replaced, and the link stays`() throws {
        try tool.write("old", to: "target")
        try FileManager.default.createSymbolicLink(
            atPath: tool.path("link"), withDestinationPath: "target")
        try OutputFile.write("new", to: tool.path("link"))
        #expect(try tool.read("target") == "new")
        #expect(
            try FileManager.default.destinationOfSymbolicLink(atPath: tool.path("link"))
                == "target")
    }

    @Test func `a link that leads to nothing yet stays, and the file is made`() throws {
        try FileManager.default.createDirectory(
            atPath: tool.path("far"), withIntermediateDirectories: false)
        for (name, target) in [("one", "far/one"), ("two", "one"), ("three", tool.path("far/x"))] {
            try FileManager.default.createSymbolicLink(
                atPath: tool.path(name), withDestinationPath: target)
        }
        try OutputFile.write("new", to: tool.path("two"))
        try OutputFile.write("other", to: tool.path("three"))
        #expect(try tool.read("far/one") == "new")
        #expect(try tool.read("far/x") == "other")
        #expect(try names == ["far", "one", "three", "two"])
        #expect(try tool.read("two") == "new")
    }

    @Test func `a link in a folder that a link leads to leads where the system says`() throws {
        for folder in ["a", "c/d"] {
            try FileManager.default.createDirectory(
                atPath: tool.path(folder), withIntermediateDirectories: true)
        }
        for (name, target) in [("a/b", "../c/d"), ("c/d/link", "../x")] {
            try FileManager.default.createSymbolicLink(
                atPath: tool.path(name), withDestinationPath: target)
        }
        for text in ["made", "replaced"] {
            try OutputFile.write(text, to: tool.path("a/b/link"))
            #expect(try tool.read("c/x") == text)
        }
        #expect(try names == ["a", "c"])
    }

    @Test func `a file that is replaced keeps its permissions`() throws {
        try tool.write("old", to: "out")
        for mode in [0o600, 0o640] {
            #expect(chmod(tool.path("out"), mode_t(mode)) == 0)
            try OutputFile.write("new", to: tool.path("out"))
            let attributes = try FileManager.default.attributesOfItem(atPath: tool.path("out"))
            #expect(attributes[.posixPermissions] as? Int == mode)
        }
    }

    @Test func `what the process was started with is written to, not replaced`() throws {
        try tool.run("create", "db")
        try tool.run("put", "db", "n", "{}")
        for path in ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
            try tool.write("before\n", to: "all")
            let command =
                "(\(TestTool.executable.path) export db \(path) -q; echo after) >>all 2>&1"
            let shell = try ChildProcess("/bin/sh", ["-c", command], in: tool.directory.path)
            #expect(shell.wait() == 0)
            let lines = try tool.read("all").split(separator: "\n")
            #expect(lines.count == 3 && lines.first == "before" && lines.last == "after")
        }
    }

    @Test func `a directory is refused as one`() throws {
        let error = #expect(throws: CommandFailure.self) {
            try OutputFile(tool.directory.path)
        }
        #expect(error?.message.hasSuffix("it is a directory.") == true)
        #expect(try names == [])
    }

    @Test func `a pipe is written as it is`() throws {
        let path = tool.path("pipe")
        #expect(mkfifo(path, 0o600) == 0)
        let reader = try FileHandle(forUpdating: URL(filePath: path))
        try OutputFile.write("through", to: path)
        #expect(try reader.read(upToCount: 7) == Data("through".utf8))
        #expect(try names == ["pipe"])
    }
}
