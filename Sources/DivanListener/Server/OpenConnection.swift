// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// One open connection of a `MicroHTTPServer`: who is at its other end, and what it is doing.
///
/// State: `state`, guarded by its mutex, which is held for moments only.
final class OpenConnection: Sendable {
    private struct State {
        var exchange: Exchange?
        var since = ContinuousClock.now
        var certificate: PresentedCertificate?
    }

    /// Its socket.
    let descriptor: Int32
    /// Who is at its other end.
    let address: String
    private let state = Mutex(State())

    init(descriptor: Int32) {
        self.descriptor = descriptor
        address = ListeningSocket.address(ofPeer: descriptor)
    }

    /// The exchange that it is in, or nil when it waits for the next one, and since when.
    var occupation: (exchange: Exchange?, since: ContinuousClock.Instant) {
        state.withLock { ($0.exchange, $0.since) }
    }

    /// Notes which exchange it is in; nil when it waits for the next one.
    func set(_ exchange: Exchange?) {
        state.withLock { state in
            state.exchange = exchange
            state.since = .now
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
