// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import DivanCommand

/// Keys and passwords at the command line, as a child process.
@Suite struct EncryptionCommandTests {
    private let tool: TestTool
    private static let digits = String(repeating: "0f", count: 32)

    init() throws {
        tool = try TestTool()
        try tool.write("hunter2\n", to: "password")
        try tool.write(Self.digits + "\n", to: "key")
    }

    @Test func `an empty password encrypts nothing and lets no user in`() throws {
        #expect(try tool.run("import", "plain", "--create", input: #"{"_id":"a"}"#).status == 0)
        for words in [
            ["rekey", "plain", "--new-password", "env:E"],
            ["backup", "plain", "copy", "--new-password", "env:E"],
            ["create", "new", "--encryption-password", "env:E"],
        ] {
            let result = try tool.start(words, environment: ["E": ""]).wait()
            #expect(result.status == ExitCode.badInput.rawValue, "\(words)")
            #expect(result.err.contains("empty"), "\(result.err)")
        }
        #expect(try tool.run("get", "plain", "a").status == 0)
        let served = try tool.start(["serve", "data", "--user", "ann:", "--port", "0"]).wait()
        #expect(served.status == ExitCode.usage.rawValue)
    }

    @Test func `a database is made with a password from a file, and needs it from then on`() throws
    {
        #expect(try tool.run("create", "db", "--encryption-password", "file:password").status == 0)
        let put = try tool.run(
            "put", "db", "a", "{\"n\":1}", "--encryption-password", "file:password")
        #expect(put.status == 0)
        #expect(try tool.run("get", "db", "a").status == 9)
        #expect(try tool.run("get", "db", "a").err.contains("is encrypted"))
        let wrong = try tool.run(
            "get", "db", "a", "--encryption-password", "env:P", environment: ["P": "hunter3"])
        #expect(wrong.status == 9)
        #expect(!wrong.err.contains("hunter"))
        let right = try tool.run(
            "get", "db", "a", "--encryption-password", "env:P", environment: ["P": "hunter2"])
        #expect(right.status == 0)
        #expect(right.out.contains("\"n\": 1") || right.out.contains("\"n\":1"))
    }

