// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanListener
import DivanTestSupport
import Foundation
import Synchronization
import Testing

/// The version, wherever it is told.
@Suite(.timeLimit(.minutes(10))) struct VersionTests {
    @Test func `one version is told by the manager, the server, the client and the tool`()
        async throws
    {
        let version = Manager.version
        #expect(version.split(separator: ".").compactMap { Int($0) }.count == 3)
        let tool = try TestTool()
        #expect(try tool.run("--version").out.contains(version))

        let manager = try Manager(directory: tool.directory.appendingPathComponent("server"))
        var options = ListenerOptions()
        options.access = .everybodyOnLoopback
        let listener = Listener(manager, options)
        try listener.start()
        defer {
            listener.stop()
            manager.close()
        }
        let transport = try CurlTransport()
        defer { transport.close() }
        let root = try HTTPURL("http://127.0.0.1:\(try #require(listener.port))/")
        let answer = try await transport.send(HTTPRequest(.get, root))
        #expect(answer.headers["Server"] == "CouchDB/3.4.3 (Divan/\(version))")
        let welcome = try JSONParser.parse(try await answer.body.collect())
        #expect(welcome["vendor"]?["version"]?.string == version)

        let agents = Mutex<Set<String>>([])
        let server = try LoopbackServer { request, connection in
            _ = agents.withLock { $0.insert(request.headers["user-agent"] ?? "none") }
            connection.respond(status: 404)
        }
        defer { server.stop() }
        let here = try Database.inMemory(named: "here")
        let pull = here.makePullReplication(from: "http://127.0.0.1:\(server.port)/there")
        pull.start()
        await pull.waitUntilEnded()
        #expect(agents.withLock { $0 } == ["Divan/\(version)"])
    }
}
