// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import DivanDiscovery

struct ResponderTests {
    private let type = ServiceType.divan.name

    @Test func `a name is claimed by three probes, then announced twice`() {
        var link = SimulatedLink()
        let host = link.add(SimulatedLink.records("Ann"))
        link.run(for: .seconds(10))
        let sent = link.packets
        #expect(sent.map(\.message.isResponse) == [false, false, false, true, true])
        #expect(sent[0].time <= .milliseconds(250))
        #expect(sent[1].time - sent[0].time == .milliseconds(250))
        #expect(sent[4].time - sent[3].time == .seconds(1))
        #expect(sent[0].message.authorities.count == 3)
        #expect(sent[3].message.answers.count == 5)
        #expect(link.events[host] == [.announced("Ann")])
    }

    @Test func `nothing is said to be true before the probes are done`() {
        var link = SimulatedLink()
        _ = link.add(SimulatedLink.records("Ann"))
        link.run(for: .milliseconds(100))
        link.inject(.query([DNSQuestion(type, .ptr)]))
        link.run(for: .milliseconds(200))
        #expect(link.packets.allSatisfy { !$0.message.isResponse })
    }

    @Test func `a name that another host has is given up`() {
        var link = SimulatedLink()
        let first = link.add(SimulatedLink.records("Ann", last: 1))
        link.run(for: .seconds(5))
        let second = link.add(SimulatedLink.records("Ann", last: 2))
        link.run(for: .seconds(5))
        #expect(link.events[first] == [.announced("Ann")])
        #expect(link.events[second] == [.conflict("Ann")])
    }

    @Test func `of two hosts that claim a name at once, the one whose records come later keeps it`()
    {
        for seed in 1...20 as ClosedRange<UInt64> {
            var link = SimulatedLink(seed: seed)
            let first = link.add(SimulatedLink.records("Ann", port: 1_000, last: 1))
            let second = link.add(SimulatedLink.records("Ann", port: 2_000, last: 2))
            link.run(for: .seconds(10))
            let announced = [first, second].filter { link.events[$0] == [.announced("Ann")] }
            #expect(announced == [second])
            #expect(link.events[first] == [.conflict("Ann")])
        }
    }

    @Test func `two links that are joined later settle who has the name`() {
        var link = SimulatedLink()
        link.lossOneIn = 1
        let first = link.add(SimulatedLink.records("Ann", port: 1_000, last: 1))
        let second = link.add(SimulatedLink.records("Ann", port: 2_000, last: 2))
        link.run(for: .seconds(5))
        #expect(link.events[first] == [.announced("Ann")])
        #expect(link.events[second] == [.announced("Ann")])
        link.lossOneIn = nil
        link.inject(.query([DNSQuestion(type, .ptr)]))
        link.inject(.query([DNSQuestion(type.prefixed(by: "Ann")!, .srv)]))
        link.run(for: .seconds(10))
        #expect(link.events[first]?.last == .conflict("Ann"))
        #expect(link.events[second]?.last == .announced("Ann"))
    }

    @Test func `another address is announced at once, however often hosts ask`() {
        var responder = Responder(SimulatedLink.records("Ann", last: 1), seed: 1)
        var now = Duration.zero
        var announcements = 0
        var asked = 0
        func announced(_ responder: inout Responder) -> Int {
            var count = 0
            while let action = responder.takeAction() { if action == .announced { count += 1 } }
            return count
        }
        responder.start(at: now)
        let peer = PacketPeer(address: [192, 0, 2, 9], port: PacketPeer.multicastPort)
        // Two of the records are asked for in turn, twice a second, so that one of them was always just sent.
        func pass(_ time: Duration, _ responder: inout Responder) {
            let end = now + time
            while now < end {
                now += .milliseconds(10)
                if now >= .milliseconds(500) * asked {
                    asked += 1
                    let question =
                        asked.isMultiple(of: 2)
                        ? DNSQuestion(type, .ptr)
                        : DNSQuestion(type.prefixed(by: "Ann")!, .srv)
                    responder.receive(.query([question]), from: peer, at: now)
                }
                responder.tick(at: now)
                announcements += announced(&responder)
            }
        }
        pass(.seconds(20), &responder)
        #expect(announcements == 1)
        responder.update(SimulatedLink.records("Ann", last: 2), at: now)
        pass(.milliseconds(20), &responder)
        #expect(announcements == 2)
        // A service that goes says so, also in the moment after.
        responder.stop(at: now)
        guard case .multicast(let goodbye)? = responder.takeAction() else {
            Issue.record("no goodbye")
            return
        }
        #expect(goodbye.answers.allSatisfy { $0.lifetime == 0 })
    }

