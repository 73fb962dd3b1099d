// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// Replications through a server that speaks HTTP/2 and hands on to a listener: nghttpx, where that is installed.
@Suite(.timeLimit(.minutes(10))) struct HTTP2Tests {
    /// Where nghttpx is; nil where it is not.
    private static let program = Machine.program("nghttpx")

    @Test(.enabled(if: program != nil, "It needs the program nghttpx (package nghttp2-proxy)."))
    func `HTTP/2 carries what is short, and content and feeds go apart`() async throws {
        let program = try #require(Self.program)
        let site = try TestSite()
        let there = try site.manager.database(named: "notes")
        let content = [UInt8](repeating: 7, count: 200_000)
        for n in 0..<250 { try there.put("d\(n)", ["n": .integer(Int64(n))], parent: nil) }
        try there.put("a", [:], parent: nil, attachments: ["a": .bytes(content)])
        let listener = try site.listen()
        defer { listener.stop() }
        let identity = site.folder.appending(path: "identity.pem")
        _ = try ListenerTLS.selfSigned(keptAt: identity)
        let log = site.folder.appending(path: "access.log")
        // A port that was free a moment ago.
        let free = try LoopbackServer()
        let port = free.port
        free.stop()
        let arguments = [
            "--frontend=127.0.0.1,\(port)", "--backend=127.0.0.1,\(try #require(listener.port))",
            "--workers=1", "--single-process", "--no-ocsp", "--accesslog-file=\(log.path)",
            "--accesslog-format=$alpn $request", "--errorlog-file=/dev/null", identity.path,
            identity.path,
        ]
        let proxy = try ChildProcess(program, arguments)
        defer {
            // It waits for its connections when it is asked to end.
            proxy.signal(SIGKILL)
            proxy.wait()
        }
        let here = try Database.inMemory(named: "here")
        let pull = try here.pull(from: "https://127.0.0.1:\(port)/notes") {
            $0.trust = .pinnedCertificates([try PEM.certificate(of: identity)])
            $0.proxy = .none
            $0.allowsHTTP2 = true
            $0.isContinuous = true
            // It may be asked before it listens.
            $0.retry.firstDelay = .milliseconds(50)
        }
        try await eventually { try here.documentCount >= 251 }
        #expect(try here.document(withID: "a")?.attachment(named: "a")?.content() == content)
        #expect(try here.documentCount == 251)
        await pull.stopAndWait()

        let push = here.makePushReplication(
            to: "https://127.0.0.1:\(port)/notes", settings: pull.settings
        ) { $0.isContinuous = false }
        for n in 0..<250 { try here.put("p\(n)", [:], parent: nil) }
        try here.put("b", [:], parent: nil, attachments: ["b": .bytes(content)])
        push.start()
        await push.waitUntilEnded()
        #expect(push.lastError == nil)
        #expect(try there.documentCount == 502)

        let lines = try String(contentsOf: log, encoding: .utf8).split(separator: "\n")
        func used(_ request: String) -> Set<Substring> {
            Set(lines.filter { $0.contains(request) }.compactMap { $0.split(separator: " ").first })
        }
        for short in ["POST /notes/_bulk_get", "POST /notes/_revs_diff", "POST /notes/_bulk_docs"] {
            #expect(used(short) == ["h2"], "\(short)")
        }
        for long in ["GET /notes/_changes", "GET /notes/a?", "PUT /notes/b?"] {
            #expect(used(long) == ["http/1.1"], "\(long)")
        }
    }
}
