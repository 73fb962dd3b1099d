// SPDX-License-Identifier: Apache-2.0

internal import Synchronization

/// The attachment stores of the open databases, by number.
///
/// A document is a value that many threads read and copy; a reference to its store would cost each
/// copy a counted reference to one shared object, also where the app never asks for an attachment. A
/// number costs nothing, and a document that is asked for an attachment looks its store up here. One mutex
/// guards the table.
enum AttachmentStores {
    private struct State {
        var last: UInt32 = 0
        var stores: [UInt32: AttachmentStore] = [:]
    }

    private static let state = Mutex(State())

    /// A number that no store has had; 0 is none's.
    static func newNumber() -> UInt32 {
        state.withLock { state in
            state.last += 1
            return state.last
        }
    }

    /// Makes a store known until it is forgotten, when its database closes.
    static func register(_ store: AttachmentStore) {
        state.withLock { $0.stores[store.number] = store }
    }

    static func forget(_ number: UInt32) { state.withLock { $0.stores[number] = nil } }

    /// The store of an open database; nil once that is closed.
    static func store(_ number: UInt32) -> AttachmentStore? {
        state.withLock { $0.stores[number] }
    }
}