    @Test func `keys come as digits or bytes, from a file or a descriptor`() throws {
        #expect(try tool.run("create", "db", "--encryption-key", "file:key").status == 0)
        // The standard input is a descriptor like any other.
        let read = try tool.run(
            "info", "db", "--json", "--encryption-key", "fd:0", input: Self.digits)
        #expect(read.status == 0)
        #expect(read.out.contains("\"encrypted\":true"))
        try Data([UInt8](repeating: 15, count: 32)).write(
            to: tool.directory.appendingPathComponent("raw"))
        #expect(try tool.run("verify", "db", "--encryption-key", "file:raw").status == 0)
        for bad in ["", "short", Self.digits + "0", String(repeating: "zz", count: 32)] {
            try tool.write(bad, to: "bad")
            #expect(
                try tool.run("verify", "db", "--encryption-key", "file:bad").status == 6, "\(bad)")
        }
        #expect(try tool.run("verify", "db", "--encryption-key", "file:nowhere").status == 1)
        #expect(try tool.run("verify", "db", "--encryption-key", "fd:77").status == 1)
        #expect(try tool.run("verify", "db", "--encryption-key", "env:NOWHERE").status == 6)
    }

    @Test func `a password is typed at the terminal, which does not show it`() throws {
        let made = try tool.runTyping(
            ["hunter2", "hunter2"], "create", "db", "--encryption-password", "prompt")
        #expect(made.status == 0)
        #expect(made.shown.contains("again: "))
        #expect(!made.shown.contains("hunter"))
        let right = try tool.runTyping(
            ["hunter2"], "info", "db", "--encryption-password", "prompt")
        #expect(right.status == 0)
        #expect(!right.shown.contains("hunter"))
        // It is the password that was typed, without the end of its line.
        let put = try tool.run(
            "put", "db", "a", "{\"n\":1}", "--encryption-password", "file:password")
        #expect(put.status == 0)
        let wrong = try tool.runTyping(
            ["hunter3"], "get", "db", "a", "--encryption-password", "prompt")
        #expect(wrong.status == 9)
        #expect(!wrong.shown.contains("hunter"))
    }

    @Test func `Control-C at the question for a password ends the command`() throws {
        #expect(
            try tool.run("create", "db", "--encryption-password", "file:password").status == 0)
        let asked = try tool.interruptTyping(
            .controlC, "info", "db", "--encryption-password", "prompt")
        #expect(asked.status == ExitCode.interrupted.rawValue)
        #expect(asked.shown.contains("Interrupted"), "\(asked.shown)")
        #expect(asked.isEchoing)
        // The second question is one as well.
        let again = try tool.interruptTyping(
            .controlC, after: ["hunter2"], "create", "new", "--encryption-password", "prompt")
        #expect(again.status == ExitCode.interrupted.rawValue)
        #expect(!FileManager.default.fileExists(atPath: tool.path("new.divan")))
    }

    @Test func `a command that is told to end at the question leaves the terminal as it was`()
        throws
    {
        let asked = try tool.interruptTyping(
            .termination, "create", "db", "--encryption-password", "prompt")
        #expect(asked.status == ExitCode.interrupted.rawValue)
        #expect(asked.isEchoing)
    }

    @Test func `info tells of earlier data beside an encrypted database`() throws {
        try tool.run("create", "db")
        try tool.run("put", "db", "a", #"{"n":1}"#)
        let (old, aside) = (tool.path("db.divan/data-1"), tool.path("aside"))
        try FileManager.default.copyItem(atPath: old, toPath: aside)
        #expect(try tool.run("rekey", "db", "--new-key", "file:key").status == 0)
        let key = ["--encryption-key", "file:key"]
        let clean = try tool.start(["info", "db"] + key).wait()
        #expect(!clean.out.contains("data-1"))
        try FileManager.default.copyItem(atPath: aside, toPath: old)
        let info = try tool.start(["info", "db"] + key).wait()
        #expect(info.status == 0)
        #expect(info.out.contains("data-1"), "\(info.out)")
        let json = try tool.start(["info", "db", "--json"] + key).wait()
        #expect(json.out.contains(#""earlier_data":["data-1"]"#), "\(json.out)")
        #expect(try tool.start(["verify", "db"] + key).wait().status == 5)
        #expect(try tool.start(["compact", "db"] + key).wait().status == 0)
        #expect(try tool.start(["verify", "db"] + key).wait().status == 0)
    }

    @Test func `an encrypted database is not converted to an engine that cannot encrypt`() throws {
        #expect(try tool.run("create", "db", "--encryption-key", "file:key").status == 0)
        let result = try tool.run("convert", "db", "lmdb", "--encryption-key", "file:key")
        #expect(result.status == ExitCode.failure.rawValue)
        #expect(result.err.contains("cannot encrypt"), "\(result.err)")
        #expect(try tool.run("verify", "db", "--encryption-key", "file:key").status == 0)
    }

    @Test func `a new password is typed twice alike`() throws {
        let unlike = try tool.runTyping(
            ["hunter2", "hunter3"], "create", "db", "--encryption-password", "prompt")
        #expect(unlike.status == 6)
        #expect(!FileManager.default.fileExists(atPath: tool.path("db.divan")))
        #expect(!FileManager.default.fileExists(atPath: tool.path("db")))
    }

    @Test func `a secret in an argument is refused and not repeated`() throws {
        for option in ["--encryption-key", "--encryption-password"] {
            let result = try tool.run("create", "db", option, "hunter2")
            #expect(result.status == 2)
            #expect(!result.err.contains("hunter2"))
            #expect(result.err.contains("fd:N, file:PATH, env:NAME or prompt"))
        }
        let both = try tool.run(
            "create", "db", "--encryption-key", "file:key", "--encryption-password", "file:password"
        )
        #expect(both.status == 2)
    }

    @Test func `rekey changes, adds and removes encryption`() throws {
        let lines = (0..<30).map { "{\"_id\":\"d\($0)\",\"n\":\($0)}" }
        try tool.run("import", "db", "--create", input: lines.joined(separator: "\n"))
        let before = try tool.run("cat", "db").out
        #expect(try tool.run("rekey", "db").status == 2)
        #expect(try tool.run("rekey", "db", "--remove").err.contains("not encrypted"))
        let steps: [(opens: [String], words: [String], then: [String])] = [
            ([], ["--new-key", "file:key"], ["--encryption-key", "file:key"]),
            (
                ["--encryption-key", "file:key"], ["--new-password", "file:password"],
                ["--encryption-password", "file:password"]
            ),
            (
                ["--encryption-password", "file:password"],
                ["--new-key", "file:key", "--reencrypt"],
                ["--encryption-key", "file:key"]
            ),
            (["--encryption-key", "file:key"], ["--remove"], []),
        ]
        for step in steps {
            let result = try tool.start(["rekey", "db"] + step.opens + step.words).wait()
            #expect(result.status == 0, "\(step.words): \(result.err)")
            #expect(try tool.start(["cat", "db"] + step.then).wait().out == before)
            if step.opens != step.then {
                #expect(try tool.start(["cat", "db"] + step.opens).wait().status == 9)
            }
            #expect(try tool.start(["verify", "db"] + step.then).wait().status == 0)
        }
    }

    @Test func `backup, install and salvage keep the encryption`() throws {
        let key = ["--encryption-key", "file:key"]
        _ = try tool.start(["create", "db"] + key).wait()
        _ = try tool.start(["put", "db", "a", "{}"] + key).wait()
        #expect(try tool.start(["backup", "db", "saved.divan"] + key).wait().status == 0)
        #expect(try tool.start(["install", "saved.divan", "app"] + key).wait().status == 0)
        #expect(try tool.start(["salvage", "db", "rescued.divan"] + key).wait().status == 0)
        for name in ["saved", "app", "rescued"] {
            #expect(try tool.start(["get", name, "a"]).wait().status == 9)
            #expect(try tool.start(["get", name, "a"] + key).wait().status == 0)
        }
    }

    @Test func `a backup and an installed copy get a key of their own, or none`() throws {
        let key = ["--encryption-key", "file:key"]
        _ = try tool.start(["create", "db"] + key).wait()
        _ = try tool.start(["put", "db", "a", "{}"] + key).wait()
        let password = ["--new-password", "file:password"]
        let opens = ["--encryption-password", "file:password"]
        #expect(
            try tool.start(["backup", "db", "saved.divan"] + key + password).wait().status == 0)
        #expect(try tool.start(["get", "saved", "a"] + key).wait().status == 9)
        #expect(try tool.start(["get", "saved", "a"] + opens).wait().status == 0)
        let installed = try tool.start(["install", "saved.divan", "app", "--unencrypted"] + opens)
            .wait()
        #expect(installed.status == 0)
        #expect(try tool.run("get", "app", "a").status == 0)
        let both = try tool.start(["backup", "db", "x.divan", "--unencrypted"] + key + password)
            .wait()
        #expect(both.status == 2)
        #expect(both.err.contains("--unencrypted"))
    }

    @Test func `sources are read as they are written`() throws {
        #expect(try KeySource("fd:3", option: "key") == .descriptor(3))
        #expect(try KeySource("file:a:b", option: "key") == .file("a:b"))
        #expect(try KeySource("env:KEY", option: "key") == .variable("KEY"))
        #expect(try KeySource("prompt", option: "key") == .prompt)
        for bad in ["", "fd:", "fd:-1", "fd:x", "file:", "env:", "Prompt", "secret"] {
            #expect(throws: UsageError.self) { try KeySource(bad, option: "key") }
        }
    }
}
