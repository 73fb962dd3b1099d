// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// An address of a network interface of this machine.
struct InterfaceAddress: Sendable, Hashable {
    /// The interface's name, such as `eth0`.
    var interface: String
    /// The address: 4 bytes of IPv4, or 16 of IPv6.
    var bytes: [UInt8]

    var isIPv6: Bool { bytes.count == 16 }

    /// Whether only this machine can use it.
    var isLoopback: Bool {
        isIPv6 ? bytes == [UInt8](repeating: 0, count: 15) + [1] : bytes.first == 127
    }

    /// Whether it is good on one network only: `169.254.0.0/16`, `fe80::/10`.
    var isLinkLocal: Bool {
        isIPv6 ? bytes[0] == 0xFE && bytes[1] & 0xC0 == 0x80 : bytes.starts(with: [169, 254])
    }

    /// The address as text; that of IPv6 on one network names the interface, too.
    var text: String {
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
enum LocalAddresses {
    /// The addresses of the interfaces that are up, in the system's order.
    static var all: [InterfaceAddress] {
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

/// The names under which clients reach an address that is listened on.
enum ReachableHosts {
    /// The hosts of URLs for a listener, an IPv6 address in brackets.
    ///
    /// On all interfaces these are the addresses that another device can use, IPv4 first: not the loopback, and
    /// those of one network only where there are no others. A machine without a network has its loopback.
    ///
    /// - Parameters:
    ///   - host: What is listened on.
    ///   - interfaces: The addresses of this machine.
    /// - Returns: At least one host.
    static func of(_ host: String, _ interfaces: [InterfaceAddress]) -> [String] {
        guard isAll(host) else { return [inURL(host)] }
        // A socket on `0.0.0.0` takes no IPv6; one on `::` takes both.
        let usable = interfaces.filter { !$0.isLoopback && (!$0.isIPv6 || host != "0.0.0.0") }
        let wide = usable.filter { !$0.isLinkLocal }
        let chosen = wide.isEmpty ? usable : wide
        let ordered = chosen.filter { !$0.isIPv6 } + chosen.filter(\.isIPv6)
        return ordered.isEmpty ? ["127.0.0.1"] : ordered.map { inURL($0.text) }
    }

    /// All that a listener may be called, the loopback too.
    static func all(_ host: String, _ interfaces: [InterfaceAddress]) -> [String] {
        let hosts = of(host, interfaces)
        return isAll(host) ? ["127.0.0.1", "[::1]"] + hosts.filter { $0 != "127.0.0.1" } : hosts
    }

    /// Whether a host stands for all interfaces.
    private static func isAll(_ host: String) -> Bool { ["0.0.0.0", "::", ""].contains(host) }

    /// A host as it stands in a URL.
    private static func inURL(_ host: String) -> String {
        guard host.contains(":") else { return host }
        // The sign before an interface's name is one that URLs encode.
        return "[\(host.split(separator: "%", maxSplits: 1).joined(separator: "%25"))]"
    }
}
