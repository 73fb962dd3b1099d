// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Divan
import DivanHTTP
import DivanJSON
import DivanReplication
import DivanTestSupport
import Foundation
import Testing

@testable import DivanListener

/// A filter chooses the same documents by its parameters, whichever way these come to it.
@Suite(.timeLimit(.minutes(10))) struct FilterParameterTests {
    private let site: TestSite
    private let source: Database

    init() throws {
        site = try TestSite { $0.scripts = [PathRuntime()] }
        source = try site.manager.database(named: "source")
        for n in 0..<10 {
            let body: JSONObject = ["n": .integer(Int64(n)), "even": .bool(n % 2 == 0)]
            try source.save(MutableDocument(body, id: DocumentID("d\(n)")))
        }
        source.setFilter(named: "least") { document, parameters in
            guard let least = parameters["min"]?.int64 else { return false }
            return (document["n"].int64 ?? -1) >= least
        }
        source.setFilter(named: "equal") { document, parameters in
            parameters["of"]?.array?.contains(document["n"].value ?? .null) ?? false
                || document["n"].value == parameters["n"]
                || document["even"].value == parameters["even"]
        }
    }

    private func ids(_ database: Database) throws -> [DocumentID] {
        try database.allDocuments().map(\.id)
    }

    private static let choices: [(String, JSONObject, Int)] = [
        ("least", ["min": 7], 3), ("least", ["min": "7"], 0), ("equal", ["n": 3], 1),
        ("equal", ["n": 3.0], 0), ("equal", ["even": true], 5), ("equal", ["even": "true"], 0),
        ("equal", ["of": [1, 2, "x"], "a b,%é": .null], 2),
    ]

    @Test(arguments: 0..<7)
    func `numbers and Booleans choose the same by URL, in process and pushed`(choice: Int)
        async throws
    {
        let (filter, parameters, count) = Self.choices[choice]
        let listener = try site.listen()
        defer { listener.stop() }
        let url = try #require(listener.url(of: source))
        var settings = ReplicationConfiguration()
        (settings.filter, settings.filterParameters) = (filter, parameters)
        let targets = try ["url", "process", "pushed"].map { try Database.inMemory(named: $0) }
        try await targets[0].makePullReplication(from: url, settings: settings).run()
        try await targets[1].makePullReplication(from: source, settings: settings).run()
        try await source.makePushReplication(to: targets[2], settings: settings).run()
        for target in targets { #expect(try ids(target).count == count, "\(target.name)") }
        #expect(try ids(targets[0]) == ids(targets[1]))
        #expect(try ids(targets[0]) == ids(targets[2]))
        #expect(
            try source.changes(filter: filter, parameters: parameters).changes.count == count)
    }

    @Test func `other clients give texts, and a field of others means nothing`() throws {
        let path = "/source/_changes?filter=least&min=7"
        #expect(site.send("GET", path).json["results"]?.array?.isEmpty == true)
        for (field, count) in [("min", 3), ("other", 0), ("%zz", 0), (",,min", 3)] {
            let answer = site.send("GET", path, "", ["Divan-JSON-Parameters": field])
            #expect(answer.json["results"]?.array?.count == count, "\(field)")
        }
        let odd = site.send(
            "GET", "/source/_changes?filter=least&min=x", "",
            ["Divan-JSON-Parameters": "min"])
        #expect(odd.status == 200)
    }

    private static let names = [
        "active_only", "att_encoding_info", "attachments", "callback", "conflicts", "descending",
        "doc_ids", "feed", "filter", "heartbeat", "include_docs", "last-event-id", "limit",
        "seq_interval", "since", "style", "timeout", "Since", "LIMIT",
    ]

    @Test(arguments: names)
    func `a parameter with a name of the feed is refused, wherever the filter runs`(name: String)
        async throws
    {
        source.setFilter(named: "all") { _, _ in true }
        let target = try Database.inMemory(named: "target")
        // One that goes on ends, too: no other try can mend it.
        var settings = ReplicationConfiguration()
        settings.isContinuous = true
        settings.filter = "all"
        settings.filterParameters[name] = "5"
        for replication in [
            target.makePullReplication(from: "http://127.0.0.1:1/none", settings: settings),
            target.makePushReplication(to: "http://127.0.0.1:1/none", settings: settings),
            target.makePullReplication(from: source, settings: settings),
            source.makePushReplication(to: target, settings: settings),
        ] {
            let error = await #expect(throws: ReplicationError.self) {
                try await replication.run()
            }
            #expect(error?.code == .invalidSetting)
            #expect(error?.message.contains("'\(name)'") == true)
        }
        #expect(try target.documentCount == 0)
    }

    /// Sends `_replicate` from a thread that may wait, since its work is done on those of tasks.
    private func replicate(_ body: JSONValue) async -> TestAnswer {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(
                    returning: site.send("POST", "/_replicate", body.description))
            }
        }
    }

    @Test func `query_params with a name of the feed are refused, and pass without a filter`()
        async throws
    {
        var body: JSONObject = [
            "source": "source", "target": "target", "create_target": true, "filter": "least",
            "query_params": ["min": 7, "limit": 1],
        ]
        let refused = await replicate(.object(body))
        #expect(refused.status == 400)
        #expect(refused.json["reason"]?.string?.contains("'limit'") == true, "\(refused.text)")
        let jobs = try site.manager.database(named: "_replicator")
        try jobs.save(MutableDocument(body, id: "r"))
        await eventually {
            site.send("GET", "/_replicator/r").json["_replication_state"] == "failed"
        }
        let reason = site.send("GET", "/_replicator/r").json["_replication_state_reason"]?.string
        #expect(reason?.contains("'limit'") == true)
        // A view that is a filter is named by a parameter, which is no name of the feed's.
        body["query_params"] = ["min": 7, "view": "d/v"]
        #expect(await replicate(.object(body)).status == 200)
        #expect(try ids(try site.manager.database(named: "target")) == ["d7", "d8", "d9"])
        body["filter"] = nil
        body["query_params"] = ["limit": 1]
        #expect(await replicate(.object(body)).status == 200)
        #expect(try ids(try site.manager.database(named: "target")).count == 10)
    }

    @Test func `a filter of a design document gets texts, whichever way it is asked`() async throws
    {
        site.send("PUT", "/source/_design/d", #"{"language":"path","filters":{"f":"n"}}"#)
        let listener = try site.listen()
        defer { listener.stop() }
        let url = try #require(listener.url(of: source))
        var settings = ReplicationConfiguration()
        (settings.filter, settings.filterParameters) = ("d/f", ["than": 6])
        let targets = try ["url", "process", "pushed"].map { try Database.inMemory(named: $0) }
        try await targets[0].makePullReplication(from: url, settings: settings).run()
        try await targets[1].makePullReplication(from: source, settings: settings).run()
        try await source.makePushReplication(to: targets[2], settings: settings).run()
        for target in targets {
            #expect(try ids(target) == ["d7", "d8", "d9"], "\(target.name)")
        }
    }
}
