// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import DivanLogging
import DivanTestSupport
import Foundation
import Synchronization
import Testing

@testable import DivanListener

/// `validate_doc_update` of design documents, which is JavaScript that nothing here runs.
@Suite(.timeLimit(.minutes(10))) struct DesignValidationTests {
    private static let function = #"function(n){throw({forbidden:\"no\"});}"#
    private static let design = #"{"validate_doc_update":"\#(function)"}"#

    /// The warnings about databases of one name.
    private final class Warnings: LogSink {
        private let name = "w\(UInt64.random(in: 0...UInt64.max))"
        private let kept = Mutex<[String]>([])

        func write(_ entry: LogEntry) {
            guard entry.level == .warning, entry.message.contains("'\(name)'") else { return }
            kept.withLock { $0.append(entry.message) }
        }

        /// Runs a closure with a name for its database, and gives what was said of it.
        static func during(_ body: (String) throws -> Void) rethrows -> [String] {
            let sink = Warnings()
            Log.add(sink, levels: LogLevels(.warning))
            defer { Log.remove(sink) }
            try body(sink.name)
            // Another thread may be delivering what was said. Entries come in order, so this is the last.
            let last = "The test of '\(sink.name)' is over."
            Log.listener.warning(last)
            eventually { sink.kept.withLock { $0.last == last } }
            return sink.kept.withLock { $0.dropLast() }
        }
    }

    private func site(_ edit: (inout ListenerOptions) -> Void = { _ in }) throws -> TestSite {
        let site = try TestSite(edit)
        site.send("PUT", "/db")
        return site
    }

    private static func replicated(_ digest: String) -> String {
        #"{"_id":"_design/auth","_rev":"1-\#(digest)",\#(design.dropFirst())"#
    }

    // MARK: - New edits

    @Test func `a new edit whose validation nothing runs is refused, whatever makes it`() throws {
        let site = try site()
        site.send("PUT", "/db/plain", Self.design)
        let calls: [(String, String, String, HTTPHeaders)] = [
            ("PUT", "/db/_design/auth", Self.design, [:]),
            ("POST", "/db", #"{"_id":"_design/auth",\#(Self.design.dropFirst())"#, [:]),
            ("COPY", "/db/plain", "", ["Destination": "_design/auth"]),
        ]
        for (method, path, body, headers) in calls {
            let answer = site.send(method, path, body, headers)
            #expect(answer.status == 501, "\(method)")
            #expect(answer.json["error"] == "not_implemented")
            #expect(answer.json["reason"]?.string?.contains("'_design/auth'") == true)
        }
        #expect(site.send("GET", "/db/_design/auth").status == 404)
        // Where it is null or nowhere there is nothing to run, and other documents may have what they like.
        #expect(
            site.send("PUT", "/db/_design/none", #"{"validate_doc_update":null}"#).status != 501)
        #expect(site.send("PUT", "/db/_design/view", #"{"views":{}}"#).status == 201)
    }

    @Test func `among others it is refused alone`() throws {
        let site = try site()
        let answer = site.send(
            "POST", "/db/_bulk_docs",
            #"{"docs":[{"_id":"a"},{"_id":"_design/auth",\#(Self.design.dropFirst()),{"_id":"b"}]}"#
        )
        #expect(answer.status == 201)
        #expect(answer.json[0]?["ok"] == true && answer.json[2]?["ok"] == true)
        #expect(answer.json[1]?["error"] == "not_implemented")
        #expect(site.send("GET", "/db").json["doc_count"] == 2)
    }

    @Test func `one that was replicated can lose the function or go, not be edited with it`() throws
    {
        let site = try site()
        let stored = site.send(
            "PUT", "/db/_design/auth?new_edits=false", Self.replicated("abc"))
        #expect(stored.status == 201)
        let attachment = site.send(
            "PUT", "/db/_design/auth/file?rev=1-abc", "text", ["Content-Type": "text/plain"])
        #expect(attachment.status == 501)
        let edited = site.send(
            "PUT", "/db/_design/auth?rev=1-abc",
            #"{"more":1,\#(Self.design.dropFirst())"#)
        #expect(edited.status == 501)
        let freed = site.send("PUT", "/db/_design/auth?rev=1-abc", #"{"views":{}}"#)
        #expect(freed.status == 201)
        let rev = freed.json["rev"]?.string ?? ""
        #expect(site.send("DELETE", "/db/_design/auth?rev=\(rev)").status == 200)
    }

    @Test func `a listener that is told so stores it, with a warning for each revision`() throws {
        let site = try TestSite { $0.acceptsUnrunValidation = true }
        let warnings = try Warnings.during { (name: String) throws in
            site.send("PUT", "/\(name)")
            let first = site.send("PUT", "/\(name)/_design/auth", Self.design)
            #expect(first.status == 201)
            let rev = first.json["rev"]?.string ?? ""
            // The same edit once more makes no revision.
            #expect(site.send("PUT", "/\(name)/_design/auth", Self.design).status != 501)
            let second = site.send(
                "PUT", "/\(name)/_design/auth?rev=\(rev)", #"{"n":1,\#(Self.design.dropFirst())"#)
            #expect(second.status == 201)
            #expect(
                try site.manager.database(named: name).unrunValidations() == ["_design/auth"])
        }
        #expect(warnings.count == 2)
        #expect(
            warnings.allSatisfy { $0.contains("'_design/auth'") && !$0.contains("function(n)") })
    }

    // MARK: - What arrives

    @Test func `what arrives is stored, and told of once a revision`() throws {
        let site = try TestSite()
        let warnings = try Warnings.during { (name: String) throws in
            site.send("PUT", "/\(name)")
            for _ in 0..<2 {
                let one = site.send(
                    "PUT", "/\(name)/_design/auth?new_edits=false", Self.replicated("abc"))
                #expect(one.status == 201)
                let many = site.send(
                    "POST", "/\(name)/_bulk_docs",
                    #"{"new_edits":false,"docs":[\#(Self.replicated("def"))]}"#)
                #expect(many.status == 201 && many.json == [])
            }
            let info = site.send("GET", "/\(name)/_design/auth/_info").json
            #expect(info["validate_doc_update"] == ["is_run": false])
            #expect(
                try site.manager.database(named: name).unrunValidations() == ["_design/auth"])
        }
        #expect(warnings.count == 2)
    }

    @Test(arguments: [true, false])
    func `a replication brings it, from either side`(isPush: Bool) async throws {
        let there = try Database.inMemory(named: "there")
        let here = try Database.inMemory(named: "here")
        try there.put("_design/auth", ["validate_doc_update": "function(){}"], parent: nil)
        let replication =
            isPush
            ? there.makePushReplication(to: here) : here.makePullReplication(from: there)
        replication.start()
        await replication.waitUntilEnded()
        #expect(try here.unrunValidations() == ["_design/auth"])
    }

    // MARK: - The app's own

    @Test func `a validation of the app under the document's name stands for its function`() throws
    {
        let site = try site()
        let database = try site.manager.database(named: "db")
        database.setValidation(named: "_design/auth") { revision, context in
            guard revision["type"].string == "note" || revision.id.text.hasPrefix("_design/") else {
                throw context.rejection("Only notes.")
            }
        }
        #expect(site.send("PUT", "/db/_design/auth", Self.design).status == 201)
        #expect(site.send("PUT", "/db/_design/other", Self.design).status == 501)
        #expect(site.send("PUT", "/db/a", "{}").json["reason"] == "Only notes.")
        #expect(site.send("PUT", "/db/b", #"{"type":"note"}"#).status == 201)
        #expect(try database.unrunValidations() == [])
        let info = site.send("GET", "/db/_design/auth/_info").json
        #expect(info["validate_doc_update"] == ["is_run": true])
        database.removeValidation(named: "_design/auth")
        #expect(try database.unrunValidations() == ["_design/auth"])
    }
}
