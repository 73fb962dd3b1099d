// SPDX-License-Identifier: Apache-2.0

/// Random delays, so that devices that hear the same question do not answer all at once; repeatable by their seed.
struct Jitter: Sendable {
    private var state: UInt64

    /// - Parameter seed: Where to begin.
    init(seed: UInt64) { state = seed }

    /// A random number of milliseconds within a range.
    mutating func milliseconds(_ range: ClosedRange<UInt64>) -> Duration {
        // SplitMix64.
        state &+= 0x9E37_79B9_7F4A_7C15
        var bits = state
        bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
        bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
        bits ^= bits >> 31
        return .milliseconds(range.lowerBound + bits % (range.upperBound - range.lowerBound + 1))
    }
}

/// Where a packet came from, or goes to.
package struct PacketPeer: Hashable, Sendable {
    /// 4 or 16 bytes.
    package var address: [UInt8]
    /// The port.
    package var port: UInt16

    /// The port of multicast DNS. A question from another one comes from an old resolver.
    package static let multicastPort: UInt16 = 5_353

    /// Makes a peer.
    package init(address: [UInt8], port: UInt16) {
        self.address = address
        self.port = port
    }
}