    @Test func `a question is answered with what will be asked next, after 20 to 120 ms`() throws {
        var link = SimulatedLink()
        _ = link.add(SimulatedLink.records("Ann"))
        link.run(for: .seconds(5))
        let count = link.packets.count
        link.inject(.query([DNSQuestion(type, .ptr)]))
        link.run(for: .seconds(1))
        let answer = try #require(link.packets.dropFirst(count).first)
        #expect(link.packets.count == count + 1)
        #expect(
            (Duration.milliseconds(20)...Duration.milliseconds(120)).contains(
                answer.time - .seconds(5)))
        #expect(answer.message.answers.map(\.type) == [.ptr])
        #expect(Set(answer.message.additional.map(\.type)) == [.srv, .txt, .a])
    }

    @Test func `what the asker knows is not repeated, unless half its time is over`() {
        for (lifetime, answers) in [(4_500, 0), (2_250, 0), (2_249, 1)] as [(UInt32, Int)] {
            var link = SimulatedLink()
            _ = link.add(SimulatedLink.records("Ann"))
            link.run(for: .seconds(5))
            let count = link.packets.count
            let known = DNSRecord(
                type, .ptr(type.prefixed(by: "Ann")!), lifetime: lifetime, isUnique: false)
            link.inject(.query([DNSQuestion(type, .ptr)], known: [known]))
            link.run(for: .seconds(1))
            #expect(link.packets.count - count == answers)
        }
    }

    @Test func `known answers that follow in another packet count, too`() {
        var link = SimulatedLink()
        _ = link.add(SimulatedLink.records("Ann"))
        link.run(for: .seconds(5))
        let count = link.packets.count
        var question = DNSMessage.query([DNSQuestion(type, .ptr)])
        question.isTruncated = true
        link.inject(question)
        link.run(for: .milliseconds(300))
        let known = DNSRecord(
            type, .ptr(type.prefixed(by: "Ann")!), lifetime: 4_000, isUnique: false)
        link.inject(.query([], known: [known]))
        link.run(for: .seconds(1))
        #expect(link.packets.count == count)
    }

    @Test func `a record is multicast at most once a second`() {
        var link = SimulatedLink()
        _ = link.add(SimulatedLink.records("Ann"))
        link.run(for: .seconds(5))
        let count = link.packets.count
        for _ in 0..<400 {
            link.inject(.query([DNSQuestion(type, .ptr)]))
            link.run(for: .milliseconds(10))
        }
        #expect((3...5).contains(link.packets.count - count))
    }

    @Test func `a name has no records of other kinds, and says so`() throws {
        var link = SimulatedLink()
        _ = link.add(SimulatedLink.records("Ann"))
        link.run(for: .seconds(5))
        link.inject(.query([DNSQuestion(DNSName("host-1.local")!, .aaaa)]))
        link.run(for: .seconds(1))
        let answer = try #require(link.packets.last?.message.answers.first)
        #expect(answer.content == .nsec(next: DNSName("host-1.local")!, types: [.a]))
    }

    @Test
    func `an old resolver is answered alone, for ten seconds, and so many times a second at most`()
        throws
    {
        var link = SimulatedLink()
        _ = link.add(SimulatedLink.records("Ann"))
        link.run(for: .seconds(5))
        let count = link.packets.count
        var question = DNSMessage.query([DNSQuestion(type, .ptr)])
        question.identifier = 4_711
        for _ in 0..<1_000 { link.inject(question, port: 40_000) }
        #expect(link.unicasts.count == Responder.unicastsPerSecond)
        let answer = try #require(link.unicasts.first?.0)
        #expect(answer.identifier == 4_711)
        #expect(answer.questions == question.questions)
        #expect(answer.records.allSatisfy { $0.lifetime <= 10 && !$0.isUnique })
        #expect(link.packets.count == count)
    }

    @Test func `what an old resolver asks many times is answered once, in one datagram`() throws {
        var link = SimulatedLink()
        let records = SimulatedLink.records("Ann")
        _ = link.add(records)
        link.run(for: .seconds(5))
        var question = DNSMessage.query(
            Array(repeating: DNSQuestion(records.instance, .any), count: 700))
        question.questions.append(DNSQuestion(records.host, .a))
        link.inject(question, port: 40_000)
        #expect(link.unicasts.count == 1)
        let answer = try #require(link.unicasts.first?.0)
        #expect(answer.packets.count == 1)
        #expect(answer.questions == [DNSQuestion(records.instance, .any)])
        #expect(answer.answers.map(\.type) == [.srv, .txt, .a])
        #expect(!answer.isTruncated)
        // The same goes for a question that is answered to all.
        let count = link.packets.count
        question.questions.removeLast()
        link.inject(question)
        link.run(for: .seconds(1))
        #expect(link.packets.dropFirst(count).map(\.message.answers.count) == [2])
    }

    @Test func `an answer to an old resolver that is too long for a datagram is cut, and says so`()
        throws
    {
        var link = SimulatedLink()
        var records = SimulatedLink.records("Ann")
        let host = records.host
        records = ServiceRecords(
            instance: records.instance, host: host, port: 5_984, text: [:],
            addresses: (0..<100).map { [UInt8](repeating: 0x20, count: 15) + [$0] })
        _ = link.add(records)
        link.run(for: .seconds(5))
        link.inject(.query([DNSQuestion(host, .aaaa)]), port: 40_000)
        let answer = try #require(link.unicasts.first?.0)
        #expect(answer.packets.count == 1)
        #expect(answer.packets[0].count <= DNSMessage.usual)
        #expect(answer.isTruncated)
        #expect(answer.answers.count >= 20)
        // What would be asked next is left out without a word.
        link.inject(.query([DNSQuestion(records.instance, .srv)]), port: 40_000)
        let other = try #require(link.unicasts.last?.0)
        #expect(other.packets.count == 1)
        #expect(other.answers.map(\.type) == [.srv])
        #expect(!other.isTruncated && !other.additional.isEmpty)
    }

    @Test func `a question costs as much as it is long, also with what the asker knows`() {
        let records = SimulatedLink.records("Ann")
        var responder = Responder(records, seed: 1)
        responder.start(at: .zero)
        for second in 1...10 { responder.tick(at: .seconds(second)) }
        while responder.takeAction() != nil {}
        func question(_ asked: Int, _ known: Int) -> DNSMessage {
            .query(
                Array(repeating: DNSQuestion(records.instance, .any), count: asked),
                known: Array(
                    repeating: DNSRecord(
                        records.instance, .txt([[1]]), lifetime: 4_500, isUnique: true),
                    count: known))
        }
        // A hundred times as long. At the square of that it would be ten thousand times as much.
        let (small, large) = (question(7, 4), question(700, 400))
        let peer = PacketPeer(address: [192, 0, 2, 9], port: 40_000)
        var times = [Duration.seconds(600), .seconds(600)]
        for round in 0..<5 {
            for (index, message) in [small, large].enumerated() {
                let now = Duration.seconds(20 + 2 * round + index)
                times[index] = min(
                    times[index],
                    ContinuousClock().measure {
                        responder.receive(message, from: peer, at: now)
                    })
                #expect(responder.takeAction() != nil)
            }
        }
        #expect(times[1] < times[0] * 400)
    }

    @Test func `another text is announced, and an address that goes is withdrawn`() throws {
        var link = SimulatedLink()
        let host = link.add(SimulatedLink.records("Ann"))
        link.run(for: .seconds(5))
        let count = link.packets.count
        var changed = SimulatedLink.records("Ann", text: ["v": "2"])
        link.update(host, changed)
        link.run(for: .seconds(5))
        #expect(link.packets.count == count + 2)
        #expect(
            link.packets[count].message.answers.contains { $0.content == .txt([Array("v=2".utf8)]) }
        )
        changed = ServiceRecords(
            instance: changed.instance, host: changed.host, port: 5_984, text: ["v": "2"],
            addresses: [])
        link.update(host, changed)
        #expect(link.packets[count + 2].message.answers.map(\.lifetime) == [0])
    }

    @Test func `a host's own records on another link of one network are no contradiction`() {
        var link = SimulatedLink()
        let here = SimulatedLink.records("Ann", host: "host-1", last: 1)
        let there = SimulatedLink.records("Ann", host: "host-1", last: 2)
        var responder = Responder(here, seed: 1)
        responder.elsewhere = there.unique
        responder.start(at: .zero)
        responder.tick(at: .seconds(1))
        responder.receive(
            .response(there.all), from: PacketPeer(address: [192, 0, 2, 2], port: 5_353),
            at: .seconds(1))
        while let action = responder.takeAction() {
            if case .conflict = action {
                Issue.record("its own record is taken for another host's")
            }
        }
        link.run(for: .seconds(1))
    }
}
