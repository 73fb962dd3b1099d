// SPDX-License-Identifier: Apache-2.0

/// The key of a database, as an engine borrows it: 32 bytes that stay where their owner keeps them.
///
/// An engine copies them into memory of the same kind, which it wipes when it closes, and nowhere else.
public protocol StorageKey: Sendable {
    /// Lends the 32 bytes.
    func lend(to body: (Span<UInt8>) -> Void)
}
