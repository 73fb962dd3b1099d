// SPDX-License-Identifier: Apache-2.0

/// A service that an app wants to have announced, as far as it keeps to the limits of DNS-SD.
struct OfferedService: Sendable {
    /// The name that others are to see.
    let name: String
    /// The type.
    let type: ServiceType
    /// The port.
    let port: UInt16
    /// What it tells about itself.
    var text: ServiceText
    /// The name below that of the type.
    let instance: DNSName

    /// - Parameters:
    ///   - name: The name that others are to see; nil for a random one.
    ///   - type: The type.
    ///   - port: Where the service listens.
    ///   - text: What it tells about itself.
    /// - Throws: `DiscoveryError` with code `.invalidName`.
    init(_ name: String?, type: ServiceType, port: Int, text: ServiceText) throws(DiscoveryError) {
        guard let number = UInt16(exactly: port), number > 0 else {
            throw DiscoveryError(.invalidName, "\(port) is no port; give one from 1 to 65535.")
        }
        let name = name ?? "divan-" + String(UInt64.random(in: 0...UInt64.max), radix: 36)
        try text.check()
        guard (1...DNSName.longestLabel).contains(name.utf8.count),
            name.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }),
            let instance = type.name.prefixed(by: name)
        else {
            throw DiscoveryError(
                .invalidName,
                "A service's name has 1 to 63 bytes of UTF-8 without control characters; choose a shorter one."
            )
        }
        self.name = name
        self.type = type
        self.port = number
        self.text = text
        self.instance = instance
    }
}
