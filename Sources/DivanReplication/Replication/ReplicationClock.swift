// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import FoundationEssentials

/// The time of day, for what people read; nothing depends on it.
enum ReplicationClock {
    /// Milliseconds since 1970.
    static var now: Int64 { Int64(clamping: Date().timeIntervalSince1970 * 1_000) }
}
