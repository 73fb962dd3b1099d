// SPDX-License-Identifier: Apache-2.0

internal import DivanSystem

/// How long to wait for a server.
public struct HTTPTimeouts: Sendable, Hashable {
    /// For the connection, with TLS: 30 s unless set.
    public var connect = Duration.seconds(30)
    /// For the head of the answer, once the request is sent: 60 s unless set.
    public var head = Duration.seconds(60)
    /// For the next byte, either way, while a task waits for it: 60 s unless set. A feed with heartbeats wants twice
    /// its heartbeat and 5 s.
    public var silence = Duration.seconds(60)

    /// Makes the usual timeouts.
    public init() {}

    /// The timeouts for a feed with heartbeats.
    ///
    /// - Parameter heartbeat: How often the server was asked to give a sign of life.
    /// - Returns: The timeouts: silence is noticed after twice the heartbeat and 5 s.
    public static func feed(heartbeat: Duration) -> HTTPTimeouts {
        var timeouts = HTTPTimeouts()
        timeouts.silence = heartbeat.bounded * 2 + .seconds(5)
        timeouts.head = max(timeouts.head, timeouts.silence)
        return timeouts
    }
}
