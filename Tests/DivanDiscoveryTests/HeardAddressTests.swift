// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

@testable import DivanDiscovery

/// What a browser makes of addresses, and what packets cost it that a stranger has made for that.
@Suite(.timeLimit(.minutes(5))) struct HeardAddressTests {
    private let type = ServiceType.divan.name
    private let host = DNSName("host.local")!

    /// A browser that knows some instances, all of them on one host.
    private func browser(_ count: Int) -> Browser {
        var browser = Browser(type, seed: 1)
        browser.start(at: .zero)
        for number in 0..<count {
            let name = type.prefixed(by: "instance \(number)")!
            browser.receive(
                .response([
                    DNSRecord(type, .ptr(name), lifetime: 4_500, isUnique: false),
                    DNSRecord(
                        name, .srv(priority: 0, weight: 0, port: 9, target: host),
                        lifetime: 4_500, isUnique: true),
                    DNSRecord(name, .txt([]), lifetime: 4_500, isUnique: true),
                ]), at: .zero)
        }
        return browser
    }

    private func addresses(_ numbers: Range<Int>) -> DNSMessage {
        .response(
            numbers.map { number in
                let bytes = [10, 0, UInt8(number >> 8), UInt8(truncatingIfNeeded: number)]
                return DNSRecord(host, .a(bytes), lifetime: 4_500, isUnique: true)
            })
    }

    /// Seconds that the quickest of some calls took, of two kinds in turn, so that what else the machine does counts for both.
    private func seconds(
        _ count: Int, _ one: () -> Void, _ other: () -> Void
    ) -> (one: Double, other: Double) {
        var times = (one: Duration.seconds(600), other: Duration.seconds(600))
        for _ in 0..<count {
            times.one = min(times.one, ContinuousClock().measure(one))
            times.other = min(times.other, ContinuousClock().measure(other))
        }
        return (times.one / .seconds(1), times.other / .seconds(1))
    }

    private func drain(_ browser: inout Browser) -> Int {
        var count = 0
        while let action = browser.takeAction() {
            if case .found = action { count += 1 }
        }
        return count
    }

    /// How much more a packet with many addresses costs than one with the 16 that are known.
    private func ratio(instances: Int, addresses count: Int) -> Double {
        var known = browser(instances)
        known.receive(addresses(0..<16), at: .zero)
        #expect(drain(&known) == instances)
        let (few, many) = (addresses(0..<16), addresses(1_000..<1_000 + count))
        #expect(many.bytes.count <= DNSMessage.longest)
        // Each call begins with the same browser.
        let hear = { (packet: DNSMessage) in
            var copy = known
            copy.receive(packet, at: .seconds(2))
        }
        let times = seconds(5, { hear(few) }, { hear(many) })
        return times.other / times.one
    }

    @Test func `a packet full of addresses costs little more than one with a few`() throws {
        // The full size would take hours where the time grows as the square.
        try #require(ratio(instances: 16, addresses: 320) < 60)
        #expect(ratio(instances: Browser.instanceLimit, addresses: 555) < 20)
    }

    @Test func `a packet that says nothing new costs the same, however many services are known`() {
        var (few, many) = (browser(4), browser(Browser.instanceLimit))
        few.receive(addresses(0..<16), at: .zero)
        many.receive(addresses(0..<16), at: .zero)
        few.tick(at: .seconds(2))
        many.tick(at: .seconds(2))
        _ = (drain(&few), drain(&many))
        func hear(_ browser: inout Browser) {
            for _ in 0..<50 {
                browser.receive(.response([]), at: .milliseconds(2_100))
                browser.tick(at: .milliseconds(2_100))
                _ = browser.deadline
            }
        }
        let times = seconds(5, { hear(&few) }, { hear(&many) })
        #expect(times.other < 20 * times.one)
    }

    @Test func `services that are found at once are told in the order of their names`() {
        var known = browser(Browser.instanceLimit)
        known.receive(addresses(0..<1), at: .zero)
        var names: [String] = []
        while let action = known.takeAction() {
            if case .found(let finding) = action { names.append(finding.instance.description) }
        }
        #expect(names == names.sorted())
        #expect(names.count == Browser.instanceLimit)
    }

    /// An instance whose addresses are kept one record at a time, as the browser's are to be.
    private struct Reference {
        private(set) var kept: [TimedRecord] = []

        mutating func receive(_ records: [DNSRecord], at now: Duration) {
            for record in records { take(record, records, at: now) }
        }

        private mutating func take(_ record: DNSRecord, _ all: [DNSRecord], at now: Duration) {
            let place = kept.firstIndex { $0.record.says(whatSays: record) }
            guard record.lifetime > 0 else {
                if let place { kept[place].expire(soonAfter: now) }
                return
            }
            if let place {
                kept[place] = TimedRecord(record, at: now)
            } else if kept.count < Browser.addressLimit {
                kept.append(TimedRecord(record, at: now))
            }
            guard record.isUnique else { return }
            for index in kept.indices
            where kept[index].record.type == record.type
                && now - kept[index].heard > .seconds(1)
                && !all.contains(where: { $0.says(whatSays: kept[index].record) })
            {
                kept[index].expire(soonAfter: now)
            }
        }

        mutating func dropExpired(at now: Duration) { kept.removeAll { $0.end <= now } }
    }

    @Test func `random packets lead to the addresses that records one at a time do`() {
        for round in Soak.rounds(test: 100, soak: 20_000) {
            var random = Soak.random(round: round, salt: 0xADD)
            var (known, reference) = (browser(1), Reference())
            var now = Duration.zero
            var told: [[UInt8]] = []
            for step in 0..<40 {
                now += .milliseconds(random.below(random.oneIn(3) ? 3_000 : 600))
                // The browser drops what is over when its driver has it tick.
                reference.dropExpired(at: now)
                known.tick(at: now)
                let packet = packet(&random)
                reference.receive(packet.filter { $0.name == host }, at: now)
                known.receive(.response(packet), at: now)
                while let action = known.takeAction() {
                    switch action {
                    case .found(let finding): told = finding.addresses
                    case .lost: told = []
                    case .multicast: break
                    }
                }
                let expected = reference.kept.compactMap(\.record.address)
                #expect(Set(told) == Set(expected), "round \(round), step \(step)")
                #expect(told.count == expected.count, "round \(round), step \(step)")
                known.checkInvariants()
            }
        }
    }

    private func packet(_ random: inout SeededRandom) -> [DNSRecord] {
        let count = random.below(random.oneIn(3) ? 40 : 4)
        return (0..<count).map { _ in
            let last = UInt8(random.below(random.oneIn(2) ? 6 : 40))
            let isLong = random.oneIn(3)
            let bytes = [UInt8](repeating: 0, count: isLong ? 15 : 3) + [last]
            return DNSRecord(
                random.oneIn(8) ? DNSName("other.local")! : host,
                isLong ? .aaaa(bytes) : .a(bytes),
                lifetime: random.oneIn(4) ? 0 : UInt32(1 + random.below(6)),
                isUnique: random.oneIn(2))
        }
    }
}
