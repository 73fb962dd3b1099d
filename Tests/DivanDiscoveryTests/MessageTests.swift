// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Testing

@testable import DivanDiscovery

struct MessageTests {
    private let type = DNSName("_divan._tcp.local")!

    private func sample() throws -> DNSMessage {
        let instance = try #require(type.prefixed(by: "Ann's notes. 2"))
        let host = try #require(DNSName("divan-4f2a.local"))
        let records = ServiceRecords(
            instance: instance, host: host, port: 49_213, text: ["v": "2", "path": "/a=b"],
            addresses: [[192, 0, 2, 7], [0xFE, 0x80] + [UInt8](repeating: 0, count: 13) + [1]])
        var message = DNSMessage.query(
            [DNSQuestion(type, .ptr, wantsUnicast: true), DNSQuestion(instance, .any)],
            known: records.shared, proposed: records.unique)
        message.identifier = 77
        message.isTruncated = true
        return message
    }

    @Test func `a message is read as it was written`() throws {
        let message = try sample()
        #expect(try DNSMessage(message.bytes) == message)
    }

    @Test func `names that occurred before are written as pointers`() throws {
        let message = try sample()
        let text = String(decoding: message.bytes, as: UTF8.self)
        #expect(text.split(separator: "_divan").count - 1 < 4)
        #expect(message.bytes.count < 330)
    }

    @Test func `names are equal by bytes but for the case of ASCII letters`() {
        #expect(DNSName("_Divan._TCP.local") == type)
        #expect(DNSName("_Divan._TCP.local")!.hashValue == type.hashValue)
        #expect(DNSName("caf\u{E9}.local") != DNSName("cafe\u{301}.local"))
        #expect(DNSName("\u{212A}.local") != DNSName("k.local"))
        #expect(DNSName("a..local") == nil)
        #expect(DNSName(String(repeating: "a", count: 64)) == nil)
        #expect(DNSName(labels: [[UInt8]](repeating: [65, 65, 65], count: 64)) == nil)
    }

    @Test func `a name is made of labels that fit, or not at all`() {
        for round in Soak.rounds(test: 5_000, soak: 500_000) {
            var random = Soak.random(round: round, salt: 0xD45)
            let labels = (0..<random.below(8)).map { _ in
                (0..<random.below(random.oneIn(3) ? 70 : 12)).map { _ in
                    UInt8(truncatingIfNeeded: random.next())
                }
            }
            let length = labels.reduce(1) { $0 + 1 + $1.count }
            let fits = length <= 255 && labels.allSatisfy { (1...63).contains($0.count) }
            let name = DNSName(labels: labels)
            #expect((name != nil) == fits)
            guard let name else { continue }
            name.checkInvariants()
            name.parent.checkInvariants()
            let longer = name.prefixed(by: String(repeating: "x", count: random.below(70)))
            longer?.checkInvariants()
            if let longer { #expect(longer.parent == name) }
        }
    }

    @Test(
        arguments: [
            // A name that points at itself, one that points forwards, and one that ends nowhere.
            [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xC0, 12, 0, 12, 0, 1],
            [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xC0, 16, 0, 12, 0, 1, 0],
            [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 5, 65],
            // A label of an unknown kind, a head alone, an operation that is no query.
            [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x80, 1, 0, 12, 0, 1],
            [0, 0, 0, 0, 0, 1],
            [0, 0, 0x28, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            // An address of three bytes, a text longer than its record, and a count beyond the end.
            [
                0, 0, 0x84, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 65, 0, 0, 1, 0, 1, 0, 0, 0, 9, 0, 3, 1, 2,
                3,
            ],
            [
                0, 0, 0x84, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 65, 0, 0, 16, 0, 1, 0, 0, 0, 9, 0, 2, 9,
                65,
            ],
            [0, 0, 0x84, 0, 0, 0, 255, 255, 0, 0, 0, 0],
        ] as [[UInt8]])
    func `what is no message is refused`(_ bytes: [UInt8]) {
        #expect(throws: DNSFailure.self) { try DNSMessage(bytes) }
    }

    @Test func `a name goes through no more pointers than it can have labels`() throws {
        // The content of a record is a chain of pointers, of which each leads to the one before, and the last is the next name.
        func packet(_ count: Int) -> [UInt8] {
            let head: [UInt8] = [0, 0, 0x84, 0, 0, 0, 0, 2, 0, 0, 0, 0]
            let length = 2 + 2 * count
            var bytes =
                head + [0, 0, 99, 0, 1, 0, 0, 0, 9, UInt8(length >> 8), UInt8(length & 0xFF)]
            bytes += [0, 0]
            var last = bytes.count - 1
            for _ in 0..<count {
                let place = bytes.count
                bytes += [0xC0 | UInt8(last >> 8), UInt8(last & 0xFF)]
                last = place
            }
            return bytes + [0xC0 | UInt8(last >> 8), UInt8(last & 0xFF)]
                + [0, 1, 0, 1, 0, 0, 0, 9, 0, 4, 1, 2, 3, 4]
        }
        #expect(try DNSMessage(packet(100)).answers.count == 2)
        #expect(throws: DNSFailure.badName) { try DNSMessage(packet(200)) }
    }

    @Test func `random and mutated packets never trap, and what is read can be written`() throws {
        let good = try sample().bytes
        for round in Soak.rounds(test: 20_000, soak: 5_000_000) {
            var random = Soak.random(round: round)
            var bytes = good
            for _ in 0...random.below(6) where !bytes.isEmpty {
                let place = random.below(bytes.count)
                switch random.below(4) {
                case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
                case 1: bytes.removeSubrange(place...)
                case 2: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: place)
                default: bytes[place] = random.element(of: [0, 0xC0, 0xFF, 63])
                }
            }
            if let message = try? DNSMessage(bytes) {
                message.checkInvariants(ofPacket: bytes.count)
                #expect(try DNSMessage(message.bytes) == message)
                for packet in message.packets { _ = try DNSMessage(packet) }
            }
        }
    }

    @Test func `many questions go into several packets`() throws {
        let questions = (0..<300).flatMap { number in
            let name = type.prefixed(by: String(repeating: "n", count: 40) + "\(number)")!
            return [DNSQuestion(name, .srv), DNSQuestion(name, .txt)]
        }
        let packets = DNSMessage.query(questions, known: []).packets
        #expect(packets.count > 2 && packets.allSatisfy { $0.count < 1_500 })
        #expect(try packets.flatMap { try DNSMessage($0).questions } == questions)
    }

    @Test
    func
        `many known answers go into several packets, of which all but the last say that more follow`()
        throws
    {
        let known = (0..<200).map {
            DNSRecord(
                type, .ptr(type.prefixed(by: "instance number \($0)")!), lifetime: 4_500,
                isUnique: false)
        }
        let packets = try DNSMessage.query([DNSQuestion(type, .ptr)], known: known).packets
            .map { try DNSMessage($0) }
        #expect(packets.count > 2)
        #expect(packets.flatMap(\.answers) == known)
        #expect(packets.map(\.isTruncated) == packets.indices.map { $0 < packets.count - 1 })
        #expect(packets.map(\.questions.count) == [1] + packets.dropFirst().map { _ in 0 })
        #expect(packets.allSatisfy { $0.bytes.count <= DNSMessage.usual })
    }
}
