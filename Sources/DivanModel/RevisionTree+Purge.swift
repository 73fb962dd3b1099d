// SPDX-License-Identifier: Apache-2.0

extension RevisionTree {
    /// Forgets leaves, each with the ancestors that no other leaf shares.
    ///
    /// ```
    /// 1-a ─┬─ 2-b ─ 3-c        purge 3-c        1-a ─ 2-d
    ///      └─ 2-d              purge 2-d too    (empty)
    /// ```
    ///
    /// Unlike a tombstone, a purge leaves no trace and is not replicated: a peer that still has the
    /// revision can bring it back. No inner revision becomes a leaf. IDs that are not leaves of the
    /// tree are ignored.
    ///
    /// - Parameter ids: The leaves to forget.
    /// - Returns: The leaves that were forgotten, in winner order, and the rows that held bodies of
    ///   forgotten revisions, in no particular order.
    @discardableResult
    public mutating func purge(
        leaves ids: [RevisionID]
    ) -> (purged: [RevisionID], sequences: [SequenceNumber]) {
        let unwanted = Set(ids)
        let leaves = leafIndices
        let purged = leaves.map { nodes[$0].id }.filter(unwanted.contains)
        if purged.isEmpty { return ([], []) }
        let sequences = arrange(leaves: leaves.filter { !unwanted.contains(nodes[$0].id) })
        return (purged, sequences)
    }
}
