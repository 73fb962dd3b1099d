// SPDX-License-Identifier: Apache-2.0

extension PeerAddress {
    /// The eight groups of an address of IPv6 (RFC 4291, 2.2).
    static func ipv6(_ bytes: ArraySlice<UInt8>) -> [UInt16]? {
        guard bytes.count <= 45 else { return nil }
        let bytes = Array(bytes)
        let colon = UInt8(ascii: ":")
        guard
            let gap = bytes.indices.dropLast().first(where: {
                bytes[$0] == colon && bytes[$0 + 1] == colon
            })
        else {
            return groups(bytes[...], endsAddress: true).flatMap { $0.count == 8 ? $0 : nil }
        }
        guard let before = groups(bytes[..<gap], endsAddress: false),
            let after = groups(bytes[(gap + 2)...], endsAddress: true),
            before.count + after.count < 8
        else { return nil }
        return before + [UInt16](repeating: 0, count: 8 - before.count - after.count) + after
    }

    /// Groups between colons; none of no bytes. The last ones of an address may be written as one of IPv4.
    private static func groups(_ bytes: ArraySlice<UInt8>, endsAddress: Bool) -> [UInt16]? {
        guard !bytes.isEmpty else { return [] }
        var groups: [UInt16] = []
        let parts = bytes.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            if endsAddress, index == parts.count - 1, let four = ipv4(part) {
                let wide = four.map { UInt16(clamping: $0) }
                groups += [wide[0] << 8 | wide[1], wide[2] << 8 | wide[3]]
            } else {
                guard (1...4).contains(part.count), part.allSatisfy(isHexadecimal),
                    let group = UInt16(String(decoding: part, as: UTF8.self), radix: 16)
                else { return nil }
                groups.append(group)
            }
        }
        return groups
    }

    /// The text of an address: the longest run of zeros is left out, the first one of several (RFC 5952, 4).
    static func ipv6Text(_ groups: [UInt16]) -> String {
        let digits = groups.map { String($0, radix: 16) }
        let gap = longestZeros(groups)
        guard gap.count > 1 else { return digits.joined(separator: ":") }
        return digits[..<gap.lowerBound].joined(separator: ":") + "::"
            + digits[gap.upperBound...].joined(separator: ":")
    }

    private static func longestZeros(_ groups: [UInt16]) -> Range<Int> {
        var longest = 0..<0
        var start = 0
        for index in groups.indices {
            if groups[index] != 0 { start = index + 1 }
            if index + 1 - start > longest.count { longest = start..<index + 1 }
        }
        return longest
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        (byte >= 0x30 && byte <= 0x39) || (byte | 0x20 >= 0x61 && byte | 0x20 <= 0x66)
    }
}
