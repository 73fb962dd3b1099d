// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

@testable import DivanCommand

/// The commands that look after a database, as a child process.
@Suite struct MaintenanceCommandTests {
    private let tool: TestTool

    init() throws {
        tool = try TestTool()
        let lines = (0..<300).map {
            "{\"_id\":\"d\($0)\",\"text\":\"\(String(repeating: "x", count: 200))\"}"
        }
        try tool.run("import", "db", "--create", input: lines.joined(separator: "\n"))
    }

    @Test(
        .enabled(
            if: Machine.isSuperuser && Machine.has("/usr/bin/setpriv"),
            "It becomes another user."))
    func `attachments that the user may not read are told as that, and not as lost`() throws {
        try tool.run("create", "locked")
        try tool.run("put", "locked", "n", "{}")
        try tool.write("content", to: "a")
        try tool.run("attach", "locked", "n", "a")
        let shell = try ChildProcess(
            "/bin/sh",
            ["-c", "chmod -R a+rwX . && chmod 700 locked.divan/data-1/attachments"],
            in: tool.directory.path)
        #expect(shell.wait() == 0)
        let other = [
            "/usr/bin/setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
        ]
        for words in [
            ["get", "locked", "n"], ["export", "locked"], ["verify", "locked"],
            ["backup", "locked", "saved"], ["salvage", "locked", "rescued"],
        ] {
            let result = try tool.start(words, under: other).wait()
            #expect(result.status == ExitCode.failure.rawValue, "\(words)")
            #expect(result.err.contains("cannot be read by this user"), "\(words): \(result.err)")
        }
        #expect(try tool.run("verify", "locked").status == 0)
    }

    @Test func `compact deletes old bodies and says so`() throws {
        for i in 0..<3 { try tool.run("edit", "db", "d1", "--set", "n=\(i)") }
        let result = try tool.run("compact", "db")
        #expect(result.status == 0)
        #expect(result.out.hasPrefix("Deleted 3 old bodies, freed "))
        #expect(try tool.run("compact", "db", "--json").out.hasPrefix("{\"bodies_deleted\":0,"))
        #expect(try tool.run("verify", "db").status == 0)
    }

    @Test func `verify is silent on a sound database but for a remark`() throws {
        let result = try tool.run("verify", "db")
        #expect(result.status == 0)
        #expect(result.out.isEmpty)
        #expect(result.err == "No problems found.\n")
        #expect(try tool.run("verify", "db", "--quiet").err.isEmpty)
    }

    @Test func `verify lists what is wrong and salvage saves the rest`() throws {
        try damage()
        let verify = try tool.run("verify", "db")
        #expect(verify.status == 5)
        #expect(!verify.lines.isEmpty)
        let json = try tool.run("verify", "db", "--json")
        #expect(json.lines.allSatisfy { $0.hasPrefix("{\"message\":") })
        let salvage = try tool.run("salvage", "db", "saved.divan")
        #expect(salvage.status == 5)
        #expect(salvage.err.contains("Copied "))
        #expect(try tool.run("verify", "saved").status == 0)
        #expect(try tool.run("ls", "saved").lines.count >= 290)
    }

    @Test func `salvage copies a sound database and needs a free place`() throws {
        let result = try tool.run("salvage", "db", "copy.divan")
        #expect(result.status == 0)
        #expect(result.err.hasPrefix("Copied 300 documents with 300 revisions."))
        #expect(try tool.run("cat", "copy").out == (try tool.run("cat", "db").out))
        #expect(try tool.run("salvage", "db", "copy.divan").status == 4)
        #expect(try tool.run("salvage", "nowhere", "other.divan").status == 3)
        #expect(try tool.run("salvage", "db").status == 2)
    }

    @Test func `inspect lists rows, of one store or all, up to a limit`() throws {
        let rows = try tool.run("inspect", "db", "documents").lines
        #expect(rows.count == 300)
        #expect(rows[0].hasPrefix("documents  d0  "))
        #expect(try tool.run("inspect", "db", "--limit", "7").lines.count == 7)
        #expect(try tool.run("inspect", "db", "--json", "-n1").out.hasPrefix("{\"store\":"))
        let unknown = try tool.run("inspect", "db", "tables")
        #expect(unknown.status == 2)
        #expect(unknown.err.contains("documents"))
    }

    @Test func `inspect shows no content`() throws {
        #expect(!(try tool.run("inspect", "db").out.contains("xxxx")))
    }

    @Test func `a reader of a closed pipe ends the tool quietly`() throws {
        let command = "\(TestTool.executable.path) cat db 2>err | head -n 1 >out"
        try ChildProcess("/bin/sh", ["-c", command], in: tool.directory.path).wait()
        #expect(try tool.read("err").isEmpty)
        #expect(try tool.read("out").hasPrefix("{\"_id\":\"d0\""))
    }

    @Test(.disabled(if: Machine.isSuperuser, "No permission of a file stops the superuser."))
    func `a read-only database can be read and not written`() throws {
        let database = tool.path("db.divan")
        try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: database)
        defer {
            try? FileManager.default.setAttributes(
                [.posixPermissions: 0o700], ofItemAtPath: database)
        }
        #expect(try tool.run("ls", "db").lines.count == 300)
        #expect(try tool.run("put", "db", "x", "{}").status == 1)
    }

    /// Overwrites a stored body where it lies in the engine's file.
    private func damage() throws {
        let data = URL(fileURLWithPath: tool.path("db.divan/data-1"))
        // A last close has moved everything from the log into the main file.
        for name in try FileManager.default.contentsOfDirectory(atPath: data.path) {
            let url = data.appendingPathComponent(name)
            guard (try? url.resourceValues(forKeys: [.isDirectoryKey]).isDirectory) != true else {
                continue
            }
            var bytes = try Data(contentsOf: url)
            guard let found = bytes.range(of: Data("xxxxxxxxxx".utf8)) else { continue }
            bytes[found.lowerBound] = UInt8(ascii: "y")
            try bytes.write(to: url)
            return
        }
        Issue.record("No body was found to damage.")
    }
}
