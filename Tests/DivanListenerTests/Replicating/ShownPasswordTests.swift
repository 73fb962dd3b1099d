// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON
import DivanTestSupport
import Testing

@testable import DivanListener

/// What others see of a replication whose URL was written wrongly: never its password.
@Suite(.timeLimit(.minutes(5))) struct ShownPasswordTests {
    private static let places = [
        "http://ann:LEAK/ret@127.0.0.1:1/db", "http://ann:12/LEAK@127.0.0.1:1/db",
        "http://ann:LEAK?x@127.0.0.1:1/db", "http://ann:LEAK#@127.0.0.1:1/db",
        "http://127.0.0.1:1/db?password=LEAK", "http:/ann:LEAK@h/db", "//ann:LEAK@h/db",
        "ann:LEAK@h/db", "ftp://ann:LEAK@h/db",
    ]

    private static func bodies(_ place: String) -> [JSONValue] {
        [
            ["source": .string(place), "target": "here"],
            ["source": "here", "target": .string(place)],
        ]
    }

    @Test(arguments: places)
    func `no list and no reason shows a password`(place: String) async throws {
        let site = try TestSite()
        _ = try site.manager.database(named: "here")
        for (index, body) in Self.bodies(place).enumerated() {
            let put = site.send("PUT", "/_replicator/r\(index)", body.description)
            #expect(!put.text.contains("LEAK"))
            // A document whose form is wrong is not stored.
            guard put.status == 201 else { continue }
            await eventually {
                let one = site.send("GET", "/_scheduler/docs/_replicator/r\(index)").json
                let isOver = one["state"] == "failed" || one["state"] == "crashing"
                return isOver || one["info"]?["error"]?.string != nil
            }
            let document = site.send("GET", "/_replicator/r\(index)").json
            let reason = document["_replication_state_reason"]?.string ?? ""
            #expect(!reason.contains("LEAK"))
        }
        for path in ["/_scheduler/docs", "/_scheduler/jobs", "/_active_tasks"] {
            let text = site.send("GET", path).text
            #expect(!text.contains("LEAK"), "\(path): \(text)")
        }
    }

    @Test(arguments: places)
    func `no refusal of a request shows a password`(place: String) {
        for body in Self.bodies(place) {
            guard let request = try? ReplicateRequest(body.object ?? [:], hosts: []) else {
                continue
            }
            #expect(!request.source.label.contains("LEAK"))
            #expect(!request.target.label.contains("LEAK"))
            for end in [request.source, request.target] {
                guard case .url(let url) = end else { continue }
                #expect(!"\(ReplicationEndpoint.url(url))".contains("LEAK"))
            }
        }
    }

    @Test func `an end that is no name of a database is refused without a word of it`() throws {
        let site = try TestSite()
        _ = try site.manager.database(named: "here")
        for body in Self.bodies("ann:LEAK@h/db") {
            let answer = site.send("POST", "/_replicate", body.description)
            #expect(answer.status == 400 && answer.json["error"] == "illegal_database_name")
            let reason = answer.json["reason"]?.string ?? ""
            #expect(reason.contains("a name that is no database's") && !reason.contains("LEAK"))
        }
    }
}
