// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import DivanReplication

/// By what a server is known to be a Divan.
@Suite struct ServerNameTests {
    @Test(arguments: ["Divan/0.1.0", "CouchDB/3.4.3 (Divan/0.1.0)", "proxy/1 Divan/2"])
    func `a Divan is known by its name, in front or behind CouchDB's`(server: String) {
        #expect(HTTPPeer.namesDivan(server))
    }

    @Test(arguments: ["", "CouchDB/3.4.3 (Erlang OTP/25)", "Divanette/1", "NotDivan/1", "Divan"])
    func `another server is not taken for one`(server: String) {
        #expect(!HTTPPeer.namesDivan(server))
    }
}
