// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import DivanCommand

@Suite struct ServeCommandTests {
    private let tool: TestTool

    init() throws { tool = try TestTool() }

    @Test func `databases are served until Control-C`() throws {
        let child = try tool.start(["serve", "data", "--port", "0", "--everybody"])
        let end = Date() + 60
        var url = ""
        while url.isEmpty, Date() < end {
            url = String(child.output.split(separator: "\n").first ?? "")
            usleep(20_000)
        }
        #expect(url.hasPrefix("http://127.0.0.1:"))
        let port = Int(url.dropFirst("http://127.0.0.1:".count).prefix { $0.isNumber })
        #expect((port ?? 0) > 0)
        child.interrupt()
        #expect(try child.wait().status == 0)
    }

    @Test func `nobody is let in unless somebody says who`() throws {
        let refused = try tool.run("serve", "data", "--port", "0")
        #expect(refused.status == ExitCode.usage.rawValue)
        #expect(refused.err.contains("--everybody"))
        let both = try tool.run("serve", "data", "--everybody", "--user", "a:b")
        #expect(both.status == ExitCode.usage.rawValue)
        #expect(
            try tool.run("serve", "data", "--user", "nocolon").status == ExitCode.usage.rawValue)
        #expect(try tool.run("serve", "data", "--everybody", "--host", "0.0.0.0").status != 0)
        #expect(
            try tool.run("serve", "data", "--everybody", "--key", "k").status
                == ExitCode.usage.rawValue)
    }

    @Test func `users are added, listed and removed`() throws {
        let secret = ["DIVAN_PASSWORD": "correct horse"]
        #expect(try tool.run("users", "data").out == "")
        #expect(try tool.run("users", "data", "--add", "ann").status == ExitCode.usage.rawValue)
        let added = try tool.run("users", "data", "--add", "ann", "--admin", environment: secret)
        #expect(added.status == 0)
        try tool.run(
            "users", "data", "--add", "bob", "--role", "staff", "--role", "it", environment: secret)
        #expect(try tool.run("users", "data").lines == ["ann  _admin", "bob  it staff"])
        #expect(
            try tool.run("users", "data", "--json").lines[1]
                == #"{"name":"bob","roles":["it","staff"]}"#)
        let file = try tool.read("data/listener.json")
        #expect(!file.contains("correct horse"))
        let attributes = try FileManager.default.attributesOfItem(
            atPath: tool.path("data/listener.json"))
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        #expect(try tool.run("users", "data", "--remove", "ann").status == 0)
        #expect(
            try tool.run("users", "data", "--remove", "ann").status == ExitCode.notFound.rawValue)
        #expect(try tool.run("users", "data").lines == ["bob  it staff"])
        let bad = try tool.run("users", "data", "--add", "a:b", environment: secret)
        #expect(bad.status != 0)
    }
}
