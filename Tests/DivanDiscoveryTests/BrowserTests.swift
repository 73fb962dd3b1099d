// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

@testable import DivanDiscovery

struct BrowserTests {
    private let type = ServiceType.divan.name

    @Test
    func
        `services are found whether they were there before or come later, and lost when they say goodbye`()
    {
        var link = SimulatedLink()
        let ann = link.add(SimulatedLink.records("Ann", last: 1))
        link.run(for: .seconds(5))
        let browser = link.addBrowser()
        link.run(for: .seconds(1))
        #expect(link.known(browser) == ["Ann"])
        _ = link.add(SimulatedLink.records("Bob", last: 2))
        link.run(for: .seconds(2))
        #expect(link.known(browser) == ["Ann", "Bob"])
        link.stop(ann)
        link.run(for: .milliseconds(1_100))
        #expect(link.known(browser) == ["Bob"])
    }

    @Test func `a service that falls silent is lost after two minutes, and asked for before`() {
        var link = SimulatedLink()
        let ann = link.add(SimulatedLink.records("Ann", last: 1))
        let browser = link.addBrowser()
        link.run(for: .seconds(10))
        link.unplug(ann)
        let count = link.packets.count
        link.run(for: .seconds(100))
        #expect(link.known(browser) == ["Ann"])
        link.run(for: .seconds(25))
        #expect(link.known(browser) == [])
        let asked = link.packets.dropFirst(count).flatMap(\.message.questions)
            .filter { $0.type == .srv }
        #expect(asked.count >= 4)
    }

    @Test func `a service that is there stays found for hours, with few packets`() {
        var link = SimulatedLink()
        _ = link.add(SimulatedLink.records("Ann", last: 1))
        let browser = link.addBrowser()
        link.run(for: .seconds(10))
        let count = link.packets.count
        link.run(for: .seconds(3_600 * 3))
        #expect(link.events[browser] == [.found("Ann", 5_984)])
        // One question and one answer each 96 seconds, since addresses hold for two minutes.
        #expect(link.packets.count - count < 3 * 3_600 / 96 * 2 + 30)
    }

    @Test
    func
        `eight devices find each other over a link that loses one packet in four and delays others`()
    {
        for seed in 1...Soak.count(test: 2, soak: 500) {
            var link = SimulatedLink(seed: UInt64(seed))
            link.lossOneIn = 4
            link.longestDelay = 80
            var browsers: [Int] = []
            for device in 1...8 as ClosedRange<UInt8> {
                _ = link.add(SimulatedLink.records("device \(device)", last: device))
                browsers.append(link.addBrowser())
            }
            link.run(for: .seconds(120))
            for browser in browsers { #expect(link.known(browser).count == 8, "seed \(seed)") }
        }
    }

    @Test func `another port of a service is told as a change`() {
        var link = SimulatedLink()
        let ann = link.add(SimulatedLink.records("Ann", port: 1_000))
        let browser = link.addBrowser()
        link.run(for: .seconds(5))
        link.update(ann, SimulatedLink.records("Ann", port: 2_000))
        link.run(for: .seconds(5))
        #expect(link.events[browser] == [.found("Ann", 1_000), .found("Ann", 2_000)])
    }

    @Test func `what was not looked for is not kept, and a flood does not push out what is known`()
    {
        var link = SimulatedLink()
        _ = link.add(SimulatedLink.records("Ann", last: 1))
        let browser = link.addBrowser()
        link.run(for: .seconds(5))
        for index in 0..<5_000 {
            let name = type.prefixed(by: "flood \(index)")!
            link.inject(
                .response([
                    DNSRecord(type, .ptr(name), lifetime: 4_500, isUnique: false),
                    DNSRecord(
                        DNSName("other-\(index).local")!, .a([1, 2, 3, 4]), lifetime: 120,
                        isUnique: true),
                ]))
        }
        link.run(for: .seconds(30))
        #expect(link.known(browser) == ["Ann"])
        let questions = link.packets.filter { $0.host == browser }
        for (one, next) in zip(questions, questions.dropFirst()) {
            #expect(next.time - one.time >= .seconds(1))
        }
    }

    @Test func `a goodbye of a stranger's words for another host takes nothing away at once`() {
        var link = SimulatedLink()
        _ = link.add(SimulatedLink.records("Ann", last: 1))
        let browser = link.addBrowser()
        link.run(for: .seconds(5))
        // The host hears it and says that it is still there.
        link.inject(
            .response([
                DNSRecord(
                    DNSName("host-1.local")!, .a([192, 0, 2, 1]), lifetime: 0, isUnique: true)
            ]))
        link.run(for: .milliseconds(900))
        #expect(link.known(browser) == ["Ann"])
    }
}
