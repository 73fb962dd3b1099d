// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanLogging
import DivanTestSupport
import Synchronization
import Testing

@testable import DivanReplication

/// What the log tells of replications whose other end says words of its own.
@Suite(.timeLimit(.minutes(5))) struct LoggedReplicationErrorTests {
    /// What is logged of databases of one name.
    private final class Messages: LogSink {
        let name = "r\(UInt64.random(in: 0...UInt64.max))"
        let kept = Mutex<[String]>([])

        func write(_ entry: LogEntry) {
            if entry.message.contains(name) { kept.withLock { $0.append(entry.message) } }
        }
    }

    @Test func `a server's words about a document are shown, and not logged`() {
        let error = ReplicationError(ofDocument: "a", error: "forbidden", reason: "secret")
        #expect(error.description.contains("secret"))
        #expect(!error.logged.contains("secret"))
        #expect(error.logged.contains("'a'") && error.logged.contains("(forbidden)"))
        let others = ReplicationError(.timeout, "It took too long.")
        #expect(others.logged == others.description)
    }

    @Test func `the words of a function that refuses a document are not logged`() async throws {
        let messages = Messages()
        Log.add(messages, levels: LogLevels(.verbose))
        defer { Log.remove(messages) }
        let here = try Database.inMemory(named: messages.name)
        let there = try Database.inMemory(named: "there")
        _ = try here.put("a", ["text": "content"], parent: nil)
        there.setValidation(named: "no") { revision, context in
            throw context.rejection("secret \(revision["text"].string ?? "")")
        }
        let push = here.makePushReplication(to: there)
        _ = try? await push.run()
        #expect(push.lastError?.message.contains("secret") == true)
        await eventually { messages.kept.withLock { $0.contains { $0.hasPrefix("Ended") } } }
        let all = messages.kept.withLock { $0 }
        #expect(all.contains { $0.contains("A function refuses 'a'") }, "\(all)")
        #expect(!all.contains { $0.contains("secret") || $0.contains("content") }, "\(all)")
    }
}
