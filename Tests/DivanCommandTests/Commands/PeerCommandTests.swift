// SPDX-License-Identifier: Apache-2.0

import DivanPeers
import DivanTestSupport
import Foundation
import Testing

@testable import DivanCommand

/// Two devices in a shell: `serve --qr`, `pair`, `peers`.
@Suite(.timeLimit(.minutes(10))) struct PeerCommandTests {
    let tool: TestTool

    init() throws { tool = try TestTool() }

    /// Starts a server that shows a link, and gives the link.
    private func serve(_ options: [String] = []) throws -> (child: TestTool.Child, link: String) {
        let child = try tool.start(
            [
                "serve", "ann", "--port", "0", "--host", "127.0.0.1", "--qr", "notes", "--name",
                "Ann",
            ]
                + options)
        guard child.waitForOutput("\ndivan://"), eventually({ child.output.hasSuffix("\n") }) else {
            Issue.record("There is no link: \(child.output)")
            return (child, "")
        }
        let link = child.output.split(separator: "\n").first { $0.hasPrefix("divan://") }
        return (child, String(link ?? ""))
    }

    @Test
    func `a device that is given the link is paired, both show the digits, and it may be revoked`()
        throws
    {
        let (server, link) = try serve()
        let paired = try tool.run("pair", link, "bob", "--name", "Bob")
        #expect(paired.status == 0, "\(paired.err)")
        #expect(paired.out.hasPrefix("Paired with Ann ("))
        #expect(server.waitForOutput("Pairing with Bob ("))
        let digits = try #require(paired.out.firstMatch(of: /show ([0-9]{3} [0-9]{3})\./)?.1)
        #expect(server.output.contains("show \(digits)."))

        // Both list the other; the JSON form has its ID.
        #expect(try tool.run("peers", "bob").out.contains("  Ann  notes"))
        let listed = try tool.run("peers", "ann", "--json").out
        #expect(listed.contains(#""name":"Bob""#))
        let id = try #require(listed.firstMatch(of: /"id":"([0-9a-f]{32})"/)?.1)

        // The link is used up.
        let again = try tool.run("pair", link, "carl")
        #expect(again.status == ExitCode.unauthorized.rawValue)
        #expect(again.err.contains("used already"))
        #expect(try tool.run("peers", "carl").out == "")

        #expect(try tool.run("peers", "ann", "--rename", "\(id)=Bob's phone").status == 0)
        #expect(try tool.run("peers", "ann").out.contains("  Bob's phone  notes"))
        #expect(try tool.run("peers", "ann", "--share", "\(id)=notes,photos").status == 0)
        #expect(try tool.run("peers", "ann").out.contains("notes, photos"))
        #expect(try tool.run("peers", "ann", "--revoke", String(id)).status == 0)
        #expect(try tool.run("peers", "ann").out == "")
        #expect(
            try tool.run("peers", "ann", "--revoke", String(id)).status
                == ExitCode.notFound.rawValue)
        server.interrupt()
        #expect(try server.wait().status == 0)
    }

    @Test func `documents that are here already are shared only if the user says so`() throws {
        let (server, link) = try serve()
        try FileManager.default.createDirectory(
            atPath: tool.path("bob"), withIntermediateDirectories: true)
        try tool.run("create", "bob/notes.divan")
        try tool.run("put", "bob/notes.divan", "mine", input: "{}")
        let refused = try tool.run("pair", link, "bob")
        #expect(refused.status == ExitCode.conflict.rawValue)
        #expect(refused.err.contains("--share-existing"))
        // The link was not used up by that. It may also come by standard input, out of the list of processes.
        let paired = try tool.run("pair", "-", "bob", "--share-existing", input: link + "\n")
        #expect(paired.status == 0, "\(paired.err)")
        server.interrupt()
        _ = try server.wait()
    }

    @Test func `a server that looks for its peers sends and fetches what they share`() throws {
        let (server, link) = try serve(["--nearby"])
        #expect(try tool.run("pair", link, "bob", "--name", "Bob").status == 0)
        #expect(try tool.run("create", "bob/notes.divan").status == 0)
        try tool.run("put", "bob/notes.divan", "of-bob", input: "{}")
        try tool.run("put", "ann/notes.divan", "of-ann", input: "{}")
        // Each finds the other where the link says, or by its greeting.
        let other = try tool.start(["nearby", "bob", "--host", "127.0.0.1"])
        for device in ["ann", "bob"] {
            #expect(
                try eventually {
                    let ids = try tool.run("ls", "\(device)/notes.divan").out
                    return ids.contains("of-ann") && ids.contains("of-bob")
                })
        }
        for child in [other, server] {
            child.interrupt()
            #expect(try child.wait().status == 0)
        }
    }

    @Test func `a database in the place of its directory is refused, and gets no key`() throws {
        try tool.run("create", "notes.divan")
        for words in [
            ["peers", "notes.divan"], ["nearby", "notes.divan"], ["users", "notes.divan"],
            ["serve", "notes.divan", "--qr", "notes"],
            ["serve", "notes.divan", "--tls", "--user", "a:b"],
        ] {
            let result = try tool.start(words).wait()
            #expect(result.status == ExitCode.badInput.rawValue, "\(words): \(result.err)")
            #expect(result.err.contains("is a database"), "\(words): \(result.err)")
        }
        #expect(!FileManager.default.fileExists(atPath: tool.path("notes.divan/listener.pem")))
        #expect(!FileManager.default.fileExists(atPath: tool.path("notes.divan/peers.json.lock")))
    }

    @Test func `encrypted databases are paired with their key`() throws {
        let (server, link) = try serve()
        let key = String(repeating: "0f", count: 32)
        let environment = ["KEY": key]
        try FileManager.default.createDirectory(
            atPath: tool.path("bob"), withIntermediateDirectories: true)
        try tool.run(
            "create", "bob/notes.divan", "--encryption-key", "env:KEY", environment: environment)
        let locked = try tool.run("pair", link, "bob")
        #expect(locked.status == ExitCode.unauthorized.rawValue)
        let paired = try tool.run(
            "pair", link, "bob", "--encryption-key", "env:KEY", environment: environment)
        #expect(paired.status == 0, "\(paired.err)")
        server.interrupt()
        _ = try server.wait()
    }

    @Test func `the code is drawn, and written to a file`() throws {
        let (server, link) = try serve(["--qr-background", "dark"])
        let drawing = try QRCode(link, correction: .low).terminal(on: .dark)
        #expect(server.output.contains(drawing))
        server.interrupt()
        _ = try server.wait()
        for form in ["svg", "png"] {
            let (server, _) = try serve(["--qr-file", "code.\(form)"])
            server.interrupt()
            _ = try server.wait()
            let bytes = try Data(contentsOf: tool.directory.appending(path: "code.\(form)"))
            #expect(bytes.starts(with: form == "svg" ? Data("<".utf8) : Data([0x89, 0x50])))
        }
    }

    @Test(
        arguments: [
            ["serve", "ann", "--qr-file", "x.svg"],
            ["serve", "ann", "--qr", "notes", "--qr-file", "x.gif"],
            ["serve", "ann", "--qr", "notes", "--qr-background", "red"],
            ["serve", "ann", "--qr", "notes", "--qr-seconds", "0"],
            ["serve", "ann", "--qr", "notes", "--everybody"],
            ["serve", "ann", "--peers", "--certificate", "a", "--key", "b"],
            ["serve", "ann", "--nearby", "--everybody"],
            ["serve", "ann", "--nearby", "--read-only"],
            ["serve", "ann", "--everybody", "--name", "Ann"],
            ["peers", "ann", "--rename", "x"], ["peers", "ann", "--revoke", "x", "--share", "x=a"],
            ["nearby", "ann", "--port", "70000"],
        ])
    func `options that do not fit are refused before anything is begun`(arguments: [String]) throws
    {
        let result = try tool.start(arguments).wait()
        #expect(result.status == ExitCode.usage.rawValue, "\(result.err)")
        // It has not listened: then it would have said where.
        #expect(result.out.isEmpty)
        #expect(!FileManager.default.fileExists(atPath: tool.path("x.svg")))
    }

    @Test func `a text that is no link, or leads nowhere, is refused in one sentence`() throws {
        let none = try tool.run("pair", "https://example.com", "bob")
        #expect(none.status == ExitCode.badInput.rawValue && none.err.contains("no peer link"))
        let (server, link) = try serve()
        server.interrupt()
        _ = try server.wait()
        let gone = try tool.run("pair", link, "bob")
        #expect(gone.status == ExitCode.failure.rawValue)
        #expect(gone.err.contains("answers at none"))
        #expect(!gone.err.contains("#1"))
    }
}
