// SPDX-License-Identifier: Apache-2.0

/// The body of an answer, read as long as it does not trickle: one that trickles without end could not be told from one
/// that is long.
///
/// What counts is the time for which the other end was waited for. What is done with the pieces in between may take long,
/// too, such as waiting for the turn of a long document.
struct PacedBody {
    /// How long an answer may take however little has come.
    private static let grace = Duration.seconds(120)
    /// How many bytes a second must have come by then.
    private static let slowest = 64

    private let pieces: any WirePieces
    private let now: @Sendable () -> ContinuousClock.Instant
    private var count = 0
    private var waited = Duration.zero

    init(
        _ pieces: any WirePieces,
        now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.pieces = pieces
        self.now = now
    }

    /// Whether so many bytes in that time are enough.
    static func allows(_ count: Int, in time: Duration) -> Bool {
        time <= grace || time <= .seconds(count / slowest)
    }

    /// The next piece; nil at the end.
    ///
    /// - Throws: `ReplicationError` with code `.timeout` when too little has come by now, and what reading throws.
    mutating func next() async throws -> [UInt8]? {
        let asked = now()
        guard let piece = try await pieces.next() else { return nil }
        // How long the first piece may take is the connection's own limit.
        if count > 0 { waited += asked.duration(to: now()) }
        count += piece.count
        guard Self.allows(count, in: waited) else {
            throw ReplicationError(
                .timeout, "An answer comes too slowly: \(count) bytes so far.", isTransient: true)
        }
        return piece
    }
}
