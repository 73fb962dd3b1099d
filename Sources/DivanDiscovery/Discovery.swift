// SPDX-License-Identifier: Apache-2.0

/// Announces services on the networks of this host, and finds those of others, by multicast DNS (RFC 6762, RFC 6763).
///
/// ```swift
/// let discovery = try Discovery()
/// let mine = try discovery.advertise("Ann's notes", port: listener.port)
/// for await services in discovery.services() {
///     print(services.map(\.name))                // each time one appears, changes or goes
/// }
/// ```
///
/// It needs no daemon and stands beside one: Avahi, Bonjour and other programs have the port open as well. It uses all interfaces that
/// multicast, by IPv4 and IPv6, and follows them as they come and go. `Discovery(.system)` asks the system's daemon instead.
///
/// What it tells can be read by every device on the network, and what it finds can be made up by any of them. So names and texts should
/// give nothing away, and a connection has to prove itself: pin the certificate.
///
/// A discovery goes on until `stop()`, or until the app holds neither it, nor an advertisement of it, nor a sequence of
/// services that it reads.
public final class Discovery: Sendable {
    /// What announces and finds services.
    @nonexhaustive
    public enum Provider: Sendable {
        /// Divan, which needs nothing of the system but the network.
        case own
        /// The system's service: Avahi, by the interface that is called `dns_sd.h`.
        ///
        /// For apps that may not open port 5353, or whose users want all services of a host from one program. Its library is loaded when
        /// it is first used. A host has one name for all services, its own, which others can read. At most 64 services are looked
        /// up at a time. When the daemon ends, its services are dropped; what was asked of it is asked again once it is back.
        case system
    }

    private let driver: any DiscoveryDriver

    /// Opens the sockets, or asks whether the system's service is there.
    ///
    /// - Parameter provider: What announces and finds services. A system's service that hangs is waited for, half a minute at most.
    /// - Throws: `DiscoveryError` with code `.networkUnavailable` when the port of multicast DNS, 5353, can be opened for neither IPv4
    ///   nor IPv6: a program has it open and does not share it, or the process may not use the network. With `.serviceUnavailable` when
    ///   the system's service is to be used, and is not installed or does not answer.
    public init(_ provider: Provider = .own) throws(DiscoveryError) {
        switch provider {
        case .own: driver = try MulticastDriver()
        case .system: driver = try SystemDriver()
        }
    }

    /// Says goodbye for each service, and ends all sequences. Once is enough; a discovery that was stopped stays so.
    public func stop() { driver.stop() }

    /// Announces a service until the advertisement is stopped or let go.
    ///
    /// - Parameters:
    ///   - name: The name that others see, 1 to 63 bytes; nil for a random one, which tells nothing. Where another device has the
    ///     name, a number is added: `advertisement.name` says which.
    ///   - type: The type of services.
    ///   - port: Where the service listens.
    ///   - text: What it tells about itself.
    /// - Returns: What keeps it announced.
    /// - Throws: `DiscoveryError` with code `.invalidName`, or `.stopped`.
    public func advertise(
        _ name: String? = nil, type: ServiceType = .divan, port: Int, text: ServiceText = [:]
    ) throws(DiscoveryError) -> ServiceAdvertisement {
        let service = try OfferedService(name, type: type, port: port, text: text)
        let (key, names) = try driver.advertise(service)
        return ServiceAdvertisement(driver, key, names)
    }

    /// The services of a type that are there: at once those that are known, and then again each time that one appears, changes or goes.
    ///
    /// A service is listed once its port and an address are known, and no longer when it says goodbye or has not been heard of for two
    /// minutes. A reader that is slow is given the newest list and misses older ones. The services of this host are listed, too.
    /// The sequence ends when the discovery is stopped.
    public func services(of type: ServiceType = .divan) -> AsyncStream<[DiscoveredService]> {
        driver.services(of: type)
    }
}
