// SPDX-License-Identifier: Apache-2.0

internal import CLMDB
internal import DivanStorage

// Savepoints are nested transactions.

extension LMDBTransaction {
    /// Runs `body` in a nested transaction.
    func nested(_ body: () throws -> Void) throws {
        detachCursors()
        var inner: OpaquePointer?
        // SAFETY: the environment and the transaction are open; `inner` is filled in.
        try unsafe check(mdb_txn_begin(environment.handle, current, 0, &inner))
        unsafe outer.append(
            Outer(
                transaction: current, catalogue: catalogue, made: made,
                isCatalogueChanged: isCatalogueChanged))
        unsafe current = inner
        let depth = outer.count
        do {
            try body()
            guard !isUndone, outer.count == depth else { throw StorageError.undone() }
            detachCursors()
            // SAFETY: the nested transaction runs; LMDB frees it.
            let code = unsafe mdb_txn_commit(current)
            let last = outer.removeLast()
            unsafe current = last.transaction
            if code != MDB_SUCCESS {
                restore(last)
                throw failure(of: code)
            }
        } catch {
            if outer.count == depth {
                detachCursors()
                abortCurrent()
                let last = outer.removeLast()
                unsafe current = last.transaction
                restore(last)
            }
            throw error
        }
    }

    private func restore(_ last: Outer) {
        catalogue = last.catalogue
        made = last.made
        isCatalogueChanged = last.isCatalogueChanged
        rows.removeAll(keepingCapacity: true)
        ends.removeAll()
    }
}
