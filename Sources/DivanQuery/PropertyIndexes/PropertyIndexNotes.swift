// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex

/// What planning a query has read of the declared indexes, for the next query of the same content.
final class PropertyIndexNotes {
    /// The declared indexes, by name.
    var declared: [PropertyIndexMap]?
    /// The records of those that exist, in any order of theirs.
    var records: [IndexName: IndexRecord] = [:]
    /// By the number of an index, whether a value was too large for its keys.
    var hasUnindexable: [UInt64: Bool] = [:]
}

extension Snapshot {
    /// What is known of the declared indexes in the content of this snapshot.
    var indexNotes: PropertyIndexNotes {
        let all = notes
        if let known = all.ofQueries as? PropertyIndexNotes { return known }
        let made = PropertyIndexNotes()
        all.ofQueries = made
        return made
    }
}
