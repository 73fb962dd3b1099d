// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Whether the work of a transaction, or of a batch inside one, was undone.
///
/// The transaction sets it; the documents saved in it ask.
final class BatchOutcome: Sendable {
    private enum State: UInt8, AtomicRepresentable { case open, kept, undone }

    private let state = Atomic(State.open)
    /// The batch or transaction that this one is part of.
    private let outer: BatchOutcome?

    init(inside outer: BatchOutcome? = nil) { self.outer = outer }

    /// Whether it was undone, by itself or with what it is part of.
    var isUndone: Bool {
        state.load(ordering: .acquiring) == .undone || outer?.isUndone ?? false
    }

    /// Whether the whole transaction is committed; a batch inside it may have been undone before.
    var isKept: Bool { outer?.isKept ?? (state.load(ordering: .acquiring) == .kept) }

    func keep() { state.store(.kept, ordering: .releasing) }

    func undo() { state.store(.undone, ordering: .releasing) }
}
