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

    @Test func `a file of a person's beside it stays`() throws {
        try tool.write("mine", to: "out.partial")
        try OutputFile.write("new", to: tool.path("out"))
        #expect(try tool.read("out.partial") == "mine")
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

    @Test func `a pipe is written as it is`() throws {
        let path = tool.path("pipe")
        #expect(mkfifo(path, 0o600) == 0)
        let reader = try FileHandle(forUpdating: URL(filePath: path))
        try OutputFile.write("through", to: path)
        #expect(try reader.read(upToCount: 7) == Data("through".utf8))
        #expect(try names == ["pipe"])
    }
}
