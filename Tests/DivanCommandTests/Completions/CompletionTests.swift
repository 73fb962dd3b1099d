// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

@testable import DivanCommand

@Suite struct CompletionTests {
    private static let schemas = [
        CommandLineParserTests.schema,
        CommandSchema(
            name: "second", summary: "It's [odd]: really.",
            arguments: [
                .database,
                ArgumentSchema(name: "SHELL", summary: "", completion: .choices(["bash", "zsh"])),
            ],
            options: [.value("file", "f", "FILE", "Where.", completion: .file)]),
    ]

    /// Asks bash what it would offer for a command line whose last word is being typed.
    private func complete(_ words: String..., in directory: URL? = nil) throws -> [String] {
        let line = (["divan"] + words).map { "'\($0)'" }.joined(separator: " ")
        let script = """
            \(BashCompletion.script(for: Self.schemas))
            COMP_WORDS=(\(line)); COMP_CWORD=\(words.count)
            _divan
            for word in "${COMPREPLY[@]}"; do printf '%s\\n' "$word"; done
            """
        let shown = try ChildProcess.output(
            of: "/bin/bash", ["--norc", "-c", script], in: directory?.path)
        return shown.split(separator: "\n").map(String.init).sorted()
    }

    @Test func `bash completes commands`() throws {
        #expect(try complete("s") == ["sample", "second"])
        #expect(try complete("--v") == ["--version"])
        #expect(try complete("help", "sec") == ["second"])
    }

    @Test func `bash completes options of the command`() throws {
        #expect(try complete("sample", "--l") == ["--limit", "--log", "--log-file", "--long"])
        #expect(try complete("second", "db", "--fi") == ["--file"])
        #expect(try complete("unknown", "--") == [])
    }

    @Test func `bash completes the values of options`() throws {
        #expect(try complete("sample", "--order", "") == ["down", "up"])
        #expect(try complete("sample", "--limit", "") == [])
        #expect(try complete("second", "--color", "al") == ["always"])
    }

    @Test func `bash counts arguments past options and their values`() throws {
        #expect(try complete("second", "db", "") == ["bash", "zsh"])
        #expect(try complete("second", "-q", "--file", "x", "db", "z") == ["zsh"])
    }

    @Test func `bash completes databases and files, spaces and all`() throws {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("divan-completion-\(UInt64.random(in: 0 ... .max))")
        defer { try? FileManager.default.removeItem(at: directory) }
        try FileManager.default.createDirectory(
            at: directory.appendingPathComponent("my notes.divan"),
            withIntermediateDirectories: true)
        try Data().write(to: directory.appendingPathComponent("my file.json"))
        #expect(try complete("second", "my", in: directory) == ["my notes.divan"])
        #expect(
            try complete("second", "-f", "my", in: directory) == ["my file.json", "my notes.divan"])
    }

    @Test func `the scripts of the whole table are sound to bash`() throws {
        let script = BashCompletion.script(for: CommandTable.all.map(\.schema))
        #expect(try ChildProcess("/bin/bash", ["-n", "-c", script]).wait() == 0)
    }

    @Test func `zsh gets every command and option, with marks that it would misread escaped`() {
        let script = ZshCompletion.script(for: Self.schemas)
        #expect(script.hasPrefix("#compdef divan\n"))
        #expect(script.contains(#"'second:It'\''s \[odd\]\: really.'"#))
        #expect(script.contains("'(-n --limit)'{-n,--limit}'[How many.]:COUNT: '"))
        #expect(script.contains("'*--set[What to set.]:KEY=JSON: '"))
        #expect(script.contains("'1:DB:_files -/'"))
        #expect(script.contains("'*:ID: '"))
        #expect(script.contains("'2:SHELL:(bash zsh)'"))
    }
}
