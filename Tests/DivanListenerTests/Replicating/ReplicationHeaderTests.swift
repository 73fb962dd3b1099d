// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestSupport
import Testing

@testable import DivanListener

/// Header fields that a client gives for the requests of a replication.
@Suite(.timeLimit(.minutes(5))) struct ReplicationHeaderTests {
    private static let framing = [
        "Content-Length", "content-length", "Transfer-Encoding", "Connection", "Host", "HOST",
        "Upgrade", "Expect", "TE", "Trailer", "Keep-Alive", "Proxy-Connection",
    ]

    private static func body(_ field: String) -> JSONObject {
        let end: JSONValue = [
            "url": "http://127.0.0.1:1/db", "headers": .object([field: "5"]),
        ]
        return ["source": end, "target": "here"]
    }

    @Test(arguments: framing)
    func `a field that belongs to the connection is refused`(field: String) throws {
        let site = try TestSite()
        _ = try site.manager.database(named: "here")
        let answer = site.send(
            "POST", "/_replicate", JSONValue.object(Self.body(field)).description)
        #expect(answer.status == 400)
        #expect(answer.json["reason"]?.string?.contains("'\(field)'") == true)
    }

    @Test func `a document with such a field is refused, and has failed where it was there before`()
        async throws
    {
        let site = try TestSite()
        _ = try site.manager.database(named: "here")
        let body = JSONValue.object(Self.body("Host")).description
        let put = site.send("PUT", "/_replicator/r", body)
        #expect(put.status == 403)
        #expect(put.json["reason"]?.string?.contains("'Host'") == true)
        let database = try site.manager.database(named: "_replicator")
        try database.save(MutableDocument(Self.body("Host"), id: "r"))
        await eventually {
            site.send("GET", "/_replicator/r").json["_replication_state"] == "failed"
        }
        let reason = site.send("GET", "/_replicator/r").json["_replication_state_reason"]?.string
        #expect(reason?.contains("'Host'") == true)
    }

    @Test(arguments: framing)
    func `an app's replication with such a field ends at once, also a continuous one`(field: String)
        async throws
    {
        var settings = ReplicationConfiguration()
        settings.isContinuous = true
        settings.headers = [field: "5"]
        let database = try Database.inMemory(named: "db")
        let replication = database.makePullReplication(
            from: "http://127.0.0.1:1/db", settings: settings)
        let error = await #expect(throws: ReplicationError.self) { try await replication.run() }
        #expect(error?.code == .invalidSetting && error?.message.contains("'\(field)'") == true)
    }

    @Test func `other fields are taken`() throws {
        for field in ["Authorization", "X-Team", "Cookie", "Accept-Language"] {
            let request = try ReplicateRequest(Self.body(field), hosts: [])
            #expect(request.settings.headers[field] == "5")
        }
    }
}
