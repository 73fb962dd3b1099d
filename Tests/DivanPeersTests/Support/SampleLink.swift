// SPDX-License-Identifier: Apache-2.0

import DivanPeers
import DivanTestSupport
import Foundation

/// Links for tests.
enum SampleLink {
    static let fingerprint = String(repeating: "3f0c51e7", count: 8)
    static let secret: [UInt8] = Array(0xF0...0xFF)
    static let text =
        "divan://192.168.1.7:49213/notes#1"
        + "&c=PwxR5z8MUec_DFHnPwxR5z8MUec_DFHnPwxR5z8MUec&s=8PHy8_T19vf4-fr7_P3-_w&x=1795711385"

    static func make(
        _ addresses: [String] = ["192.168.1.7"], port: Int = 49_213, database: String = "notes",
        user: String? = nil
    ) throws -> PeerLink {
        try PeerLink(
            PeerEndpoint(addresses: addresses, port: port, fingerprint: fingerprint),
            database: database, user: user,
            invitation: PeerInvitation(
                secret: PairingSecret(bytes: secret) ?? PairingSecret(),
                expires: Date(timeIntervalSince1970: 1_795_711_385)))
    }

    /// A link with any values that are allowed.
    static func random(_ random: inout SeededRandom) throws -> PeerLink {
        let addresses = (0...random.below(8)).map { _ in address(&random) }
        let letters = Array("abcxyz0189_$()+-/")
        let database = "d" + String((0..<random.below(40)).map { _ in random.element(of: letters) })
        // Letters of one to four bytes, and what URIs have other uses for.
        let scalars = Array("a\u{E9}e\u{301}\u{65E5}\u{1F4F1}&=#%+ /?@[]")
        let user = String((0...random.below(12)).map { _ in random.element(of: scalars) })
        var bytes: [UInt8] { (0..<16).map { _ in UInt8(random.below(256)) } }
        let fingerprint = (bytes + bytes).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
        return try PeerLink(
            PeerEndpoint(
                addresses: addresses, port: 1 + random.below(65_535),
                fingerprint: fingerprint.joined()),
            database: database, user: random.oneIn(2) ? user : nil,
            invitation: PeerInvitation(
                secret: PairingSecret(bytes: bytes) ?? PairingSecret(),
                expires: Date(
                    timeIntervalSince1970: Double(1_000_000_000 + random.below(9_000_000_000)))))
    }

    /// An address of either family, or a name.
    static func address(_ random: inout SeededRandom) -> String {
        switch random.below(4) {
        case 0: return "peer-\(random.below(1_000)).local"
        case 1:
            // Zeros are as frequent as other groups.
            let groups = (0..<7).map { _ in random.oneIn(2) ? 0 : random.below(65_536) }
            return (groups + [1 + random.below(65_535)]).map { String($0, radix: 16) }
                .joined(separator: ":")
        default:
            return ([1 + random.below(255)] + (0..<3).map { _ in random.below(256) })
                .map(String.init).joined(separator: ".")
        }
    }
}
