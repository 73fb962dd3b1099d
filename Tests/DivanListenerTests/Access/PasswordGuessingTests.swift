// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import DivanTestSupport
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

    @Test func `long names are told apart by all of their bytes, and none is kept`() {
        let throttle = PasswordThrottle(ListenerLimits())
        let long = String(repeating: "x", count: 10_000)
        let names = [long + "a", long + "b", long + "\u{E9}", long + "e\u{301}"]
        for _ in 0..<5 { throttle.note(names[0], from: "a", isRight: false) }
        for _ in 0..<5 { throttle.note(names[2], from: "a", isRight: false) }
        #expect(names.map { throttle.isLocked($0, from: "a") } == [true, false, true, false])
        #expect(!throttle.isLocked(names[0], from: "b"))
        for number in 0..<1_000 { throttle.note("\(number)" + long, from: "a", isRight: false) }
        #expect(throttle.nameBytes <= 1_002 * 32)
    }

    @Test(arguments: [1, 255, 256, 257, 258])
    func `a name of any length is locked after as many wrong passwords`(length: Int) {
        let throttle = PasswordThrottle(ListenerLimits())
        let name = String(repeating: "x", count: length)
        for _ in 0..<4 { throttle.note(name, from: "a", isRight: false) }
        #expect(!throttle.isLocked(name, from: "a"))
        throttle.note(name, from: "a", isRight: false)
        #expect(throttle.isLocked(name, from: "a"))
        #expect(!throttle.isLocked(name + "x", from: "a"))
        #expect(throttle.nameBytes <= 256)
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

    @Test func `a pool takes no more than may wait, and takes it from those who have most`() {
        let pool = TurnPool("test", width: 1, mostWaiting: 3)
        let (gate, done) = (DispatchSemaphore(value: 0), DispatchGroup())
        let (ran, refused) = (Record<String>(), Record<String>())
        func run(_ owner: String, _ name: String) {
            done.enter()
            let turn = owner + name
            pool.run(
                for: Turn(owner: owner, name: name),
                refused: {
                    refused.append(turn)
                    done.leave()
                }
            ) {
                gate.wait()
                ran.append(turn)
                done.leave()
            }
        }
        // The first one is at work, three wait.
        for name in ["0", "1", "2", "3", "4"] { run("a", name) }
        #expect(refused.all == ["a4"])
        run("b", "0")
        #expect(refused.all == ["a4", "a3"])
        run("b", "1")
        #expect(refused.all == ["a4", "a3", "b1"])
        for _ in 0..<4 { gate.signal() }
        done.wait()
        #expect(ran.all == ["a0", "a1", "b0", "a2"])
        gate.signal()
        run("c", "0")
        done.wait()
        #expect(ran.all.last == "c0")
    }

    @Test func `a password of another network is checked before the rest of a guesser's`() {
        let pool = TurnPool("test", width: 1)
        let (gate, done, ran) = (Gate(), DispatchGroup(), Record<String>())
        func run(_ owner: String, _ name: String) {
            done.enter()
            pool.run(for: Turn(owner: owner, name: name)) {
                gate.wait()
                ran.append(owner + name)
                done.leave()
            }
        }
        for number in 0..<20 { run("bad", "\(number)") }
        run("good", "ann")
        run("bad", "20")
        gate.open()
        done.wait()
        // One is at work and one is next when it comes.
        #expect(ran.all.firstIndex(of: "goodann") == 2)
        #expect(ran.all.last == "bad20")
        #expect(ran.all.count == 22)
    }

    @Test func `networks take turns, and so do the names of one`() {
        var queue = TurnQueue<Int>()
        for (number, turn) in ["a/x", "a/y", "a/y", "b/z", "a/x"].enumerated() {
            let parts = turn.split(separator: "/").map(String.init)
            queue.append(number, for: Turn(owner: parts[0], name: parts[1]))
        }
        var order: [Int] = []
        while let (_, number) = queue.next() { order.append(number) }
        #expect(order == [0, 3, 1, 4, 2])
        #expect(queue.count == 0)
    }

    @Test func `a guesser's work waits in no other network's way`() {
        var queue = TurnQueue<Int>()
        for number in 0..<1_000 {
            queue.append(number, for: Turn(owner: "bad", name: "n\(number)"))
        }
        queue.append(-1, for: Turn(owner: "good", name: "ann"))
        let taken = [queue.next(), queue.next()].map { $0?.1 }
        #expect(taken == [0, -1])
    }
}
