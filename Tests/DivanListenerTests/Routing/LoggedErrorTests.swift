// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanDatabase
import DivanDesign
import DivanLogging
import DivanTestSupport
import Synchronization
import Testing

@testable import DivanListener

/// What the log tells of errors whose words are a script's, which may have content of documents.
@Suite struct LoggedErrorTests {
    /// The messages that have a mark of the test's own.
    private final class Messages: LogSink {
        let mark = "m\(UInt64.random(in: 0...UInt64.max))"
        private let kept = Mutex<[String]>([])

        func write(_ entry: LogEntry) {
            if entry.message.contains(mark) { kept.withLock { $0.append(entry.message) } }
        }

        /// The first message that comes, once a closure has run.
        func during(_ body: () -> Void) -> String? {
            Log.add(self, levels: LogLevels(.verbose))
            defer { Log.remove(self) }
            body()
            eventually { kept.withLock { !$0.isEmpty } }
            return kept.withLock { $0.first }
        }
    }

    private let refusal = DatabaseError(
        .forbidden, "secret", documentID: "a",
        underlying: ScriptError.script(name: "Error", reason: "secret"))

    @Test func `a request that a script's error ends is logged without the script's words`() throws
    {
        let messages = Messages()
        let told = messages.during {
            let answer = ErrorResponse.response(to: refusal, of: "GET /\(messages.mark)")
            #expect(TestAnswer(answer).json["reason"] == "secret")
        }
        let message = try #require(told)
        #expect(!message.contains("secret"))
        #expect(message.contains("'a'") && message.contains("forbidden"))
        #expect(message.contains("(Error)"))
    }

    @Test func `a change that fails for no fault of its client is logged`() throws {
        let messages = Messages()
        let told = messages.during {
            do {
                try Call.naming("a") { throw DatabaseError(.io, "the disk") }
            } catch { _ = ErrorResponse.response(to: error, of: "PUT /\(messages.mark)") }
        }
        #expect(try #require(told).contains("the disk"))
        #expect(throws: HTTPFailure.conflict) {
            try Call.naming("a") { throw DatabaseError(.documentNotFound, "a") }
        }
    }

    @Test func `a document that a script's error leaves out is logged without the script's words`()
        throws
    {
        let messages = Messages()
        let told = messages.during {
            _ = ErrorResponse.told(refusal, of: DocumentID(messages.mark))
        }
        #expect(try !#require(told).contains("secret"))
    }

    @Test func `the words of an app's validation are not logged, and those of the database are`()
        throws
    {
        let error = DatabaseError(.forbidden, "secret", documentID: "a")
        let full = DatabaseError(.storageFull, "The disk is full.")
        for (error, isTold) in [(error, false), (full, true)] {
            #expect(Log.words(of: error).contains(error.message) == isTold)
            #expect(Log.words(of: error).contains(error.code.rawValue))
        }
    }

    @Test func `the log says which design document refuses, and a replication says no more`() throws
    {
        let site = try ScriptSite([
            "validate_doc_update": "function(doc) { throw 'secret ' + doc.text }"
        ])
        let error = #expect(throws: DatabaseError.self) {
            _ = try site.database.put("a", ["text": "content"], parent: nil)
        }
        let logged = Log.words(of: try #require(error))
        #expect(logged.contains("'_design/d'"))
        #expect(!logged.contains("secret") && !logged.contains("content"))
    }
}
