// SPDX-License-Identifier: Apache-2.0

import DivanSystem
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

    @Test func `what waits in the system for a reader is bounded when that is asked`() throws {
        // With a peer that reads nothing, all that is sent waits on one of the two sides.
        func sent(_ prepare: (Int32) -> Void) throws -> Int {
            var pair: [Int32] = [-1, -1]
            try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
            defer { for descriptor in pair { Descriptors.close(descriptor) } }
            prepare(pair[0])
            let piece = [UInt8](repeating: 0, count: 1_024)
            var total = 0
            while case let count = send(pair[0], piece, piece.count, Int32(MSG_DONTWAIT)),
                count > 0
            {
                total += count
            }
            return total
        }
        let bounded = try sent { ConnectedSocket.boundSending($0, bytes: 16 << 10) }
        #expect(bounded > 0)
        #expect(try bounded < sent { ConnectedSocket.boundSending($0, bytes: 128 << 10) })
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
