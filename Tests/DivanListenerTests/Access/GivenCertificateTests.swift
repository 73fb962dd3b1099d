// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanReplication
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// A listener that shows a certificate which an authority has issued, not one of its own making.
@Suite(.timeLimit(.minutes(10))) struct GivenCertificateTests {
    private static let program = "/usr/bin/openssl"
    private let site: TestSite
    private var folder: URL { site.folder.appending(path: "certificates") }

    init() throws { site = try TestSite() }

    private func run(_ arguments: String) throws {
        let process = try ChildProcess(
            Self.program, arguments.split(separator: " ").map(String.init), in: folder.path,
            output: .null, error: .null)
        struct Failed: Error { var arguments: String }
        guard process.wait() == 0 else { throw Failed(arguments: arguments) }
    }

    private func issue(_ name: String, by authority: String, _ extensions: String) throws {
        let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
        try run("req -new -subj /CN=\(name) \(key) -keyout \(name).key -out \(name).csr")
        try Data(extensions.utf8).write(to: folder.appending(path: "extensions"))
        try run(
            "x509 -req -in \(name).csr -CA \(authority).pem -CAkey \(authority).key -CAcreateserial "
                + "-days 2 -extfile extensions -out \(name).pem")
    }

    private func text(_ file: String) throws -> String {
        try String(contentsOf: folder.appending(path: file), encoding: .utf8)
    }

    @Test(
        .enabled(
            if: FileManager.default.isExecutableFile(atPath: program),
            "There is no openssl program to make certificates."))
    func `peers trust a given certificate by its authority, through those between`() async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for authority in ["root", "other"] {
            try run(
                "req -x509 -days 2 -subj /CN=\(authority) -newkey ec -pkeyopt "
                    + "ec_paramgen_curve:prime256v1 -nodes -keyout \(authority).key -out \(authority).pem"
            )
        }
        try issue("between", by: "root", "basicConstraints=critical,CA:true\n")
        try issue(
            "server", by: "between", "subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth\n")
        // The listener shows its certificate and the one between, as a server does.
        try Data((text("server.pem") + text("between.pem")).utf8)
            .write(to: folder.appending(path: "chain.pem"))
        let tls = try ListenerTLS(
            keyFile: folder.appending(path: "server.key"),
            certificateFile: folder.appending(path: "chain.pem"))
        let database = try site.manager.database(named: "notes")
        try database.put("a", ["n": 1], parent: nil)
        let listener = try site.listen { $0.tls = tls }
        defer { listener.stop() }
        let url = "https://127.0.0.1:\(try #require(listener.port))/notes"
        let here = try Database.inMemory()
        for (anchor, isTrusted) in [("other.pem", false), ("root.pem", true)] {
            var settings = ReplicationConfiguration()
            settings.proxy = .none
            settings.trust = .anchors(pem: try text(anchor), only: true)
            let pull = here.makePullReplication(from: url, settings: settings)
            pull.start()
            await pull.waitUntilEnded()
            #expect((pull.lastError == nil) == isTrusted)
            if !isTrusted { #expect(pull.lastError?.code == .untrusted) }
            #expect(try here.documentCount == (isTrusted ? 1 : 0))
        }
    }
}
