// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// Where a peer was last reached, or said that it is: where it is looked for when no multicast tells of it.
struct PeerPlace: Sendable, Hashable {
    /// Its addresses, those that are known to be good first.
    let addresses: [PeerAddress]
    /// Its port.
    let port: UInt16

    /// Takes addresses, of which those beyond `PeerEndpoint.mostAddresses` are left off, and a port; nil when there is no address, or the
    /// port is 0.
    init?(_ addresses: [PeerAddress], port: UInt16) {
        guard !addresses.isEmpty, port > 0 else { return nil }
        var known: Set<PeerAddress> = []
        self.addresses = Array(
            addresses.filter { known.insert($0).inserted }.prefix(PeerEndpoint.mostAddresses))
        self.port = port
    }

    /// Reads what `json` has written, or what a peer says of itself; nil when it is malformed.
    init?(_ value: JSONObject) {
        guard let port = value["port"]?.int64.flatMap(UInt16.init(exactly:)),
            let texts = value["addresses"]?.array
        else { return nil }
        self.init(
            texts.prefix(PeerEndpoint.mostAddresses).compactMap {
                $0.string.flatMap { PeerAddress($0.utf8) }
            }, port: port)
    }

    var json: JSONObject {
        [
            "addresses": .array(addresses.map { .string($0.text) }),
            "port": .integer(Int64(clamping: port)),
        ]
    }

    /// The place once something newer is known of it. Addresses that were good stay, unless the port is another one: the device
    /// may come back to a network where it had them.
    func updated(by newer: PeerPlace) -> PeerPlace {
        guard newer.port == port else { return newer }
        // The order alone is no news: a peer with two addresses may be met at either.
        if newer.addresses.allSatisfy(addresses.contains) { return self }
        return PeerPlace(newer.addresses + addresses, port: port) ?? newer
    }
}
