// SPDX-License-Identifier: Apache-2.0

internal import CLibrary

/// A socket that listens on an address and a port.
package struct ListeningSocket: Sendable {
    /// The descriptor.
    package let descriptor: Int32
    /// The port, also where the system chose it.
    package let port: UInt16
    /// The address that it is bound to.
    package let host: String
    /// Whether only this machine can reach it.
    package let isLoopback: Bool

    /// What is done to listen, for the errors.
    package static let lookUp = "getaddrinfo"

    /// Binds a socket.
    ///
    /// - Parameters:
    ///   - host: The address or its name.
    ///   - port: The port; 0 for one that the system chooses.
    /// - Throws: `SystemError`; its operation is `lookUp` when the host is no address of this machine.
    package init(host: String, port: UInt16) throws(SystemError) {
        var hints = unsafe addrinfo()
        // SAFETY: the list is ours until it is freed, once; each pointer is used within its call.
        unsafe hints.ai_socktype = Int32(clamping: SOCK_STREAM.rawValue)
        unsafe hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
        var found: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(host, "\(port)", &hints, &found) == 0, let list = unsafe found
        else {
            throw SystemError(Self.lookUp, host)
        }
        defer { unsafe freeaddrinfo(list) }
        let address = unsafe list.pointee
        let made = unsafe socket(
            address.ai_family,
            Int32(clamping: SOCK_STREAM.rawValue) | Int32(clamping: SOCK_CLOEXEC.rawValue)
                | Int32(clamping: SOCK_NONBLOCK.rawValue), 0)
        guard made >= 0 else { throw SystemError("socket", host) }
        var on: Int32 = 1
        unsafe setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        guard unsafe bind(made, address.ai_addr, address.ai_addrlen) == 0, listen(made, 1_024) == 0
        else {
            let error = SystemError("bind", host)
            Descriptors.close(made)
            throw error
        }
        do throws(SystemError) { try self.init(bound: made) } catch {
            Descriptors.close(made)
            throw error
        }
    }

    /// Takes over a socket of TCP that another program has bound and that listens already, such as one that a service
    /// manager hands to a service.
    ///
    /// - Parameter descriptor: The socket, which is this value's from now on.
    /// - Throws: `SystemError` when it is no such socket; it is then left as it is.
    package init(adopting descriptor: Int32) throws(SystemError) {
        var listens: Int32 = 0
        var length = socklen_t(MemoryLayout<Int32>.size)
        // SAFETY: the option is a local that outlives the call, and its size is passed with it.
        guard unsafe getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0,
            listens != 0
        else { throw SystemError(Self.listening, "descriptor \(descriptor)", number: ENOTSOCK) }
        try self.init(bound: descriptor)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    }

    /// What is done to learn whether a socket listens, for the errors.
    package static let listening = "listen"

    private init(bound descriptor: Int32) throws(SystemError) {
        var bound = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        // SAFETY: the storage is large enough for any family.
        let name = unsafe withUnsafeMutablePointer(to: &bound) { storage in
            unsafe storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe getsockname(descriptor, address, &length)
            }
        }
        guard name == 0 else { throw SystemError("getsockname", "descriptor \(descriptor)") }
        guard [sa_family_t(AF_INET), sa_family_t(AF_INET6)].contains(bound.ss_family) else {
            throw SystemError(Self.listening, "descriptor \(descriptor)", number: EAFNOSUPPORT)
        }
        self.descriptor = descriptor
        (port, isLoopback) = Self.read(bound)
        host = ConnectedSocket.text(of: bound)
    }

    /// Another descriptor of the same socket, for a second server that takes connections from it.
    ///
    /// - Returns: The socket under its other descriptor.
    /// - Throws: `SystemError` when the process has no descriptor left.
    package func duplicated() throws(SystemError) -> ListeningSocket {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw SystemError("fcntl", "descriptor \(descriptor)") }
        return try ListeningSocket(bound: copy)
    }

    /// Has the system refuse connections, under all descriptors of the socket.
    package func refuse() { _ = shutdown(descriptor, Int32(clamping: SHUT_RDWR)) }

    /// Closes a socket that no server took over.
    package func close() { Descriptors.close(descriptor) }

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
}
