// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

@testable import DivanDiscovery

/// A busy link: hosts that come, change and contradict each other, and strangers who ask.
struct ResponderRandomTests {
    private let type = ServiceType.divan.name

    @Test func `hosts say nothing before their probes, and no record twice within a second`() {
        for round in Soak.rounds(test: 60, soak: 5_000) {
            var random = Soak.random(round: round, salt: 0x4E5)
            var link = SimulatedLink(seed: random.next())
            if random.oneIn(3) { link.lossOneIn = 2 + random.below(4) }
            // On a calm link each host has a name of its own, and none probes once it has it.
            let isCalm = random.oneIn(2)
            var hosts: [Int] = []
            var probes: [Duration] = []
            for number in 1...3 {
                hosts.append(link.add(records(UInt8(number), isCalm, &random)))
            }
            if isCalm { link.run(for: .seconds(5)) }
            for _ in 0..<60 {
                switch random.below(6) {
                case 0:
                    let index = random.below(3)
                    link.update(hosts[index], records(UInt8(index + 1), isCalm, &random))
                case 1 where !isCalm:
                    // A stranger's probe is answered at once.
                    probes.append(link.now)
                    link.inject(
                        .query(
                            [DNSQuestion(name(isCalm, &random), .any)],
                            proposed: records(9, false, &random).unique))
                case 2 where !isCalm: link.inject(.response(records(9, false, &random).all))
                case 3: link.inject(.query([DNSQuestion(type, .ptr)]), port: 40_000)
                default:
                    var question = DNSMessage.query([
                        DNSQuestion(random.oneIn(2) ? type : name(isCalm, &random), .any)
                    ])
                    question.isTruncated = random.oneIn(3)
                    link.inject(question)
                }
                link.run(for: .milliseconds(random.below(random.oneIn(2) ? 40 : 400)))
            }
            link.run(for: .seconds(5))
            for host in hosts { check(link, host, probes, "round \(round), host \(host)") }
        }
    }

    private func name(_ isCalm: Bool, _ random: inout SeededRandom) -> DNSName {
        type.prefixed(
            by: isCalm ? "Host \(1 + random.below(3))" : random.oneIn(3) ? "Ben" : "Ann")!
    }

    private func records(
        _ last: UInt8, _ hasOwnName: Bool, _ random: inout SeededRandom
    ) -> ServiceRecords {
        SimulatedLink.records(
            hasOwnName ? "Host \(last)" : random.oneIn(3) ? "Ben" : "Ann",
            port: UInt16(random.below(3)), last: last, text: ["v": "\(random.below(3))"])
    }

    /// Looks for what a host must not have said. Those that probe are the other hosts and the strangers.
    private func check(
        _ link: SimulatedLink, _ host: Int, _ strangers: [Duration], _ comment: Comment
    ) {
        let probes =
            strangers
            + link.packets.filter { !$0.message.authorities.isEmpty }.map { $0.time }
        var probed = 0
        var last: [DNSRecord: Duration] = [:]
        for packet in link.packets where packet.host == host {
            guard packet.message.isResponse else {
                if !packet.message.authorities.isEmpty { probed += 1 }
                continue
            }
            #expect(probed >= 3, comment)
            for record in packet.message.answers where record.lifetime > 0 {
                defer { last[record] = packet.time }
                guard let before = last[record], packet.time - before < .seconds(1) else {
                    continue
                }
                // Only a probe is answered sooner, after a quarter of a second.
                let isAnswer = probes.contains {
                    $0 >= before - .seconds(1) && $0 <= packet.time
                }
                #expect(isAnswer && packet.time - before >= .milliseconds(250), comment)
            }
        }
    }
}
