// SPDX-License-Identifier: Apache-2.0

import DivanJSON
import DivanTestSupport
import Testing

@testable import DivanListener

/// Which connection gives way to a new one.
@Suite struct ConnectionTableTests {
    @Test
    func `elements are taken out in the order in which they came, wherever some were removed`() {
        var random = Soak.random(round: 0)
        for _ in 0..<200 {
            var (order, model) = (AgeOrder<Int>(), [Int]())
            for _ in 0..<100 {
                let element = Int.random(in: 0..<20, using: &random)
                if Bool.random(using: &random) {
                    order.append(element)
                    if !model.contains(element) { model.append(element) }
                } else {
                    let isRemoved = order.remove(element)
                    #expect(isRemoved == model.contains(element))
                    model.removeAll { $0 == element }
                }
                #expect(order.oldest == model.first && order.count == model.count)
            }
            while let oldest = order.oldest {
                #expect(oldest == model.first)
                model.removeFirst()
                order.remove(oldest)
            }
            #expect(model.isEmpty)
        }
    }

    /// What the table must answer, found by looking at all connections.
    private struct Model {
        var silent: [Int] = []
        var networks: [Int: String] = [:]

        func most() -> Int {
            Dictionary(grouping: silent) { networks[$0] ?? "" }.values.map(\.count).max() ?? 0
        }

        func next(of network: String) -> Int? { silent.first { networks[$0] == network } }
    }

    @Test func `the oldest silent connection of the network that has most of them gives way`() {
        var random = Soak.random(round: 1)
        var (table, model) = (ConnectionTable(), Model())
        for step in 0..<5_000 {
            let known = model.networks.keys.sorted().randomElement(using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0, 1:
                let network = "10.0.0.\(Int.random(in: 0..<4, using: &random))"
                let count = table.open(step, OpenConnection(descriptor: -1, network: network))
                model.networks[step] = network
                model.silent.append(step)
                #expect(count == model.networks.values.count { $0 == network })
            case 2:
                guard let known else { continue }
                table.close(known)
                model.networks[known] = nil
                model.silent.removeAll { $0 == known }
            case 3, 4:
                guard let known else { continue }
                let isSilent = Bool.random(using: &random)
                table.setSilent(known, isSilent)
                if !isSilent { model.silent.removeAll { $0 == known } }
                if isSilent, !model.silent.contains(known) { model.silent.append(known) }
            default:
                guard let next = table.oldestSilent else { continue }
                let shut = [table.shut(next), table.shut(next)].map { $0 != nil }
                #expect(shut == [true, false])
                // The library tells of its end later, and it counts no more until then.
                table.setSilent(next, true)
                model.networks[next] = nil
                model.silent.removeAll { $0 == next }
                table.close(next)
            }
            table.checkInvariants()
            #expect(table.count == model.networks.count)
            let next = table.oldestSilent
            #expect((next == nil) == model.silent.isEmpty)
            guard let next, let network = model.networks[next] else { continue }
            #expect(next == model.next(of: network))
            #expect(model.silent.count { model.networks[$0] == network } == model.most())
        }
    }

    private func table(_ networks: [String]) -> ConnectionTable {
        var table = ConnectionTable()
        for (number, network) in networks.enumerated() {
            _ = table.open(number, OpenConnection(descriptor: -1, network: network))
        }
        return table
    }

    @Test func `where no other is silent, a stranger of the network with most of them gives way`() {
        var table = table(["a", "b", "a", "a", "b", "c"])
        #expect(table.victim(for: 5, isOwn: false, sparing: []) == 0)
        for number in 0..<5 { table.setSilent(number, false) }
        #expect(table.victim(for: 5, isOwn: false, sparing: []) == 0)
        #expect(table.victim(for: 3, isOwn: false, sparing: []) == 5)
        // The new one of a network that has as many as any other is refused.
        table.setSilent(5, false)
        #expect(table.victim(for: 3, isOwn: false, sparing: []) == 3)
        #expect(table.victim(for: 5, isOwn: false, sparing: ["a"]) == 5)
        // Whose client is known stays.
        table.setSilent(0, false, isKnown: true)
        #expect(table.victim(for: 5, isOwn: false, sparing: []) == 1)
        table.setSilent(2, false, isKnown: true)
        table.setSilent(3, false, isKnown: true)
        #expect(table.victim(for: 5, isOwn: false, sparing: []) == 1)
        table.setSilent(1, false, isKnown: true)
        #expect(table.victim(for: 5, isOwn: false, sparing: []) == 5)
        for number in [0, 1, 2, 3] { table.setSilent(number, false) }
        // Beyond the share of its network it is one of the same.
        table.setSilent(2, true)
        table.setSilent(1, true)
        #expect(table.victim(for: 3, isOwn: true, sparing: []) == 2)
        #expect(table.victim(for: 5, isOwn: true, sparing: []) == 5)
    }
}
