// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanHTTP
import DivanJSON
import DivanTestSupport
import Foundation
import Synchronization
import Testing

@testable import DivanListener

/// The memory that the rows of a view take while they are found.
@Suite(.timeLimit(.minutes(5))) struct ViewRowMemoryTests {
    private let site: TestSite

    init() throws {
        site = try TestSite { $0.limits.memory = 8 << 20 }
        let database = try site.manager.database(named: "db")
        try database.inBatch {
            for n in 0..<200 { try database.save(MutableDocument(["n": 1], id: "d\(n)")) }
        }
        database.view(named: "d/v").setMap(version: "1") { document, emit in emit(document["n"]) }
    }

    private func ask(keys count: Int) -> TestAnswer {
        let keys = Array(repeating: "1", count: count).joined(separator: ",")
        return site.send(
            "POST", "/db/_design/d/_view/v", "{\"keys\":[\(keys)]}",
            ["Content-Type": "application/json"])
    }

    @Test func `one key that is asked for often is refused where its rows would fit in no memory`()
    {
        let answer = ask(keys: 2_000)
        #expect(answer.status == 413)
        #expect(answer.json["reason"]?.string?.contains("`limit`") == true)
        let budget = site.router.site.memory
        #expect(budget.reserved == 0)
        #expect(ask(keys: 300).json["rows"]?.array?.count == 60_000)
        #expect(budget.reserved == 0)
    }

    @Test func `rows that find no room at first are found again when there is some`() throws {
        let budget = site.router.site.memory
        var held = budget.tryReserve(budget.capacity)
        #expect(held != nil)
        let count = Mutex<Int?>(nil)
        let group = DispatchGroup()
        DispatchQueue.global().async(group: group) {
            let rows = ask(keys: 300).json["rows"]?.array?.count
            count.withLock { $0 = rows }
        }
        #expect(eventually { budget.waitingCount == 1 })
        held = nil
        #expect(held == nil && group.wait(timeout: .now() + 60) == .success)
        #expect(count.withLock { $0 } == 60_000)
        #expect(budget.reserved == 0)
    }

    @Test func `what grows is reserved for beside what is there, and given back down to its size`()
        throws
    {
        let budget = MemoryBudget(capacity: 10 << 20)
        let memory = RequestMemory()
        try memory.grow(to: 1 << 20, in: budget, orThrow: .rowsTooLarge)
        #expect(budget.reserved == 0)
        try memory.grow(to: 2 << 20, in: budget, orThrow: .rowsTooLarge)
        #expect(budget.reserved == 4 << 20)
        try memory.grow(to: 3 << 20, in: budget, orThrow: .rowsTooLarge)
        #expect(budget.reserved == 4 << 20)
        try memory.grow(to: 6 << 20, in: budget, orThrow: .rowsTooLarge)
        #expect(budget.reserved == 10 << 20)
        #expect(throws: HTTPFailure.rowsTooLarge) {
            try memory.grow(to: 11 << 20, in: budget, orThrow: .rowsTooLarge)
        }
        memory.shrink(to: 5 << 20)
        #expect(budget.reserved == 5 << 20)
        let other = budget.tryReserve(4 << 20)
        #expect(throws: RequestMemory.NoRoom.self) {
            try memory.grow(to: 7 << 20, in: budget, orThrow: .rowsTooLarge)
        }
        // Where there is no room for twice as much there may be for what is needed.
        try memory.grow(to: 6 << 20, in: budget, orThrow: .rowsTooLarge)
        #expect(budget.reserved == 10 << 20)
        memory.shrink(to: 1)
        #expect(budget.reserved == 4 << 20)
        withExtendedLifetime(other) {}
    }
}
