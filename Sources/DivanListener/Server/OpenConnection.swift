// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem
internal import Synchronization

/// One open connection of a `MicroHTTPServer`: which network it comes from, and what it is doing.
///
/// State: `state`, guarded by its mutex, which is held for moments only.
final class OpenConnection: Sendable {
    private struct State {
        var exchange: Exchange?
        var since = ContinuousClock.now
        var hasServed = false
        var isShut = false
        var certificate: PresentedCertificate?
    }

    /// Its socket.
    let descriptor: Int32
    /// The network that its other end is in.
    let network: String
    private let state = Mutex(State())

    init(descriptor: Int32, network: String) {
        self.descriptor = descriptor
        self.network = network
    }

    /// The exchange that it is in, or nil when it waits for the next one, and since when; and whether it was in one
    /// before.
    var occupation: (exchange: Exchange?, since: ContinuousClock.Instant, hasServed: Bool) {
        state.withLock { ($0.exchange, $0.since, $0.hasServed) }
    }

    /// Whether it was shut down to make room, and is open only until the library notices.
    var isShut: Bool { state.withLock { $0.isShut } }

    /// Notes that it is being shut down.
    func markShut() { state.withLock { $0.isShut = true } }

    /// Notes which exchange it is in; nil when it waits for the next one.
    func set(_ exchange: Exchange?) {
        state.withLock { state in
            state.exchange = exchange
            state.since = .now
            state.hasServed = true
        }
    }

    /// What its client has shown of itself, looked at once.
    func certificate(_ look: () -> PresentedCertificate) -> PresentedCertificate {
        if let known = state.withLock({ $0.certificate }) { return known }
        let shown = look()
        state.withLock { $0.certificate = shown }
        return shown
    }
}
