// SPDX-License-Identifier: Apache-2.0

/// What announces and finds services for a `Discovery`: Divan itself, or the system's service.
///
/// It goes on until it is stopped, or is held no longer; a sequence of services holds it for as long as it is read.
protocol DiscoveryDriver: AnyObject, Sendable {
    /// Ends everything. Once is enough.
    func stop()

    /// Announces a service until `endAdvertising`. Gives its number, and the names that it is announced under.
    /// - Throws: `DiscoveryError` with code `.stopped`.
    func advertise(_ service: OfferedService) throws(DiscoveryError) -> (Int, AsyncStream<String>)

    /// Announces another text, which was checked, for a service.
    func setText(_ text: ServiceText, of key: Int)

    /// The name of a service; nil when it is announced no longer.
    func name(of key: Int) -> String?

    /// Says goodbye for one service.
    func endAdvertising(_ key: Int)

    /// The services of a type: at once, and each time that they change.
    func services(of type: ServiceType) -> AsyncStream<[DiscoveredService]>
}
