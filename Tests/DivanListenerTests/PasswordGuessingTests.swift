// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import Foundation
import Testing

@testable import DivanListener

/// What clients that guess passwords learn, and what they cost the others.
@Suite struct PasswordGuessingTests {
    @Test func `those who guess many names lock out their network, but not who was let in lately`()
        throws
    {
        let throttle = PasswordThrottle(ListenerLimits())
        for number in 0..<49 { throttle.note("n\(number)", from: "a", isRight: false) }
        #expect(!throttle.isLocked(from: "a"))
        throttle.note("n49", from: "a", isRight: false)
        #expect(throttle.isLocked(from: "a") && !throttle.isLocked(from: "b"))
        #expect(!throttle.isLocked(from: "a", now: .now + .seconds(301)))

        let site = try TestSite { $0.access = .users(["ann": "secret"]) }
        func status(_ name: String, _ password: String) -> Int {
            let credentials = Base64.encode(Array("\(name):\(password)".utf8))
            var head = RequestHead(
                method: "GET", target: "/_session",
                headers: ["Authorization": "Basic " + credentials, "Host": "localhost"])
            head.network = "10.0.0.1"
            return site.router.respond(ListenerRequest(head)).status
        }
        for number in 0..<50 {
            site.router.site.throttle.note("n\(number)", from: "10.0.0.1", isRight: false)
        }
        #expect(status("bob", "guess") == 403)
        #expect(status("ann", "secret") == 200)
        for _ in 0..<5 { site.router.site.throttle.note("ann", from: "10.0.0.1", isRight: false) }
        #expect(status("ann", "secret") == 403)
    }

    @Test func `a known name and an unknown one take the same time to refuse`() throws {
        let accounts = try Accounts(directory: nil, passwords: ["ann": "secret"])
        func time(_ name: String) -> Duration {
            ContinuousClock().measure { #expect(accounts.user(name, password: "wrong") == nil) }
        }
        let known = (0..<3).map { _ in time("ann") }.min() ?? .zero
        let unknown = (0..<3).map { _ in time("bob") }.min() ?? .zero
        #expect(known < unknown * 3 && unknown < known * 3)
    }

    @Test func `of guesses that are checked at the same time no more count than of those in a row`()
    {
        let throttle = PasswordThrottle(ListenerLimits())
        // All of them were admitted before the first one was checked.
        let admitted = (0..<60).filter { _ in !throttle.isLocked("ann", from: "a") }
        let counted = admitted.filter { _ in throttle.note("ann", from: "a", isRight: false) }
        #expect(admitted.count == 60 && counted.count == 5)
        // The right one among those that come too late is not told.
        #expect(!throttle.note("ann", from: "a", isRight: true))
        #expect(throttle.isLocked("ann", from: "a"))
    }

    @Test func `a pool takes no more than may wait`() {
        let pool = WorkerPool("test", width: 1, mostWaiting: 2)
        let (gate, done) = (DispatchSemaphore(value: 0), DispatchGroup())
        func run() -> Bool {
            done.enter()
            let isTaken = pool.run {
                gate.wait()
                done.leave()
            }
            if !isTaken { done.leave() }
            return isTaken
        }
        #expect((0..<4).map { _ in run() } == [true, true, true, false])
        for _ in 0..<3 { gate.signal() }
        done.wait()
        gate.signal()
        #expect(run())
        done.wait()
    }
}
