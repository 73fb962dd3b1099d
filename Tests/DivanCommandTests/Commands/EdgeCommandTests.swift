// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

@testable import DivanCommand

/// `divan serve --hub` and `divan edge status`.
@Suite struct EdgeCommandTests {
    let tool: TestTool

    init() throws { tool = try TestTool() }

    @Test func `an edge is made by options, and its status says how it is`() throws {
        let hub = try tool.start(["serve", "office", "--port", "0", "--user", "admin:secret"])
        let port = try #require(hub.address()).port
        let client = WireClient(port: port)
        let sign = "Authorization: Basic YWRtaW46c2VjcmV0"
        #expect(client.send("PUT", "/orders-1", [sign]) == 201)
        try tool.write("secret\n", to: "hub.key")
        try tool.write(
            "everybody\nport = 0\nhub = http://localhost:\(port)\nhub-user = admin\n"
                + "hub-password = file:\(tool.path("hub.key"))\ndatabases = orders-*\n"
                + "databases = !orders-x\nhub-interval = 1\n",
            to: "edge.conf")
        let edge = try tool.start(["serve", "shop", "--options", "edge.conf"])
        let url = try #require(edge.address()).url
        try eventually { try tool.run("edge", "status", url).out.contains("orders-1  running") }
        try eventually { try tool.run("edge", "status", url).status == 0 }
        let status = try tool.run("edge", "status", url)
        #expect(status.out.hasPrefix("The hub http://localhost:\(port)/ is reached.\nDATABASE"))
        let json = try tool.run("edge", "status", url, "--json")
        #expect(json.out.contains(#""state":"reached""#) && !json.out.contains("secret"))

        hub.interrupt()
        #expect(try hub.wait().status == 0)
        try eventually { try tool.run("edge", "status", url).out.contains("is unreachable") }
        let away = try tool.run("edge", "status", url)
        #expect(away.status == 5)
        #expect(away.err.contains("not in step with its hub"))
        edge.interrupt()
        #expect(try edge.wait().status == 0)
    }

    @Test func `options that make no sense are refused`() throws {
        let address = ["--hub", "http://localhost:1", "--databases", "a"]
        let cases: [([String], String)] = [
            (["--databases", "a"], "--databases goes with --hub URL"),
            (["--hub", "http://localhost:1"], "--hub needs --databases NAME, or --per-user"),
            (["--hub", "nothing", "--databases", "a"], "--hub takes a URL"),
            (
                address + ["--hub-user", "ann"],
                "--hub-user NAME and --hub-password SOURCE go together"
            ),
            (address + ["--hub-interval", "0"], "--hub-interval takes seconds"),
            (address + ["--hub-param", "a"], "--hub-param takes KEY=JSON"),
            (address + ["--hub-param", "since=1"], "--hub-param: The parameter 'since'"),
            (address + ["--hub-selector", "[]"], "--hub-selector"),
            (address + ["--hub-pin", "abc"], "needs TLS"),
            (address + ["--read-only"], "--hub and --read-only do not go together"),
            (
                ["--hub", "http://localhost:1", "--databases", "_users"],
                "'_users' names no databases"
            ),
        ]
        for (options, complaint) in cases {
            let refused = try tool.start(["serve", "data", "--everybody", "--port", "0"] + options)
                .wait()
            #expect(refused.status != 0)
            #expect(refused.err.contains(complaint), "\(options): \(refused.err)")
        }
        #expect(try tool.run("edge", "status", "shop").err.contains("URL is that of a server"))
        #expect(try tool.run("edge", "stop", "http://localhost:1").status == 2)
        let none = try tool.run("edge", "status", "http://localhost:1")
        #expect(none.status == 1 && none.err.contains("cannot be reached"))
    }
}
