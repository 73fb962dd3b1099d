// SPDX-License-Identifier: Apache-2.0

/// A service that is announced, until `stop()` is called or the object is let go.
///
/// ```swift
/// let mine = try discovery.advertise("Ann's notes", port: 5984)
/// await mine.announced()                          // "Ann's notes", or "Ann's notes (2)"
/// ```
public final class ServiceAdvertisement: Sendable {
    private let driver: any DiscoveryDriver
    private let key: Int

    /// The name under which it is announced, each time that this changes: first when no other device has claimed it, after three quarters of
    /// a second, and again when another device takes it away.
    public let names: AsyncStream<String>

    init(_ driver: any DiscoveryDriver, _ key: Int, _ names: AsyncStream<String>) {
        self.driver = driver
        self.key = key
        self.names = names
    }

    deinit { driver.endAdvertising(key) }

    /// The name that it has or is trying; nil once it is stopped.
    public var name: String? { driver.name(of: key) }

    /// Waits until it is announced. Gives the name; nil when it was stopped before, or the task is cancelled.
    @discardableResult
    public func announced() async -> String? {
        for await name in names { return name }
        return nil
    }

    /// Announces another text in the place of the former one.
    /// - Throws: `DiscoveryError` with code `.invalidName` when it is too long or has a key that is none.
    public func setText(_ text: ServiceText) throws(DiscoveryError) {
        try text.check()
        driver.setText(text, of: key)
    }

    /// Says goodbye, so that others take it off their lists within a second.
    public func stop() { driver.endAdvertising(key) }
}
