// SPDX-License-Identifier: Apache-2.0

internal import CLibrary

/// An address of a network interface of this machine.
package struct InterfaceAddress: Sendable, Hashable {
    /// The interface's name, such as `eth0`.
    package var interface: String
    /// The address: 4 bytes of IPv4, or 16 of IPv6.
    package var bytes: [UInt8]

    /// Whether it is one of IPv6.
    package var isIPv6: Bool { bytes.count == 16 }

    /// Makes an address.
    ///
    /// - Parameters:
    ///   - interface: The interface's name.
    ///   - bytes: The address.
    package init(interface: String, bytes: [UInt8]) {
        self.interface = interface
        self.bytes = bytes
    }

    /// Whether only this machine can use it.
    package var isLoopback: Bool {
        isIPv6 ? bytes == [UInt8](repeating: 0, count: 15) + [1] : bytes.first == 127
    }

    /// Whether it is good on one network only: `169.254.0.0/16`, `fe80::/10`.
    package var isLinkLocal: Bool {
        isIPv6 ? bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80 : bytes.starts(with: [169, 254])
    }

    /// The address as text; that of IPv6 on one network names the interface, too.
    package var text: String {
        var buffer = [CChar](repeating: 0, count: 64)
        // SAFETY: the bytes are as many as the family has, and the text has the room that is said.
        let isWritten = unsafe bytes.withUnsafeBytes { bytes in
            unsafe inet_ntop(
                isIPv6 ? AF_INET6 : AF_INET, bytes.baseAddress, &buffer, socklen_t(buffer.count))
                != nil
        }
        let digits = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        let text = isWritten ? String(decoding: digits, as: UTF8.self) : ""
        return isIPv6 && isLinkLocal ? "\(text)%\(interface)" : text
    }
}

/// The addresses of this machine.
package enum LocalAddresses {
    /// The addresses of the interfaces that are up, in the system's order.
    package static var all: [InterfaceAddress] {
        var list: UnsafeMutablePointer<ifaddrs>?
        // SAFETY: the list is ours until it is freed, once; its links are followed to their end.
        guard unsafe getifaddrs(&list) == 0 else { return [] }
        defer { unsafe freeifaddrs(list) }
        var found: [InterfaceAddress] = []
        var next = unsafe list
        while let entry = unsafe next {
            unsafe next = unsafe entry.pointee.ifa_next
            let flags = unsafe Int32(bitPattern: entry.pointee.ifa_flags)
            guard flags & Int32(clamping: IFF_UP) != 0, let address = unsafe entry.pointee.ifa_addr,
                let bytes = unsafe bytes(of: address)
            else { continue }
            let name = unsafe String(cString: entry.pointee.ifa_name)
            found.append(InterfaceAddress(interface: name, bytes: bytes))
        }
        return found
    }

    /// The bytes of an address; nil when it is neither IPv4 nor IPv6.
    private static func bytes(of address: UnsafeMutablePointer<sockaddr>) -> [UInt8]? {
        // SAFETY: the family says which structure lies there.
        switch unsafe Int32(clamping: address.pointee.sa_family) {
        case AF_INET:
            unsafe address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { four in
                unsafe withUnsafeBytes(of: four.pointee.sin_addr) { unsafe Array($0) }
            }
        case AF_INET6:
            unsafe address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { six in
                unsafe withUnsafeBytes(of: six.pointee.sin6_addr) { unsafe Array($0) }
            }
        default: nil
        }
    }
}
