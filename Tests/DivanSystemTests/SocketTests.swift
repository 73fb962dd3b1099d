// SPDX-License-Identifier: Apache-2.0

import DivanSystem
import DivanTestSupport
import Testing

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

@Suite struct SocketTests {
    @Test func `a port that is taken is told apart from a host of another machine`() throws {
        let socket = try ListeningSocket(host: "127.0.0.1", port: 0)
        defer { socket.close() }
        #expect(socket.port > 0 && socket.isLoopback)
        let taken = #expect(throws: SystemError.self) {
            try ListeningSocket(host: "127.0.0.1", port: socket.port)
        }
        #expect(taken?.isAddressInUse == true)
        let unknown = #expect(throws: SystemError.self) {
            try ListeningSocket(host: "no such host", port: 0)
        }
        #expect(unknown?.operation == ListeningSocket.lookUp)
    }

    /// A connection over loopback whose other end never reads, and what the system takes for it.
    private func taken(_ prepare: (Int32) -> Void) throws -> Int {
        let listening = try ListeningSocket(host: "127.0.0.1", port: 0)
        defer { listening.close() }
        #expect(listen(listening.descriptor, 1) == 0)
        let reader = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { Descriptors.close(reader) }
        var room: Int32 = 4_096
        setsockopt(reader, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = listening.port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(reader, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        try #require(isConnected)
        var accepted: Int32 = -1
        eventually {
            accepted = accept(listening.descriptor, nil, nil)
            return accepted >= 0
        }
        defer { Descriptors.close(accepted) }
        prepare(accepted)
        let piece = [UInt8](repeating: 0, count: 16 << 10)
        var total = 0
        while case let count = send(accepted, piece, piece.count, Int32(MSG_DONTWAIT)), count > 0 {
            total += count
        }
        return total
    }

    @Test func `what the system takes before it can send it is bounded when that is asked`() throws
    {
        let bounded = try taken { ConnectedSocket.boundSending($0, bytes: 64 << 10) }
        #expect(bounded > 0 && bounded < 512 << 10, "\(bounded)")
        let unbounded = try taken { _ in }
        #expect(2 * bounded < unbounded, "\(bounded), \(unbounded)")
    }

    @Test
    func
        `a connection is broken when the other side has ended it, and not when that only sends no more`()
        throws
    {
        var pair: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        defer { Descriptors.close(pair[0]) }
        #expect(!ConnectedSocket.isGone(pair[0]) && !ConnectedSocket.isBroken(pair[0]))
        shutdown(pair[1], Int32(SHUT_WR))
        #expect(ConnectedSocket.isGone(pair[0]) && !ConnectedSocket.isBroken(pair[0]))
        Descriptors.close(pair[1])
        #expect(ConnectedSocket.isGone(pair[0]) && ConnectedSocket.isBroken(pair[0]))
    }

    @Test func `this machine has a loopback`() {
        #expect(LocalAddresses.all.contains { $0.isLoopback && $0.text == "127.0.0.1" })
    }
}
