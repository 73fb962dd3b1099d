// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// An address and a port where a peer may be.
struct PeerSpot: Sendable, Hashable {
    /// The address as a URL writes its host, with the interface of one that needs it: `192.168.1.7`, `[fe80::1%25eth0]`.
    @ByBytes var host: String
    let port: UInt16

    init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// The spot to be kept; nil for an address that is good with its interface only.
    var place: PeerPlace? {
        guard !host.utf8.contains(UInt8(ascii: "%")) else { return nil }
        let bytes = host.utf8.filter { $0 != UInt8(ascii: "[") && $0 != UInt8(ascii: "]") }
        return PeerAddress(bytes).flatMap { PeerPlace([$0], port: port) }
    }
}

extension PeerPlace {
    /// Its addresses, each with the port.
    var spots: [PeerSpot] { addresses.map { PeerSpot(host: $0.host, port: port) } }
}
