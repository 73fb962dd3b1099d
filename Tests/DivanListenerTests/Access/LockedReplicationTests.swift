// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import DivanTestSupport
import Testing

@testable import DivanListener

/// Replications whose user is locked out for a while, since others have guessed at the password.
@Suite(.timeLimit(.minutes(5))) struct LockedReplicationTests {
    private static let ann: HTTPHeaders = [
        "Authorization": "Basic " + Base64.encode(Array("ann:secret".utf8))
    ]

    private let site: TestSite

    init() throws { site = try TestSite { $0.access = .users(["ann": "secret"]) } }

    private func configure(_ key: String, _ text: String) {
        let path = "/_node/_local/_config/chttpd_auth_lockout/" + key
        #expect(site.send("PUT", path, JSONValue.string(text).description, Self.ann).status == 200)
    }

    @Test func `a refusal of a locked name says when the lock ends`() throws {
        configure("max_lifetime", "90000")
        let joe: HTTPHeaders = ["Authorization": "Basic " + Base64.encode(Array("joe:x".utf8))]
        let statuses = (0..<6).map { _ in site.send("GET", "/_session", "", joe) }
        #expect(statuses.map(\.status) == [401, 401, 401, 401, 401, 403])
        #expect(statuses[0].headers["Retry-After"] == nil)
        let seconds = try #require(statuses[5].headers["Retry-After"].flatMap { Int($0) })
        #expect((80...90).contains(seconds))
    }

    @Test func `the time that is left of a lock grows shorter, and ends`() {
        let throttle = PasswordThrottle(ListenerLimits())
        let now = ContinuousClock.now
        for _ in 0..<5 { throttle.note("joe", from: "a", isRight: false, now: now) }
        #expect(throttle.lockedTime("joe", from: "a", now: now) == .seconds(300))
        #expect(throttle.lockedTime("joe", from: "a", now: now + .seconds(200)) == .seconds(100))
        #expect(throttle.lockedTime("joe", from: "a", now: now + .seconds(300)) == nil)
    }

    @Test func `a document of a locked user starts when the lock has ended`() async throws {
        configure("max_lifetime", "4000")
        let source = try site.manager.database(named: "source")
        try source.save(MutableDocument([:], id: "a"))
        // From where replications come that documents ask for.
        for _ in 0..<5 {
            site.router.site.throttle.note("ann", from: "replication", isRight: false)
        }
        let body: JSONValue = [
            "source": [
                "url": "http://localhost/source",
                "auth": ["basic": ["username": "ann", "password": "secret"]],
            ],
            "target": "target", "create_target": true,
        ]
        #expect(site.send("PUT", "/_replicator/r", body.description, Self.ann).status == 201)
        // On a busy machine the lock may have ended already.
        await eventually {
            let job = site.send("GET", "/_scheduler/docs/_replicator/r", "", Self.ann).json
            return job["state"] == "crashing" || job["state"] == "completed"
        }
        await eventually {
            let document = site.send("GET", "/_replicator/r", "", Self.ann).json
            return document["_replication_state"] == "completed"
        }
        #expect(site.send("GET", "/target/a", "", Self.ann).status == 200)
    }
}
