// SPDX-License-Identifier: Apache-2.0

internal import CLibrary

/// The calls on sockets that are connected, and that another library owns.
package enum ConnectedSocket {
    /// Has small pieces leave at once instead of waiting for an acknowledgement.
    ///
    /// - Parameter descriptor: The connection.
    package static func sendAtOnce(_ descriptor: Int32) {
        var on: Int32 = 1
        // SAFETY: the option is a local that outlives the call, and its size is passed with it.
        unsafe _ = setsockopt(
            descriptor, Int32(clamping: IPPROTO_TCP), TCP_NODELAY, &on,
            socklen_t(MemoryLayout<Int32>.size))
    }

    /// Ends both directions of a connection; the owner closes it.
    ///
    /// - Parameter descriptor: The connection.
    package static func shutDown(_ descriptor: Int32) {
        _ = shutdown(descriptor, Int32(clamping: SHUT_RDWR))
    }

    /// Ends receiving, as if the other side had sent its last byte.
    ///
    /// - Parameter descriptor: The connection.
    package static func shutDownReceiving(_ descriptor: Int32) {
        _ = shutdown(descriptor, Int32(clamping: SHUT_RD))
    }

    /// Whether the other side sends no more, and all that it has sent was read.
    ///
    /// - Parameter descriptor: The connection.
    /// - Returns: Whether that is so.
    package static func hasEnded(_ descriptor: Int32) -> Bool {
        var byte: UInt8 = 0
        let flags = Int32(clamping: MSG_PEEK) | Int32(clamping: MSG_DONTWAIT)
        // SAFETY: there is room for the one byte that is looked at.
        return unsafe recv(descriptor, &byte, 1, flags) == 0
    }

    /// Whether the other side has sent something that was not read.
    ///
    /// - Parameter descriptor: The connection.
    /// - Returns: Whether it has.
    package static func hasBytes(_ descriptor: Int32) -> Bool {
        var byte: UInt8 = 0
        let flags = Int32(clamping: MSG_PEEK) | Int32(clamping: MSG_DONTWAIT)
        // SAFETY: there is room for the one byte that is looked at.
        return unsafe recv(descriptor, &byte, 1, flags) > 0
    }

    /// `POLLRDHUP`, which only shows with GNU extensions.
    private static let hungUp: Int32 = 0x2000

    /// Whether the other side has hung up, or sends no more.
    ///
    /// - Parameter descriptor: The connection.
    /// - Returns: Whether it has.
    package static func isGone(_ descriptor: Int32) -> Bool { shows(hungUp, descriptor) }

    /// Whether the connection is broken: nothing that is sent on it arrives.
    ///
    /// - Parameter descriptor: The connection.
    /// - Returns: Whether it is.
    package static func isBroken(_ descriptor: Int32) -> Bool { shows(0, descriptor) }

    private static func shows(_ events: Int32, _ descriptor: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(clamping: events), revents: 0)
        // SAFETY: one entry is given, and it lives through the call.
        guard unsafe CLibrary.poll(&entry, 1, 0) > 0 else { return false }
        return entry.revents & Int16(clamping: events | POLLHUP | POLLERR) != 0
    }

    /// Bounds what the system takes before it can send it, which grows to some megabytes otherwise.
    ///
    /// What is under way to the other side is not bounded, so a distant client gets as much a second as without this.
    ///
    /// - Parameters:
    ///   - descriptor: A connection of TCP.
    ///   - bytes: About how many bytes.
    package static func boundSending(_ descriptor: Int32, bytes: Int) {
        var size = Int32(clamping: bytes)
        // SAFETY: as in `sendAtOnce`.
        unsafe _ = setsockopt(
            descriptor, Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, &size,
            socklen_t(MemoryLayout<Int32>.size))
    }

    /// The network at the other end of a connection: an IPv4 address, or an IPv6 address whose last 64 bits are
    /// zero, since one client may have all of them.
    ///
    /// - Parameter descriptor: The connection.
    /// - Returns: The address; empty when the system does not tell.
    package static func network(ofPeer descriptor: Int32) -> String {
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
            return unsafe text(of: storage.pointee)
        }
    }

    /// An address as digits; empty when the system does not tell.
    static func text(of address: sockaddr_storage) -> String {
        var address = address
        let length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        // SAFETY: the storage is large enough for any family; the text has the room that is said.
        return unsafe withUnsafeMutablePointer(to: &address) { storage in
            unsafe storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
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
}
