// SPDX-License-Identifier: Apache-2.0

import DivanDatabase
import DivanHTTP
import DivanSystem
import DivanTestSupport
import Foundation
import Synchronization
import Testing

@testable import DivanListener

/// Who gets memory, in which order, and that it comes back.
@Suite struct MemoryBudgetTests {
    @Test func `what is reserved comes back with its last reference`() throws {
        let budget = MemoryBudget(capacity: 100)
        var first: MemoryReservation? = try budget.reserve(60)
        var second = first
        #expect(budget.reserved == 60)
        first = nil
        #expect(budget.reserved == 60)
        #expect(budget.tryReserve(41) == nil)
        second = nil
        #expect(first == nil && second == nil)
        #expect(budget.reserved == 0)
    }

    @Test func `more than the budget never fits`() {
        let budget = MemoryBudget(capacity: 100)
        #expect(throws: MemoryBudget.Refusal.neverFits) { _ = try budget.reserve(101) }
    }

    @Test func `reservations are granted in the order in which they were asked for`() throws {
        let budget = MemoryBudget(capacity: 100, patience: .seconds(60))
        var held: MemoryReservation? = try budget.reserve(90)
        let order = Mutex<[Int]>([])
        let group = DispatchGroup()
        for (place, bytes) in [80, 5, 100].enumerated() {
            DispatchQueue.global().async(group: group) {
                let made = try? budget.reserve(bytes)
                order.withLock { $0.append(made == nil ? -1 : bytes) }
                withExtendedLifetime(made) {}
            }
            // Five would fit, and waits behind eighty.
            #expect(eventually { budget.waitingCount == place + 1 })
        }
        #expect(budget.tryReserve(1) == nil)
        #expect(order.withLock { $0 } == [])
        held = nil
        #expect(held == nil && group.wait(timeout: .now() + 60) == .success)
        #expect(Set(order.withLock { $0 }) == [80, 5, 100])
        #expect(order.withLock { $0.last } == 100)
        #expect(budget.reserved == 0)
    }

    @Test func `one that waits too long is refused and lets those behind it by`() throws {
        let budget = MemoryBudget(capacity: 100, patience: .milliseconds(50))
        let held = try budget.reserve(50)
        #expect(throws: MemoryBudget.Refusal.tooBusy) { _ = try budget.reserve(60) }
        #expect(budget.waitingCount == 0)
        #expect(budget.tryReserve(50) != nil)
        withExtendedLifetime(held) {}
    }

    @Test func `a budget that is closed refuses those that wait`() throws {
        let budget = MemoryBudget(capacity: 100, patience: .seconds(600))
        let held = try budget.reserve(50)
        let group = DispatchGroup()
        let isRefused = Mutex(false)
        DispatchQueue.global().async(group: group) {
            do { _ = try budget.reserve(60) } catch { isRefused.withLock { $0 = true } }
        }
        #expect(eventually { budget.waitingCount == 1 })
        budget.close()
        #expect(group.wait(timeout: .now() + 60) == .success)
        #expect(isRefused.withLock { $0 })
        withExtendedLifetime(held) {}
    }

    @Test func `a request that asks again gives back first, so it cannot wait for itself`() throws {
        let budget = MemoryBudget(capacity: 10 << 20, patience: .seconds(60))
        let memory = RequestMemory()
        for _ in 0..<3 { try memory.reserve(9 << 20, in: budget) }
        #expect(budget.reserved == 9 << 20)
        memory.keepQuarter()
        #expect(budget.reserved == 9 << 18)
        try memory.reserve(10, in: budget)
        #expect(budget.reserved == 0)
    }

    @Test func `bodies that break off on the wire give their memory back`() throws {
        let site = try TestSite()
        let server = try MicroHTTPServer(
            ListeningSocket(host: "127.0.0.1", port: 0), site.router, ListenerLimits(), tls: nil)
        defer { server.stop() }
        let budget = site.router.site.waitingBytes
        for round in 0..<300 {
            let client = try RawClient(port: server.port)
            client.write("PUT /db/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\n")
            client.write([UInt8](repeating: 0x20, count: 100_000))
            if round % 100 == 0 { #expect(eventually { budget.reserved > 0 }) }
        }
        #expect(
            eventually { server.connectionCount == 0 && budget.reserved == 0 },
            "\(server.connectionCount) connections, \(budget.reserved) bytes")
    }

    @Test func `requests that are refused leave the budget whole`() throws {
        let site = try TestSite { $0.limits.jsonBody = 4 << 20 }
        _ = try site.manager.database(named: "db")
        let long = "{\"docs\":[{\"a\":\"" + String(repeating: "x", count: 300_000) + "\"}"
        for (target, body) in [
            ("/db/_bulk_docs", long), ("/db/_find", long), ("/db/_revs_diff", long + "]}"),
            ("/db/_bulk_get", long + "]}"), ("/db/_all_docs", long + "]}"), ("/db", long + "]}"),
        ] {
            for _ in 0..<5 { site.send("POST", target, body, ["Content-Type": "application/json"]) }
        }
        #expect(site.router.site.memory.reserved == 0)
    }

    @Test
    func
        `a body that costs more than the budget is refused, and one that finds no room is told when to come`()
        throws
    {
        let site = try TestSite { $0.limits.memory = 8 << 20 }
        _ = try site.manager.database(named: "db")
        let values = "{\"a\":[" + String(repeating: "1,", count: 100_000) + "1]}"
        #expect(site.send("PUT", "/db/a", values).status == 413)
        let budget = site.router.site.memory
        let held = budget.tryReserve(budget.capacity)
        #expect(held != nil)
        // What costs little does not wait.
        #expect(site.send("PUT", "/db/a", "{\"a\":1}").status == 201)
        budget.close()
        let answer = site.send(
            "PUT", "/db/b", "{\"a\":\"\(String(repeating: "x", count: 200_000))\"}")
        #expect(answer.status == 503)
        #expect(answer.headers["Retry-After"] == "5")
        withExtendedLifetime(held) {}
    }

    @Test func `many threads that reserve and let go leave the budget whole`() {
        let budget = MemoryBudget(capacity: 1_000, patience: .seconds(60))
        DispatchQueue.concurrentPerform(iterations: 8) { number in
            for round in 0..<500 {
                let made = try? budget.reserve((number * 131 + round * 17) % 1_001)
                #expect(made != nil)
                budget.checkInvariants()
                withExtendedLifetime(made) {}
            }
        }
        budget.checkInvariants()
        #expect(budget.reserved == 0 && budget.waitingCount == 0)
    }

    @Test func `the line is right, whatever is asked for and however patiently`() {
        for round in Soak.rounds(test: 10, soak: 1_000) {
            var random = Soak.random(round: round, salt: 0x8E6)
            let budget = MemoryBudget(
                capacity: 100, patience: .milliseconds(random.below(3)))
            let seeds = (0..<4).map { _ in random.next() }
            DispatchQueue.concurrentPerform(iterations: 4) { number in
                var own = SeededRandom(seed: seeds[number])
                var held: [MemoryReservation] = []
                for _ in 0..<50 {
                    switch own.below(4) {
                    case 0: if !held.isEmpty { held.remove(at: own.below(held.count)) }
                    case 1: if let made = budget.tryReserve(own.below(60)) { held.append(made) }
                    default:
                        if let made = try? budget.reserve(own.below(120)) { held.append(made) }
                    }
                    budget.checkInvariants()
                    if held.count > 3 { held = [] }
                }
            }
            #expect(budget.reserved == 0 && budget.waitingCount == 0, "round \(round)")
            budget.close()
            budget.checkInvariants()
        }
    }
}
