// SPDX-License-Identifier: Apache-2.0

/// Where a device can be reached: an address of IPv4 or IPv6, or the name of a host.
///
/// Each has one text, so that addresses that are equal have the same bytes: `192.168.1.7`, `fd00::7` as RFC 5952 writes it,
/// `anns-laptop.local` in lower case. The text has letters, digits, dots, hyphens and colons, none of which is encoded in a URL.
struct PeerAddress: Sendable, Hashable {
    /// The text.
    let text: String

    /// Reads an address.
    ///
    /// - Parameter bytes: The text. An IPv6 address stands in it without brackets and without the name of an interface.
    init?(_ bytes: some Collection<UInt8>) {
        let bytes = Array(bytes)[...]
        guard let text = Self.text(of: bytes) else { return nil }
        self.text = text
    }

    /// Whether it is an address of IPv6.
    var isIPv6: Bool { text.utf8.contains(UInt8(ascii: ":")) }

    /// The address as the host of a URL: one of IPv6 stands in brackets.
    var host: String { isIPv6 ? "[\(text)]" : text }

    /// The text of an address; nil when the bytes are none, or the one that stands for all addresses.
    private static func text(of bytes: ArraySlice<UInt8>) -> String? {
        if bytes.contains(UInt8(ascii: ":")) {
            guard let groups = ipv6(bytes), groups.contains(where: { $0 != 0 }) else { return nil }
            return ipv6Text(groups)
        }
        if let parts = ipv4(bytes) {
            return parts == [0, 0, 0, 0] ? nil : parts.map { String($0) }.joined(separator: ".")
        }
        return name(bytes)
    }

    /// The four numbers of an address of IPv4.
    static func ipv4(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
        let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var numbers: [UInt8] = []
        for part in parts {
            guard (1...3).contains(part.count), part.allSatisfy(isDigit),
                // By some readers a number that begins with 0 is octal.
                part.count == 1 || part.first != UInt8(ascii: "0"),
                let number = UInt8(String(decoding: part, as: UTF8.self), radix: 10)
            else { return nil }
            numbers.append(number)
        }
        return numbers
    }

    /// The name of a host in lower case (RFC 1123, 2.1).
    private static func name(_ bytes: ArraySlice<UInt8>) -> String? {
        let hyphen = UInt8(ascii: "-")
        let labels = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let isName = labels.allSatisfy { label in
            (1...63).contains(label.count) && label.first != hyphen && label.last != hyphen
                && label.allSatisfy { isLetter($0) || isDigit($0) || $0 == hyphen }
        }
        // With a number at its end it would be a strange form of an IPv4 address.
        guard isName, bytes.count <= 253, let last = labels.last?.first, isLetter(last) else {
            return nil
        }
        return String(decoding: bytes, as: UTF8.self).lowercased()
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }
    private static func isLetter(_ byte: UInt8) -> Bool {
        byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7A
    }
}
