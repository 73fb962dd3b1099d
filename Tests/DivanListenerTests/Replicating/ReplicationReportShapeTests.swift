// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Divan
import DivanHTTP
import DivanJSON
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// The names and types of what clients are told of replications. What is expected was read from CouchDB 3.4.3 with the
/// same requests. One thing differs: `bulk_get_docs` and `bulk_get_attempts` are not told.
@Suite(.timeLimit(.minutes(10))) struct ReplicationReportShapeTests {
    let site: TestSite
    let source: Database

    init() throws {
        site = try TestSite()
        source = try site.manager.database(named: "source")
        for id: DocumentID in ["a", "b", "c"] { try source.save(MutableDocument([:], id: id)) }
    }

    /// Sends `_replicate` from a thread that may wait, since its work is done on those of tasks.
    private func replicate(_ more: JSONObject) async -> JSONValue {
        var body: JSONObject = ["source": "source", "target": "target", "create_target": true]
        for (name, value) in more { body[name] = value }
        let (site, text) = (site, JSONValue.object(body).description)
        return await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(returning: site.send("POST", "/_replicate", text).json)
            }
        }
    }

    private func get(_ target: String) -> JSONValue { site.send("GET", target).json }

    // MARK: - Shapes

    private static let counts = [
        "doc_write_failures": "number", "docs_read": "number", "docs_written": "number",
    ]
    private static let entry = counts.merging([
        "session_id": "hex", "start_time": "RFC 1123", "end_time": "RFC 1123",
        "start_last_seq": "string", "end_last_seq": "string", "recorded_seq": "string",
        "missing_checked": "number", "missing_found": "number",
    ]) { $1 }
    /// The first run begins at the number 0.
    private static let firstEntry = ["start_last_seq": "number"]
    private static let answer = [
        "ok": "boolean", "session_id": "hex", "source_last_seq": "string",
        "replication_id_version": "number", "history": "array",
    ]
    private static let statistics = counts.merging([
        "revisions_checked": "number", "missing_revisions_found": "number",
        "changes_pending": "number", "checkpointed_source_seq": "string",
    ]) { $1 }
    private static let progress = statistics.merging([
        "source_seq": "string", "through_seq": "string",
    ]) { $1 }

    /// The members of an object with what they are.
    private func shape(_ value: JSONValue?) -> [String: String] {
        (value?.object ?? [:]).reduce(into: [:]) { $0[$1.key] = kind($1.value) }
    }

    private func kind(_ value: JSONValue) -> String {
        switch value {
        case .null: return "null"
        case .bool: return "boolean"
        case .array: return "array"
        case .object: return "object"
        case .string(let text):
            if HTTPDate.seconds(text) != nil { return "RFC 1123" }
            if text.hasSuffix("Z"), text.utf8.count == 20 { return "ISO 8601" }
            let isHex = text.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }
            return isHex && text.utf8.count == 32 ? "hex" : "string"
        default: return "number"
        }
    }

    private func expect(
        _ value: JSONValue?, _ shape: [String: String]...,
        location: SourceLocation = #_sourceLocation
    ) {
        let expected = shape.reduce(into: [:]) { $0.merge($1) { $1 } }
        #expect(self.shape(value) == expected, sourceLocation: location)
    }

    // MARK: - _replicate

    @Test func `a one-shot replication is answered with one entry for each run`() async throws {
        let first = await replicate([:])
        expect(first, Self.answer)
        #expect(first["history"]?.array?.count == 1)
        expect(first["history"]?[0], Self.entry, Self.firstEntry)
        for name in ["missing_checked", "missing_found", "docs_read", "docs_written"] {
            #expect(first["history"]?[0]?[name] == 3)
        }
        try source.save(MutableDocument([:], id: "d"))
        let second = await replicate([:])
        expect(second, Self.answer)
        #expect(second["history"]?[1] == first["history"]?[0])
        #expect(second["history"]?[0]?["start_last_seq"]?.place == 3)
        #expect(second["history"]?[0]?["recorded_seq"]?.place == 4)
        #expect(second["history"]?[0]?["missing_checked"] == 4)
        let idle = await replicate([:])
        expect(idle, Self.answer, ["no_changes": "boolean"])
        #expect(idle["history"] == second["history"])
    }

    @Test func `where there is nothing to replicate there is no history either`() async throws {
        _ = try site.manager.database(named: "empty")
        #expect(await replicate(["source": "empty"]) == ["ok": true, "no_changes": true])
    }

    @Test func `with doc_ids the newest run is told flat besides`() async throws {
        for more in [[:], ["no_changes": "boolean"]] {
            let answer = await replicate(["doc_ids": ["a", "b", "none"]])
            let times = ["start_time": "RFC 1123", "end_time": "RFC 1123"]
            expect(answer, Self.answer, Self.counts, times, more)
            expect(answer["history"]?[0], Self.entry, Self.firstEntry)
            #expect(answer["docs_written"] == 2 && answer["docs_read"] == 2)
            #expect(answer["history"]?[0]?["missing_checked"] == 2)
        }
    }

    @Test func `with an empty list of doc_ids nothing goes`() async throws {
        #expect(await replicate(["doc_ids": []])["ok"] == true)
        #expect(get("/target")["doc_count"] == 0)
        #expect(get("/target")["update_seq"]?.place == 0)
    }

    @Test func `checkpoints at both ends have the entries that were answered`() async throws {
        let answer = await replicate([:])
        for name in ["source", "target"] {
            let rows = get("/\(name)/_local_docs?include_docs=true")["rows"]
            let stored = try #require(rows?[0]?["doc"])
            #expect(stored["session_id"] == answer["session_id"])
            #expect(stored["source_last_seq"] == 3)
            #expect(stored["replication_id_version"] == 4)
            #expect(stored["lastSequence"] == "3")
            // Checkpoints count where the source is a database here.
            let own = [
                "run": "hex", "incarnation": kind(stored["history"]?[0]?["incarnation"] ?? nil),
                "start_last_seq": "number", "end_last_seq": "number", "recorded_seq": "number",
            ]
            expect(stored["history"]?[0], Self.entry, own)
        }
    }

    @Test func `cancelling is answered with the ID, and a source that is missing with an error`()
        async throws
    {
        let started = await replicate(["continuous": true])
        expect(started, ["ok": "boolean", "_local_id": "string"])
        expect(
            await replicate(["continuous": true, "cancel": true]),
            ["ok": "boolean", "_local_id": "string"])
        expect(
            await replicate(["continuous": true, "cancel": true]),
            ["error": "string", "reason": "string"])
        let missing = await replicate(["source": "missing"])
        expect(missing, ["error": "string", "reason": "string"])
        #expect(missing["error"] == "db_not_found")
    }

    // MARK: - Lists

    private static let task = progress.merging([
        "node": "string", "pid": "string", "process_status": "string", "type": "string",
        "checkpoint_interval": "number", "continuous": "boolean", "database": "null",
        "doc_id": "null", "replication_id": "string", "source": "string", "target": "string",
        "started_on": "number", "updated_on": "number", "user": "null",
    ]) { $1 }
    private static let job = [
        "database": "null", "doc_id": "null", "id": "string", "pid": "string", "node": "string",
        "user": "null", "source": "string", "target": "string", "info": "object",
        "history": "array", "start_time": "ISO 8601",
    ]
    private static let document = [
        "database": "string", "doc_id": "string", "id": "string", "node": "string",
        "source": "string", "target": "string", "state": "string", "info": "object",
        "error_count": "number", "last_updated": "ISO 8601", "start_time": "ISO 8601",
        "source_proxy": "null", "target_proxy": "null",
    ]

    @Test func `a continuous replication tells how far it is, and its counts only grow`()
        async throws
    {
        _ = await replicate(["continuous": true, "checkpoint_interval": 1_500])
        await eventually { get("/_active_tasks")[0]?["through_seq"]?.place == 3 }
        var task = get("/_active_tasks")[0]
        expect(task, Self.task)
        #expect(task?["source_seq"]?.place == 3 && task?["checkpoint_interval"] == 1_500)
        for name in ["revisions_checked", "missing_revisions_found", "docs_read", "docs_written"] {
            #expect(task?[name] == 3)
        }
        let job = get("/_scheduler/jobs")["jobs"]?[0]
        expect(job, Self.job)
        expect(job?["info"], Self.progress)
        #expect(job?["history"]?.array?.map { $0["type"] } == ["started", "added"])
        // Idle, it gets to work again.
        try source.save(MutableDocument([:], id: "d"))
        await eventually { get("/_active_tasks")[0]?["through_seq"]?.place == 4 }
        task = get("/_active_tasks")[0]
        #expect(task?["revisions_checked"] == 4 && task?["docs_written"] == 4)
        await eventually { get("/_active_tasks")[0]?["checkpointed_source_seq"]?.place == 4 }
    }

    @Test func `a document of _replicator is told of while it runs and when it is completed`()
        async throws
    {
        let ends = #""source":"source","target":"target","create_target":true"#
        site.send("PUT", "/_replicator/live", "{\(ends),\"continuous\":true}")
        await eventually {
            get("/_scheduler/docs/_replicator/live")["info"]?["through_seq"]?.place == 3
        }
        let live = get("/_scheduler/docs/_replicator/live")
        expect(live, Self.document)
        expect(live["info"], Self.progress)
        site.send("PUT", "/_replicator/once", "{\(ends),\"doc_ids\":[\"a\",\"b\"]}")
        await eventually { get("/_scheduler/docs/_replicator/once")["state"] == "completed" }
        let scheduled = get("/_scheduler/docs/_replicator/once")
        let start = ["start_time": "ISO 8601"]
        expect(scheduled, Self.document, ["id": "null"])
        expect(scheduled["info"], Self.statistics, start)
        let document = get("/_replicator/once")
        expect(document["_replication_stats"], Self.statistics, start)
        #expect(document["_replication_stats"]?["revisions_checked"] == 2)
    }

    @Test func `a source that says it has more changes than can be is listed`() async throws {
        let server = try LoopbackServer { request, connection in
            let path = request.target.split(separator: "?")[0].split(separator: "/").last ?? ""
            if path == "_bulk_get" { return connection.waitForClose() }
            let rows = #""results":[{"seq":1,"id":"far","changes":[{"rev":"1-abc"}]}]"#
            let body: String =
                switch path {
                case "_changes" where request.target.contains("since="):
                    #"{"results":[],"last_seq":1,"pending":0}"#
                case "_changes": "{\(rows),\"last_seq\":1,\"pending\":\(Int.max)}"
                default: "{}"
                }
            connection.respond(
                status: path.utf8.count == 40 ? 404 : 200,
                headers: [("Content-Type", "application/json")], body: Array(body.utf8))
        }
        defer { server.stop() }
        _ = await replicate([
            "source": .string("http://127.0.0.1:\(server.port)/db"), "continuous": true,
        ])
        await eventually { (get("/_active_tasks")[0]?["missing_revisions_found"]) == 1 }
        #expect(get("/_active_tasks")[0]?["changes_pending"]?.int64 ?? -1 >= 1)
        site.router.site.end()
    }

    @Test func `what fails for now is crashing, with when and why`() async throws {
        let port = try LoopbackServer()
        port.stop()
        let body = #"{"source":"http://127.0.0.1:PORT/db","target":"source","continuous":true}"#
            .replacingOccurrences(of: "PORT", with: "\(port.port)")
        site.send("PUT", "/_replicator/r", body)
        // All is read from one answer, since it tries again between two.
        var document: JSONValue = [:]
        await eventually {
            document = get("/_scheduler/docs/_replicator/r")
            return document["state"] == "crashing"
        }
        expect(document, Self.document)
        #expect(document["error_count"]?.int64 ?? 0 >= 1)
        expect(
            document["info"], Self.progress, ["error": "string"],
            [
                "source_seq": "string", "through_seq": "string",
                "checkpointed_source_seq": "string",
            ])
        await eventually {
            get("/_scheduler/jobs")["jobs"]?[0]?["history"]?[0]?["type"] == "crashed"
        }
        let history = get("/_scheduler/jobs")["jobs"]?[0]?["history"]
        let event = ["type": "string", "timestamp": "ISO 8601"]
        expect(history?[0], event, ["reason": "string"])
        #expect(history?.array?.suffix(2).map { $0["type"] } == ["started", "added"])
        site.router.site.end()
    }
}
