// SPDX-License-Identifier: Apache-2.0

/// A service that was found on the network.
///
/// Any machine on the network can announce anything, so none of this is proof of who answers there: let the connection
/// itself prove that, by TLS with a pinned certificate.
public struct DiscoveredService: Sendable, Equatable {
    /// An address of the host.
    public struct Address: Sendable, Hashable, CustomStringConvertible {
        /// 4 bytes of IPv4, or 16 of IPv6.
        public let bytes: [UInt8]
        /// The name of the interface by which an IPv6 address of the link (`fe80::…`) is reached; nil for other addresses.
        public let interface: String?

        /// The address as a URL writes its host: `192.0.2.7`, `[fe80::1%25eth0]`.
        public var description: String {
            guard bytes.count == 16 else { return bytes.map(String.init).joined(separator: ".") }
            let scope = interface.map { "%25" + $0 } ?? ""
            return "[" + AddressText.ipv6(bytes) + scope + "]"
        }

        /// Makes an address.
        package init(bytes: [UInt8], interface: String? = nil) {
            self.bytes = bytes
            self.interface = interface
        }
    }

    /// The name of the instance, which tells it from others of its type on the network.
    public let name: String
    /// The name of its host on the network, such as `divan-4f2a91c0.local`.
    public let host: String
    /// The port.
    public let port: UInt16
    /// What it tells about itself.
    public let text: ServiceText
    /// The addresses of the host, IPv4 first.
    public let addresses: [Address]

    /// Makes a service.
    package init(
        name: String, host: String, port: UInt16, text: ServiceText, addresses: [Address]
    ) {
        self.name = name
        self.host = host
        self.port = port
        self.text = text
        self.addresses = addresses
    }
}

/// The usual text of addresses.
enum AddressText {
    /// Eight groups of hexadecimal digits, the longest run of zeros as `::` (RFC 5952).
    static func ipv6(_ bytes: [UInt8]) -> String {
        let groups = stride(from: 0, to: 16, by: 2).map {
            UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1])
        }
        var zeros = 0..<0
        var start = 0
        for index in 0...8 where index == 8 || groups[index] != 0 {
            if index - start > max(1, zeros.count) { zeros = start..<index }
            start = index + 1
        }
        let text = { (part: ArraySlice<UInt16>) in
            part.map { String($0, radix: 16) }.joined(separator: ":")
        }
        guard !zeros.isEmpty else { return text(groups[...]) }
        return text(groups[..<zeros.lowerBound]) + "::" + text(groups[zeros.upperBound...])
    }
}
