// SPDX-License-Identifier: Apache-2.0

/// What the writer's turn gives: the transaction that writes.
final class LMDBWriter {
    /// The write transaction; made with the first one.
    var transaction: LMDBTransaction?
    /// When the places of dead readers were last cleared.
    var lastClearing: ContinuousClock.Instant?
}
