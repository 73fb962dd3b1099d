// SPDX-License-Identifier: Apache-2.0

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// The addresses of this machine that others may reach.
enum LocalAddresses {
    /// IPv4 addresses of the interfaces that are up, without the loopback.
    static var all: [String] {
        var list: UnsafeMutablePointer<ifaddrs>?
        // SAFETY: the list is ours until it is freed, once; its links are followed to their end.
        guard unsafe getifaddrs(&list) == 0 else { return [] }
        defer { unsafe freeifaddrs(list) }
        var found: [String] = []
        var next = unsafe list
        while let entry = unsafe next {
            unsafe next = unsafe entry.pointee.ifa_next
            let flags = unsafe Int32(bitPattern: entry.pointee.ifa_flags)
            let isUp = flags & Int32(IFF_UP) != 0
            let isLoopback = flags & Int32(IFF_LOOPBACK) != 0
            guard isUp, !isLoopback, let address = unsafe entry.pointee.ifa_addr,
                unsafe address.pointee.sa_family == sa_family_t(AF_INET)
            else { continue }
            let number = unsafe address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                unsafe UInt32(bigEndian: $0.pointee.sin_addr.s_addr)
            }
            found.append(
                [24, 16, 8, 0].map { "\(number >> UInt32($0) & 0xFF)" }.joined(separator: "."))
        }
        return found
    }
}
