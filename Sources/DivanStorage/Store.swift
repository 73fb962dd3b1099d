// SPDX-License-Identifier: Apache-2.0

/// A handle of one store in one engine: a small number in place of a name.
///
/// An engine gives the handle for a name once (`StorageEngine.store(_:)`); after that no operation
/// hashes a string. A handle says nothing about the disk: it stays valid when its store is dropped
/// or created again, or was never written to.
public struct Store: Hashable, Sendable {
    /// The position of the store in its engine's registry, counted from 0.
    public let index: Int
    /// What the store's keys are.
    public let kind: StoreName.KeyKind
    /// The checksum of the store's name, which the checksum of every value continues, so that a
    /// value that turns up in another store is noticed.
    package let seed: UInt32

    /// Makes a handle; only a `StoreRegistry` does.
    package init(index: Int, kind: StoreName.KeyKind, seed: UInt32) {
        self.index = index
        self.kind = kind
        self.seed = seed
    }
}
