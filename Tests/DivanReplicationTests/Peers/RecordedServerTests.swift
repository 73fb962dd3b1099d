// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanReplication
import DivanTestSupport
import Synchronization
import Testing

/// Replications with servers that answer as others did when they were recorded: CouchDB, the listener of Couchbase Lite
/// 1.4, and one that answers as a Sync Gateway does.
@Suite(.timeLimit(.minutes(10))) struct RecordedServerTests {
    struct Recording: Sendable, CustomStringConvertible {
        var script: String
        var database: String
        var description: String { "\(script) \(database)" }
    }

    private static let pulls = [
        Recording(script: "cbl14-to-cbl14", database: "wire"),
        Recording(script: "cbl14-to-couchdb", database: "wire"),
        Recording(script: "cbl14-to-syncgateway-like", database: "wiresg"),
        Recording(script: "couchdb-to-couchdb", database: "wsrc"),
        Recording(script: "pouchdb-to-couchdb", database: "pouchwire"),
    ]
    private static let pushes = [
        Recording(script: "cbl14-to-cbl14", database: "wire"),
        Recording(script: "cbl14-to-couchdb", database: "wire"),
        Recording(script: "cbl14-to-syncgateway-like", database: "wiresg"),
        Recording(script: "couchdb-to-couchdb", database: "wdst"),
        Recording(script: "pouchdb-to-couchdb", database: "pouchwire"),
    ]

    private func replicate(
        _ server: RecordedServer, _ make: (String) -> Replication
    ) async throws -> ReplicationSummary {
        let served = try server.serve()
        defer { served.stop() }
        let summary = try await make("http://127.0.0.1:\(served.port)/\(server.database)").run()
        #expect(summary.refused == 0 && summary.documentErrors.isEmpty)
        return summary
    }

    /// What an app wrote into a document.
    private func properties(_ document: JSONValue?) -> JSONObject {
        JSONObject((document?.object ?? [:]).filter { !$0.key.hasPrefix("_") })
    }

    @Test(arguments: pulls)
    func `a pull from a recorded server brings the documents that it had`(recording: Recording)
        async throws
    {
        let script = try WireScript(named: recording.script)
        let server = RecordedServer(script, recording.database)
        let here = try Database.inMemory(named: "here")
        _ = try await replicate(server) { url in
            here.makePullReplication(from: url) {
                $0.proxy = .none
                $0.retry.maximumAttempts = 1
            }
        }
        let feed = script.exchanges.first {
            $0.components.first == recording.database && $0.isWholeFeed
        }
        let rows = try #require(feed?.answer.documents.first?["results"]?.array)
        #expect(!rows.isEmpty)
        for row in rows {
            let id = row["id"]?.string ?? ""
            let told = (row["changes"]?.array ?? []).compactMap { $0["rev"]?.string }
            let leaves = try here.leafRevisions(of: DocumentID(id))
            #expect(Set(leaves.map(\.revisionID.description)) == Set(told), "\(id)")
            for leaf in leaves {
                let had = script.documents(of: recording.database).first {
                    $0.json["_id"]?.string == id
                        && $0.json["_rev"]?.string == leaf.revisionID.description
                }
                #expect(properties(leaf.body.jsonValue()) == properties(had?.json))
                try expect(leaf, toHave: had?.json["_attachments"]?.object ?? [:])
            }
        }
    }

    private func expect(_ document: Document, toHave stubs: JSONObject) throws {
        #expect(Set(document.attachmentNames) == Set(stubs.keys))
        for (name, stub) in stubs {
            let content = try document.attachment(named: name)?.content()
            let length = stub["length"]?.int64.map { Int($0) }
            #expect(content?.count == length ?? stub["data"]?.string.flatMap(Base64.decode)?.count)
            if name == "big.bin" { #expect(content == WireMessage.made(content?.count ?? 0)) }
        }
    }

    @Test(arguments: pushes)
    func `a push to a recorded server sends what the recorded client sent`(recording: Recording)
        async throws
    {
        let script = try WireScript(named: recording.script)
        let server = RecordedServer(script, recording.database)
        let here = try Database.inMemory(named: "here")
        let sent = script.documents(of: recording.database, pushed: true)
        for document in sent {
            let wired = try WireDocument(
                parsing: Array(JSONWriter.string(document.whole).utf8).span)
            guard case .stored? = try await LocalPeer(here).put([wired]).first else {
                Issue.record("\(document.json["_id"] ?? .null) is not stored")
                continue
            }
        }
        _ = try await replicate(server) { url in
            here.makePushReplication(to: url) {
                $0.proxy = .none
                $0.retry.maximumAttempts = 1
            }
        }
        let received = server.received.withLock { $0 }.flatMap { message in
            message.documents.flatMap { $0["docs"]?.array ?? [$0] }
        }
        func name(_ document: JSONValue) -> String {
            "\(document["_id"]?.string ?? "") \(document["_rev"]?.string ?? "")"
        }
        #expect(received.map(name).sorted() == sent.map { name($0.json) }.sorted())
        for document in received {
            let wanted = sent.first { name($0.json) == name(document) }?.json
            #expect(properties(document) == properties(wanted))
            #expect(document["_revisions"] == wanted?["_revisions"])
            #expect(document["_deleted"] == wanted?["_deleted"])
            let (had, has) = (wanted?["_attachments"]?.object, document["_attachments"]?.object)
            #expect(Set((had ?? [:]).keys) == Set((has ?? [:]).keys))
        }
    }
}
