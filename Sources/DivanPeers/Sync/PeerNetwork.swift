// SPDX-License-Identifier: Apache-2.0

package import DivanDiscovery
internal import Synchronization

/// What a device uses to be found by its peers and to find them: multicast DNS, or a network of a test's own.
package protocol PeerNetwork: Sendable {
    /// Announces this device, or what it tells about itself now.
    func announce(port: UInt16, _ text: ServiceText) throws(PeerError)

    /// The devices that are there: at once, and each time that this changes.
    func services() -> AsyncStream<[DiscoveredService]>

    /// Says goodbye, and ends the sequences.
    func leave()
}

/// The networks of this host, by multicast DNS.
///
/// State: `advertisement`, guarded by its mutex.
final class MulticastNetwork: PeerNetwork {
    private let discovery: Discovery
    private let type: ServiceType
    private let advertisement = Mutex<ServiceAdvertisement?>(nil)

    init(_ type: ServiceType) throws(PeerError) {
        self.type = type
        do { discovery = try Discovery() } catch { throw .noNetwork(error.message) }
    }

    func announce(port: UInt16, _ text: ServiceText) throws(PeerError) {
        do {
            try advertisement.withLock { advertisement throws(DiscoveryError) in
                if let advertisement { return try advertisement.setText(text) }
                advertisement = try discovery.advertise(
                    type: type, port: Int(clamping: port), text: text)
            }
        } catch { throw .noNetwork(error.message) }
    }

    func services() -> AsyncStream<[DiscoveredService]> { discovery.services(of: type) }

    func leave() {
        advertisement.withLock { $0 = nil }
        discovery.stop()
    }
}

/// No network: only known addresses are tried.
struct NoNetwork: PeerNetwork {
    func announce(port: UInt16, _ text: ServiceText) {}
    func services() -> AsyncStream<[DiscoveredService]> { AsyncStream { _ in } }
    func leave() {}
}
