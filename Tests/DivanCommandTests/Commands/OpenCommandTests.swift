// SPDX-License-Identifier: Apache-2.0

import DivanHTTP
import DivanTestSupport
import Foundation
import Testing

/// `divan open`, and the console that `divan serve` serves.
@Suite struct OpenCommandTests {
    let tool: TestTool

    init() throws { tool = try TestTool() }

    private func get(_ url: String, _ headers: HTTPHeaders = [:]) async throws -> (Int, String) {
        var options = CurlTransport.Options()
        options.proxy = .none
        let transport = try CurlTransport(options)
        defer { transport.close() }
        var request = HTTPRequest(.get, try HTTPURL(url))
        request.headers = headers
        let response = try await transport.send(request)
        let body = try await response.body.collect()
        return (response.head.status, String(decoding: body, as: UTF8.self))
    }

    @Test func `a server has the console at _utils, unless told otherwise`() async throws {
        let server = try tool.start(["serve", "data", "--everybody", "--port", "0"])
        let address = try #require(server.address())
        #expect(server.waitForOutput("console: \(address.url)_utils/\n"))
        let page = try await get(address.url + "_utils/")
        #expect(page.0 == 200 && page.1.contains("js/main.js"))
        // Each script that the first page asks for is there.
        for path in ["js/main.js", "js/shell.js", "css/tokens.css", "icon.svg"] {
            #expect(try await get(address.url + "_utils/" + path).0 == 200)
        }
        server.interrupt()
        #expect(try server.wait().status == 0)
        let bare = try tool.start(["serve", "data", "--everybody", "--port", "0", "--no-console"])
        let url = try #require(bare.address()).url
        #expect(try await get(url + "_utils/").0 == 404)
        bare.interrupt()
        #expect(try bare.wait().lines.count == 1)
    }

    @Test func `a database is opened with a key of its own`() async throws {
        try tool.run("create", "notes")
        let open = try tool.start(["open", "notes", "--no-browser", "--javascript", "off"])
        let address = try #require(open.address()).url
        #expect(address.contains("/_utils/#/db/notes/docs?owner="))
        let parts = address.components(separatedBy: "_utils/#/db/notes/docs?owner=")
        #expect(try await get(parts[0] + "_utils/").0 == 200)
        #expect(try await get(parts[0] + "notes").0 == 401)
        let key = Data("owner:\(parts[1])".utf8).base64EncodedString()
        #expect(try await get(parts[0] + "notes", ["Authorization": "Basic \(key)"]).0 == 200)
        open.interrupt()
        #expect(try open.wait().status == 0)
    }

    @Test func `the browser gets the key by a page that only the user can read`() async throws {
        try tool.run("create", "notes")
        // It keeps what it is given, and who may read that.
        try tool.write("#!/bin/sh\nstat -c %a \"$1\" > seen\ncat \"$1\" >> seen\n", to: "browser")
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o755], ofItemAtPath: tool.path("browser"))
        let open = try tool.start(
            ["open", ".", "--read-only", "--javascript", "off"],
            environment: ["BROWSER": tool.path("browser")])
        await eventually { (try? tool.read("seen"))?.contains("</title>") ?? false }
        let seen = try tool.read("seen")
        #expect(seen.hasPrefix("600\n") && seen.contains("_utils/#/?owner="))
        let url = try #require(
            seen.components(separatedBy: "url=").last?.components(separatedBy: "_utils").first)
        #expect(try await get(url + "_utils/").0 == 200)
        open.interrupt()
        let end = try open.wait()
        #expect(end.status == 0 && !end.out.contains("owner"))
        let left = try FileManager.default.contentsOfDirectory(atPath: tool.directory.path)
        #expect(!left.contains { $0.hasSuffix(".html") })
    }

    @Test func `what is not there is not opened`() throws {
        for path in ["none", "none.divan"] {
            let refused = try tool.run("open", path, "--no-browser")
            #expect(refused.status != 0 && refused.err.contains("at \(path)"))
        }
    }
}
