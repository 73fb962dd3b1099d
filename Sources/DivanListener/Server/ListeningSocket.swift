// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Darwin)
internal import Darwin
#endif

/// A socket that listens on an address and a port.
struct ListeningSocket {
    let descriptor: Int32
    let port: UInt16
    /// Whether only this machine can reach it.
    let isLoopback: Bool

    /// Binds a socket.
    ///
    /// - Throws: `DatabaseError` with code `.io` when the host is no address of this machine or the port
    ///   is taken.
    init(host: String, port: UInt16) throws {
        var hints = unsafe addrinfo()
        // SAFETY: the list is ours until it is freed, once; each pointer is used within its call.
        unsafe hints.ai_socktype = Int32(clamping: SOCK_STREAM.rawValue)
        unsafe hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        var found: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(host, "\(port)", &hints, &found) == 0, let list = unsafe found
        else {
            throw Self.failure(host, port, "is no address of this machine")
        }
        defer { unsafe freeaddrinfo(list) }
        let address = unsafe list.pointee
        let made = unsafe socket(
            address.ai_family,
            Int32(clamping: SOCK_STREAM.rawValue) | Int32(clamping: SOCK_CLOEXEC.rawValue)
                | Int32(clamping: SOCK_NONBLOCK.rawValue), 0)
        guard made >= 0 else { throw Self.failure(host, port, "cannot be listened on") }
        var on: Int32 = 1
        unsafe setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        guard unsafe bind(made, address.ai_addr, address.ai_addrlen) == 0, listen(made, 1_024) == 0
        else {
            let reason = errno == EADDRINUSE ? "is in use" : "cannot be listened on"
            Self.closeDescriptor(made)
            throw Self.failure(host, port, reason)
        }
        descriptor = made
        var bound = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let name = unsafe withUnsafeMutablePointer(to: &bound) { storage in
            unsafe storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe getsockname(made, address, &length)
            }
        }
        guard name == 0 else {
            Self.closeDescriptor(made)
            throw Self.failure(host, port, "cannot be listened on")
        }
        (self.port, isLoopback) = Self.read(bound)
    }

    /// Closes a socket that nobody took over.
    func close() { Self.closeDescriptor(descriptor) }

    /// The network at the other end of a connection: an IPv4 address, or an IPv6 address whose last 64 bits are
    /// zero, since one client may have all of them; empty when the system does not tell.
    static func network(ofPeer descriptor: Int32) -> String {
        var peer = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        // SAFETY: the storage is large enough for any family and lives through all calls; the text has the room
        // that is said.
        return unsafe withUnsafeMutablePointer(to: &peer) { storage in
            let isKnown = unsafe storage.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getpeername(descriptor, $0, &length) == 0
            }
            guard isKnown else { return "" }
            unsafe clearHost(storage)
            return unsafe storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                var text = [CChar](repeating: 0, count: 64)
                let code = unsafe getnameinfo(
                    address, length, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
                let end = text.firstIndex(of: 0) ?? text.endIndex
                let digits = text[..<end].map { UInt8(bitPattern: $0) }
                return code == 0 ? String(decoding: digits, as: UTF8.self) : ""
            }
        }
    }

    /// Clears the part of an IPv6 address that a client chooses itself, unless an IPv4 address stands there.
    private static func clearHost(_ address: UnsafeMutablePointer<sockaddr_storage>) {
        // SAFETY: the storage is large enough for either family, and its family says which it is.
        guard unsafe address.pointee.ss_family == sa_family_t(AF_INET6) else { return }
        unsafe address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { six in
            unsafe withUnsafeMutableBytes(of: &six.pointee.sin6_addr) { bytes in
                guard unsafe bytes[0..<10].contains(where: { $0 != 0 }) else { return }
                for index in 8..<16 { unsafe bytes[index] = 0 }
            }
        }
    }

    private static func closeDescriptor(_ descriptor: Int32) {
        #if canImport(Glibc)
        Glibc.close(descriptor)
        #else
        Darwin.close(descriptor)
        #endif
    }

    private static func read(_ address: sockaddr_storage) -> (UInt16, Bool) {
        var address = address
        // SAFETY: the storage is large enough for either family, and its family says which it is.
        return unsafe withUnsafeMutablePointer(to: &address) { storage in
            if unsafe storage.pointee.ss_family == sa_family_t(AF_INET6) {
                return unsafe storage.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { six in
                    let bytes = unsafe withUnsafeBytes(of: six.pointee.sin6_addr) {
                        unsafe Array($0)
                    }
                    let loopback = [UInt8](repeating: 0, count: 15) + [1]
                    return unsafe (UInt16(bigEndian: six.pointee.sin6_port), bytes == loopback)
                }
            }
            return unsafe storage.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { four in
                let first = unsafe UInt32(bigEndian: four.pointee.sin_addr.s_addr) >> 24
                return unsafe (UInt16(bigEndian: four.pointee.sin_port), first == 127)
            }
        }
    }

    private static func failure(_ host: String, _ port: UInt16, _ reason: String) -> DatabaseError {
        DatabaseError(
            .io,
            "The listener cannot start: '\(host)', port \(port), \(reason); choose another one.")
    }
}
