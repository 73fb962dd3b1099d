// SPDX-License-Identifier: Apache-2.0

import DivanSystem
import Testing

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

    @Test func `this machine has a loopback`() {
        #expect(LocalAddresses.all.contains { $0.isLoopback && $0.text == "127.0.0.1" })
    }
}
