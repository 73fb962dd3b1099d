// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

@testable import DivanCommand

@Suite struct ServeCommandTests {
    let tool: TestTool

    init() throws { tool = try TestTool() }

    @Test func `databases are served until Control-C`() throws {
        let child = try tool.start(["serve", "data", "--port", "0", "--everybody"])
        let address = try #require(child.address())
        #expect(address.url.hasPrefix("http://127.0.0.1:"))
        #expect(address.port > 0)
        child.interrupt()
        #expect(try child.wait().status == 0)
    }

    @Test func `a directory that was not there is said to have been made`() throws {
        for (isNew, options) in [(true, []), (false, []), (true, ["--tls"])] {
            let name = options.isEmpty ? "data" : "secure"
            let child = try tool.start(
                ["serve", name, "--port", "0", "--everybody", "--javascript", "off"] + options)
            _ = try #require(child.address())
            child.interrupt()
            let said = try child.wait().err
            #expect(said.contains("Made the directory") == isNew, "\(said)")
            #expect(said.contains(name) == isNew, "\(said)")
        }
    }

    /// Starts a server, and gives its address.
    func serve(_ options: [String], input: String = "", environment: [String: String] = [:])
        throws -> (child: TestTool.Child, address: TestTool.Child.Address)
    {
        let child = try tool.start(
            ["serve", "data", "--port", "0"] + options, input: input, environment: environment)
        return (child, try #require(child.address()))
    }

    @Test func `a server that ends while peers wait for changes has nothing to complain about`()
        throws
    {
        try tool.run("create", "data/notes.divan")
        try tool.run("put", "data/notes.divan", "a", input: "{}")
        let (server, address) = try serve(["--everybody", "--javascript", "off"])
        let peers = try (0..<3).map { n in
            try tool.start([
                "replicate", address.url + "notes", "copy\(n).divan", "--continuous", "-q",
            ])
        }
        for n in 0..<3 {
            try eventually { try tool.run("get", "copy\(n).divan", "a").status == 0 }
        }
        server.interrupt()
        let served = try server.wait()
        #expect(served.status == 0)
        #expect(served.err == "")
        for peer in peers {
            peer.interrupt()
            let result = try peer.wait()
            #expect(result.status == 0)
            #expect(result.err == "")
        }
    }

    @Test func `a realm is what clients are told`() throws {
        let (server, address) = try serve(["--user", "ann:secret", "--realm", "the shed"])
        let answer = try ChildProcess.output(
            of: "bash",
            [
                "-c",
                "exec 3<>/dev/tcp/127.0.0.1/\(address.port); "
                    + "printf 'GET / HTTP/1.0\\r\\nHost: localhost\\r\\nAuthorization: Basic eDp5\\r\\n\\r\\n' >&3; "
                    + "cat <&3",
            ])
        #expect(answer.contains("401"))
        #expect(answer.contains("Basic realm=\"the shed\""))
        server.interrupt()
        #expect(try server.wait().status == 0)
        #expect(
            try tool.run("serve", "data", "--everybody", "--realm", "a\"b").status
                == ExitCode.usage.rawValue)
    }

    @Test func `design documents with rules that nothing keeps are accepted on demand`() throws {
        for isAccepting in [false, true] {
            let (server, address) = try serve(
                ["--everybody", "--javascript", "off"]
                    + (isAccepting ? ["--accept-unrun-validation"] : []))
            let body = #"{"validate_doc_update":"function(){}"}"#
            let answer = try ChildProcess.output(
                of: "bash",
                [
                    "-c",
                    "exec 3<>/dev/tcp/127.0.0.1/\(address.port); "
                        + "printf 'PUT /db HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Length: 0\\r\\n\\r\\n' >&3; "
                        + "printf 'PUT /db/_design/a HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n"
                        + "Content-Length: \(body.utf8.count)\\r\\n\\r\\n%s' '\(body)' >&3; cat <&3",
                ])
            #expect(answer.contains(isAccepting ? "\"id\":\"_design/a\"" : "not_implemented"))
            server.interrupt()
            let ended = try server.wait()
            #expect(ended.err.contains("validate_doc_update") == isAccepting)
        }
    }

    /// What a server tells a page of another origin.
    private func answer(toPageOf options: [String]) throws -> String {
        let (server, address) = try serve(["--everybody"] + options)
        let answer = try ChildProcess.output(
            of: "bash",
            [
                "-c",
                "exec 3<>/dev/tcp/127.0.0.1/\(address.port); "
                    + "printf 'GET / HTTP/1.0\\r\\nHost: localhost\\r\\nOrigin: https://a.example\\r\\n\\r\\n' >&3; "
                    + "cat <&3",
            ])
        server.interrupt()
        #expect(try server.wait().status == 0)
        return answer
    }

    @Test func `pages of all origins get credentials only on demand`() throws {
        let star = try answer(toPageOf: ["--cors", "*"])
        #expect(star.contains("Access-Control-Allow-Origin: *"))
        #expect(!star.contains("Allow-Credentials"))
        let all = try answer(toPageOf: ["--cors", "*", "--cors-credentials"])
        #expect(all.contains("Access-Control-Allow-Origin: https://a.example"))
        #expect(all.contains("Access-Control-Allow-Credentials: true"))
        let named = try answer(toPageOf: ["--cors", "https://a.example"])
        #expect(named.contains("Access-Control-Allow-Credentials: true"))
        #expect(
            try tool.run("serve", "data", "--everybody", "--cors-credentials").status
                == ExitCode.usage.rawValue)
    }

    @Test func `nobody is let in unless somebody says who`() throws {
        let refused = try tool.run("serve", "data", "--port", "0")
        #expect(refused.status == ExitCode.usage.rawValue)
        #expect(refused.err.contains("--everybody"))
        let both = try tool.run("serve", "data", "--everybody", "--user", "a:b")
        #expect(both.status == ExitCode.usage.rawValue)
        #expect(
            try tool.run("serve", "data", "--user", "nocolon").status == ExitCode.usage.rawValue)
        for name in ["alone", "@host", "a@b@c", "a/b@host", "ä@host"] {
            let refused = try tool.run("serve", "data", "--everybody", "--node-name", name)
            #expect(refused.status == ExitCode.usage.rawValue, "\(name)")
        }
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
