// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import DivanTestSupport
import Testing

@testable import DivanListener

/// What `chttpd_auth_lockout` of the configuration changes about wrong passwords.
@Suite struct PasswordLockoutTests {
    private static let ann: HTTPHeaders = [
        "Authorization": "Basic " + Base64.encode(Array("ann:secret".utf8))
    ]

    private let site: TestSite

    init() throws { site = try TestSite { $0.access = .users(["ann": "secret"]) } }

    private func set(_ key: String, _ text: String) -> Int {
        site.send(
            "PUT", "/_node/_local/_config/chttpd_auth_lockout/" + key,
            JSONValue.string(text).description, Self.ann
        ).status
    }

    private var throttle: PasswordThrottle { site.router.site.throttle }

    private func guess(_ count: Int, now: ContinuousClock.Instant = .now) {
        for _ in 0..<count { throttle.note("joe", from: "a", isRight: false, now: now) }
    }

    @Test(arguments: [("off", false), ("warn", false), ("enforce", true)])
    func `wrong passwords lock a name out in the mode enforce alone`(mode: String, locks: Bool) {
        #expect(set("mode", mode) == 200)
        guess(60)
        #expect(throttle.isLocked("joe", from: "a") == locks)
        #expect(throttle.isLocked(from: "a") == false)
        for number in 0..<60 { throttle.note("n\(number)", from: "b", isRight: false) }
        #expect(throttle.isLocked(from: "b") == locks)
    }

    @Test func `a client is told that a password is wrong as often as it asks where nothing locks`()
    {
        #expect(set("mode", "warn") == 200)
        let wrong: HTTPHeaders = [
            "Authorization": "Basic " + Base64.encode(Array("joe:guess".utf8))
        ]
        #expect(
            (0..<6).map { _ in site.send("GET", "/_session", "", wrong).status }
                == [401, 401, 401, 401, 401, 401])
        #expect(set("mode", "enforce") == 200)
        #expect(site.send("GET", "/_session", "", wrong).status == 403)
    }

    @Test func `what was not counted locks nothing later`() {
        #expect(set("mode", "off") == 200)
        guess(10)
        #expect(set("mode", "enforce") == 200)
        #expect(!throttle.isLocked("joe", from: "a"))
        guess(5)
        #expect(throttle.isLocked("joe", from: "a"))
    }

    @Test func `as many wrong passwords lock for as long as is configured`() {
        #expect(set("threshold", "2") == 200)
        #expect(set("max_lifetime", "1000") == 200)
        let now = ContinuousClock.now
        guess(1, now: now)
        #expect(!throttle.isLocked("joe", from: "a", now: now))
        guess(1, now: now)
        #expect(throttle.isLocked("joe", from: "a", now: now))
        #expect(throttle.isLocked("joe", from: "a", now: now + .milliseconds(999)))
        #expect(!throttle.isLocked("joe", from: "a", now: now + .milliseconds(1_000)))
    }

    @Test func `another word for the mode is refused, and in the file it locks all the same`()
        throws
    {
        #expect(set("mode", "never") == 400)
        #expect(set("threshold", "0") == 400)
        var table = ConfigurationTable()
        table["chttpd_auth_lockout", "mode"] = "never"
        table["chttpd_auth_lockout", "threshold"] = "none"
        let lockout = PasswordLockout(table, ListenerLimits())
        #expect(lockout.mode == .enforce && lockout.attempts == 5)
        #expect(lockout.duration == .seconds(300))
    }

    @Test func `the log tells of a name once, when too many passwords were wrong for it`() {
        #expect(set("mode", "warn") == 200)
        // A name of its own, since the log is for all tests.
        let name = "n\(UInt64.random(in: 0...UInt64.max))\n"
        let kept = Record<String>()
        let sink = ClosureSink { entry in
            if entry.message.contains(name.dropLast()) { kept.append(entry.message) }
        }
        Log.add(sink, levels: LogLevels(.warning))
        defer { Log.remove(sink) }
        for _ in 0..<8 { throttle.note(name, from: "a", isRight: false) }
        Log.listener.warning("\(name) is over.")
        eventually { kept.all.last?.hasSuffix("is over.") == true }
        // A line feed in it begins no line of the log.
        let quoted = "\"\(name.dropLast())\\n\""
        #expect(
            kept.all.dropLast() == [
                "5 passwords in a row were wrong for the user \(quoted), from a."
            ])
    }
}
