// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import DivanJavaScript
import DivanLogging
import DivanTestSupport
import Dispatch
import Synchronization
import Testing

@testable import DivanListener

/// Filters of design documents that throw, over a socket: what the client of a feed is told, and when.
@Suite(.enabled(if: ScriptEngine.isHere, ScriptEngine.need), .timeLimit(.minutes(5)))
struct FailingFilterTests {
    private static let design: JSONValue = [
        "filters": [
            "type": "function(doc) { return doc.missing.name == 'secret'; }",
            "forbidden": "function() { throw {forbidden: 'no'}; }",
            "named": "function() { throw {error: 'forbidden', reason: 'no'}; }",
            "last": "function(doc) { if (doc.n >= 1500) throw new Error(doc.name); return false; }",
            "late": """
            function(doc) { if (doc.n >= 1500) throw new RangeError(doc.name); return doc.n != null; }
            """,
        ]
    ]

    private let scripts: ScriptSite
    private let listener: Listener

    init() throws {
        let scripts = try ScriptSite(Self.design)
        self.scripts = scripts
        listener = try scripts.site.listen { options in
            options.scripts = [JavaScriptRuntime(program: ScriptEngine.program)]
        }
    }

    private func answer(_ query: String) throws -> (status: Int, body: JSONValue)? {
        let client = try RawClient(port: listener.port ?? 0)
        client.request("GET", "/db/_changes?\(query)")
        return client.answer().map {
            ($0.status, (try? JSONParser.parse(String(decoding: $0.body, as: UTF8.self))) ?? .null)
        }
    }

    @Test(arguments: ["normal", "longpoll", "continuous", "eventsource"])
    func `a filter that throws before a row was sent is answered with its error`(mode: String)
        throws
    {
        defer { listener.stop() }
        try scripts.fill(1)
        let typed = try #require(try answer("feed=\(mode)&filter=d/type"))
        #expect(typed.status == 500)
        #expect(typed.body["error"] == "TypeError")
        #expect(typed.body["reason"]?.string?.hasPrefix("TypeError: ") == true)
        let thrown = try #require(try answer("feed=\(mode)&filter=d/forbidden"))
        #expect(thrown.status == 500)
        #expect(thrown.body == ["error": "unnamed_error", "reason": #"{"forbidden":"no"}"#])
        let named = try #require(try answer("feed=\(mode)&filter=d/named"))
        #expect(named.status == 403)
        #expect(named.body == ["error": "forbidden", "reason": "no"])
        // The next request finds a process, and a feed that waits has a head.
        let well = try #require(try answer("feed=\(mode)&filter=d/last&timeout=50&limit=3"))
        #expect(well.status == 200)
    }

    @Test func `a filter that throws after a thousand documents that it leaves out is answered`()
        throws
    {
        defer { listener.stop() }
        try scripts.fill(1_600)
        let answer = try #require(try answer("filter=d/last"))
        #expect(answer.status == 500)
        #expect(answer.body["error"] == "Error")
    }

    /// The messages of the log that name the database's design document.
    private final class Messages: LogSink {
        let kept = Mutex<[String]>([])

        func write(_ entry: LogEntry) {
            guard entry.message.contains("'_design/d'") else { return }
            kept.withLock { $0.append(entry.message) }
        }
    }

    @Test
    func `a filter that throws after a row was sent breaks the answer off, and the log names it`()
        throws
    {
        defer { listener.stop() }
        try scripts.fill(1_600)
        let messages = Messages()
        Log.add(messages, levels: LogLevels(.error))
        defer { Log.remove(messages) }
        let client = try RawClient(port: listener.port ?? 0)
        client.request("GET", "/db/_changes?filter=d/late")
        #expect(client.read(until: "\r\n\r\n")?.hasPrefix("HTTP/1.1 200") == true)
        #expect(client.read(until: #""id":"d0""#) != nil)
        // Closed, without the chunk that is the last.
        #expect(client.read(until: "\r\n0\r\n") == nil)
        #expect(!client.isSilent)
        eventually {
            messages.kept.withLock { all in
                all.contains { $0.contains("The filter 'late' of '_design/d'") }
            }
        }
        let all = messages.kept.withLock { $0 }
        #expect(all.contains { $0.contains("RangeError") })
        #expect(!all.contains { $0.contains("N1500") })
    }

    @Test func `a replication whose filter throws fails once, and says which one`() async throws {
        defer { listener.stop() }
        try scripts.fill(1)
        let target = try TestSite()
        _ = try target.manager.database(named: "target")
        // From a database here, and from one behind a URL.
        let own = await replicate("db", scripts.site)
        #expect(own.status == 500)
        #expect(own.json["reason"]?.string?.contains("The filter 'type' of '_design/d'") == true)
        let far = await replicate("http://127.0.0.1:\(listener.port ?? 0)/db", target)
        #expect(far.status == 500)
        let reason = far.json["reason"]?.string ?? ""
        #expect(reason.contains("The filter 'd/type' fails."), "\(far.text)")
        #expect(reason.contains("TypeError"))
        for answer in [own, far] {
            #expect(answer.json["reason"]?.string?.contains("tries") == false, "\(answer.text)")
        }
    }

    private func replicate(_ source: JSONValue, _ site: TestSite) async -> TestAnswer {
        let body: JSONValue = [
            "source": source, "target": "target", "create_target": true, "filter": "d/type",
        ]
        return await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(
                    returning: site.send("POST", "/_replicate", body.description))
            }
        }
    }
}
