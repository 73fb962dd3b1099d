// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// Keeps a listener: it is called until the token's `remove()`, or until the token is released.
///
/// ```swift
/// let token = try database.addChangeListener { change in print(change.documentIDs) }
/// // … as long as it is to be told
/// token.remove()
/// ```
///
/// The token does not keep the database open.
public final class ListenerToken: Sendable {
    private let removal: Mutex<(@Sendable () -> Void)?>

    /// Makes a token that calls `removal` once.
    package init(_ removal: @escaping @Sendable () -> Void) { self.removal = Mutex(removal) }

    deinit { remove() }

    /// Ends the listening. Removing twice is fine, and so is removing from inside the callback.
    ///
    /// This does not wait for a callback that is running on another thread. Called on the callback's
    /// queue, it makes sure that no callback comes after it.
    public func remove() {
        let removal = removal.withLock { removal in
            defer { removal = nil }
            return removal
        }
        removal?()
    }
}
