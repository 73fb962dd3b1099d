// SPDX-License-Identifier: Apache-2.0

extension Duration {
    /// A hundred years, which stand for any longer time.
    private static let century = Duration.seconds(3_155_760_000)

    /// The nearest time of at most a hundred years, ahead or back.
    ///
    /// An app that wants to wait without an end gives the longest duration there is. No clock can add that to its time, and
    /// the seconds of twice as much fit into no integer.
    package var bounded: Duration { min(max(self, .zero - Self.century), Self.century) }

    /// The time in whole milliseconds.
    package var boundedMilliseconds: Int64 {
        let (seconds, attoseconds) = bounded.components
        return seconds * 1_000 + attoseconds / 1_000_000_000_000_000
    }
}
