// SPDX-License-Identifier: Apache-2.0

import DivanTestSupport
import Foundation
import Testing

@testable import DivanPeers

/// Addresses, compared with those of the system's own reader.
struct PeerAddressTests {
    private static func read(_ text: String) -> String? { PeerAddress(text.utf8)?.text }

    @Test func `an address has one text`() {
        for (text, one) in [
            ("192.168.1.7", "192.168.1.7"), ("255.255.255.255", "255.255.255.255"),
            ("::1", "::1"), ("0:0:0:0:0:0:0:1", "::1"), ("1::", "1::"),
            ("FD00:0:0:1:0:0:0:7", "fd00:0:0:1::7"), ("1:0:0:2:0:0:3:4", "1::2:0:0:3:4"),
            ("1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"), ("1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"),
            ("::ffff:1.2.3.4", "::ffff:102:304"), ("Anns-Laptop.LOCAL", "anns-laptop.local"),
            ("a", "a"), ("9lives.example", "9lives.example"),
        ] {
            #expect(Self.read(text) == one, "\(text)")
        }
    }

    @Test func `what is no address is refused`() {
        let labels = String(repeating: "a.", count: 126)
        for text in [
            "", ".", "a.", ".a", "a..b", "-a", "a-", "a_b", "a b", "\u{E9}", "a/b", "1.2.3",
            "1.2.3.4.5",
            "1.2.3.256", "1.2.3.04", "127.1", "0x7f.1", "2130706433", "0.0.0.0", ":", "::", "0::0",
            ":::",
            "1:", ":1", "1:::2", "1::2::3", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "12345::", "g::",
            "1:2:3:4:5:6:7:8::", "::1%eth0", "[::1]", "1.2.3.4::", "::1.2.3.4:5", "::1.2.3", "+1::",
            String(repeating: "a", count: 64), labels + "ab",
        ] {
            #expect(Self.read(text) == nil, "\(text)")
        }
        #expect(Self.read(labels + "a") != nil)
    }

    @Test func `addresses of IPv6 are those of the system`() {
        var taken = 0
        for round in Soak.rounds(test: 5_000, soak: 2_000_000) {
            var random = Soak.random(round: round, salt: 0xA6)
            let text = Self.nearAddress(&random)
            guard let system = Self.systemRead(text) else {
                #expect(PeerAddress.ipv6(Array(text.utf8)[...]) == nil, "\(text)")
                continue
            }
            taken += 1
            let groups = PeerAddress.ipv6(Array(text.utf8)[...])
            #expect(groups == system, "\(text)")
            let again = PeerAddress.ipv6Text(system)
            #expect(Self.systemRead(again) == system, "\(text) as \(again)")
            // The system ends some addresses as those of IPv4.
            let known = Self.systemText(system)
            #expect(known.contains(".") || again == known, "\(text)")
        }
        #expect(taken > 50)
    }

    /// Groups, colons and dots, often near to an address.
    private static func nearAddress(_ random: inout SeededRandom) -> String {
        var text = ""
        for index in 0...(5 + random.below(4)) {
            if index > 0 { text += random.oneIn(8) ? "::" : ":" }
            switch random.below(12) {
            case 0: text += ""
            case 1: text += "1.2.3.\(random.below(300))"
            case 2...5: text += "0"
            default: text += String(random.below(random.oneIn(20) ? 1 << 20 : 1 << 16), radix: 16)
            }
        }
        return text
    }

    private static func systemRead(_ text: String) -> [UInt16]? {
        var bytes = [UInt8](repeating: 0, count: 16)
        guard inet_pton(AF_INET6, text, &bytes) == 1 else { return nil }
        return (0..<8).map { UInt16(bytes[2 * $0]) << 8 | UInt16(bytes[2 * $0 + 1]) }
    }

    private static func systemText(_ groups: [UInt16]) -> String {
        let bytes = groups.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        var text = [CChar](repeating: 0, count: 64)
        _ = inet_ntop(AF_INET6, bytes, &text, 64)
        return String(
            decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
