// SPDX-License-Identifier: Apache-2.0

/// A type of services, such as `_divan._tcp` (RFC 6763, 7).
///
/// ```swift
/// let notes = try ServiceType("_notes._tcp")
/// ```
///
/// The first part is an underscore and 1 to 15 letters, digits and hyphens, at least one letter among them; the second one is `_tcp`
/// or `_udp`. Upper and lower case are the same.
public struct ServiceType: Hashable, Sendable, CustomStringConvertible {
    /// Listeners of Divan, unless an app chooses a type of its own: `_divan._tcp`.
    public static let divan = ServiceType(label: "_divan", transport: "_tcp")

    /// The name of the type in the domain of the link, such as `_divan._tcp.local`.
    package let name: DNSName

    /// Takes a type as it is written.
    /// - Throws: `DiscoveryError` with code `.invalidName` when it is no type of services.
    public init(_ text: String) throws(DiscoveryError) {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 2, Self.isLabel(parts[0]),
            let transport = String(parts[1])?.lowercased(), ["_tcp", "_udp"].contains(transport),
            let label = String(parts[0])?.lowercased()
        else {
            throw DiscoveryError(
                .invalidName,
                "'\(text)' is no type of services; write it as _notes._tcp: an underscore, 1 to 15 letters, digits"
                    + " and hyphens, then ._tcp or ._udp.")
        }
        self.init(label: label, transport: transport)
    }

    /// The type as it is written.
    public var description: String {
        name.labels.prefix(2).map { String(decoding: $0, as: UTF8.self) }.joined(separator: ".")
    }

    private init(label: String, transport: String) {
        name = DNSName(trusted: [label, transport, "local"].map { Array($0.utf8) })
    }

    private static func isLabel(_ bytes: Substring.UTF8View) -> Bool {
        let rest = Array(bytes.dropFirst())
        guard bytes.first == UInt8(ascii: "_"), (1...15).contains(rest.count),
            rest.first != UInt8(ascii: "-"), rest.last != UInt8(ascii: "-")
        else { return false }
        let isLetter = { (byte: UInt8) in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
        }
        return rest.contains(where: isLetter)
            && rest.allSatisfy {
                isLetter($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || $0 == UInt8(ascii: "-")
            }
    }
}
