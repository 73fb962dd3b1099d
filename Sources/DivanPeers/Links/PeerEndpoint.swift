// SPDX-License-Identifier: Apache-2.0

internal import DivanHTTP
internal import DivanJSON

/// Where a device serves its databases over TLS, and the certificate that it shows there.
///
/// ```swift
/// let endpoint = try PeerEndpoint(
///     addresses: ["192.168.1.7", "fd00::7"], port: 49_213, fingerprint: fingerprint)
/// print(endpoint.urls(of: "notes"))      // ["https://192.168.1.7:49213/notes", "https://[fd00::7]:49213/notes"]
/// ```
///
/// The fingerprint makes it safe to try all addresses: on another network the same address may be another device's,
/// which cannot show this certificate.
public struct PeerEndpoint: Sendable, Hashable {
    /// The most addresses of an endpoint.
    public static let mostAddresses = 8

    /// Addresses of IPv4 and IPv6 and names of hosts, each once, at least one, the preferred ones first.
    public var addresses: [String] { places.map(\.text) }
    /// The port, 1 to 65535.
    public let port: Int
    /// The SHA-256 of the certificate: 64 hexadecimal digits in lower case, as `Listener.fingerprint` and
    /// `TrustPolicy.fingerprints` have them.
    public let fingerprint: String

    let places: [PeerAddress]

    /// Makes an endpoint.
    ///
    /// - Parameters:
    ///   - addresses: 1 to 8 addresses or names that other devices can use. What follows a percent sign, as in `fe80::1%eth0`, is left
    ///     off: the name of an interface means nothing on another device.
    ///   - port: The port.
    ///   - fingerprint: The SHA-256 of the certificate in hexadecimal digits.
    /// - Throws: `PeerError` with code `.invalidValue`.
    public init(addresses: [String], port: Int, fingerprint: String) throws(PeerError) {
        var places: [PeerAddress] = []
        for address in addresses {
            guard let place = PeerAddress(address.utf8.prefix { $0 != UInt8(ascii: "%") }) else {
                throw .invalidAddress(address)
            }
            places.append(place)
        }
        guard let port = UInt16(exactly: port), port > 0 else { throw .invalidPort(port) }
        guard let fingerprint = CertificateFingerprint.normalized(fingerprint) else {
            throw .invalidFingerprint
        }
        try self.init(places, port: port, fingerprint: fingerprint)
    }

    /// Makes an endpoint of parts that were checked, except for the number of addresses.
    init(_ places: [PeerAddress], port: UInt16, fingerprint: String) throws(PeerError) {
        var known: Set<PeerAddress> = []
        self.places = places.filter { known.insert($0).inserted }
        guard (1...Self.mostAddresses).contains(self.places.count) else { throw .addressCount }
        self.port = Int(clamping: port)
        self.fingerprint = fingerprint
    }

    /// The URLs of a database there, one for each address, without user and password.
    ///
    /// - Parameter database: The name of the database.
    /// - Returns: As many URLs as there are addresses, in the same order.
    public func urls(of database: String) -> [String] {
        places.map { "https://\($0.host):\(port)/\(PercentEncoding.encode(database))" }
    }
}

extension PeerEndpoint: CustomStringConvertible {
    /// The addresses and the port.
    public var description: String {
        addresses.joined(separator: ", ") + " port \(port)"
    }
}
