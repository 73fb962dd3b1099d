// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex
internal import DivanModel

/// Which indexes a pass feeds together.
///
/// All that are behind begin together, and each document is read once for all of them. Their rows share
/// the memory for rows that wait, so the more indexes there are, the fewer documents come to a write, and
/// each write goes through the whole of an index. So once a piece has told how large the rows will
/// be, they go on in groups:
///
///     1 … 8 ──► a piece ──► 1 2 3 │ 4 5 6 │ 7 8         each group reads the documents that are left
///
/// With D bytes of documents left, indexes whose rows take R bytes in all, memory for M bytes and groups
/// whose rows take G, documents are read R/G times, and each row is written anew by half of G/M writes. A
/// byte of either costs about the same, so D·R/G + R·G/2M is what to keep small: G² = 2·D·M. What fits into
/// memory at once is in one group in any case.
struct IndexGroups {
    private struct Group {
        var definitions: [IndexDefinition]
        /// How many changes lie before it.
        var remaining: UInt64 = 0
    }

    /// The groups that are behind, first the one that is fed.
    private var groups: [Group]

    init(_ definitions: [IndexDefinition]) { groups = [Group(definitions: definitions)] }

    /// The indexes to feed; nil when all are done.
    var current: [IndexDefinition]? { groups.first?.definitions }

    /// How many changes lie before the groups that wait.
    var remainingOfOthers: UInt64 { groups.dropFirst().reduce(0) { $0 + $1.remaining } }

    /// Goes on to the next group.
    mutating func next() { groups.removeFirst() }

    /// Divides the indexes that are fed, if that is cheaper than to go on with all of them.
    ///
    /// - Parameters:
    ///   - batch: What has been mapped for them.
    ///   - last: The sequence that they are to reach.
    ///   - memory: What the rows that wait may take.
    /// - Returns: Whether they were divided, so that what has been mapped is to be written.
    mutating func divide(
        by batch: IndexBatch, through last: SequenceNumber, memory: Int
    ) -> Bool {
        let reached = batch.mapped.lastSequence
        guard let current, current.count > 1, reached > batch.start, last > reached
        else { return false }
        let share = Double(last - reached) / Double(reached - batch.start)
        var sizes: [IndexName: Double] = [:]
        for (index, mapped) in zip(batch.indexes, batch.mapped.outcomes) {
            sizes[index.definition.name] = share * Double(mapped.emissions.size)
        }
        let documents = share * Double(batch.mapped.bytes)
        let largest = max(Double(memory), (2 * documents * Double(memory)).squareRoot())
        var divided = [Group(definitions: [], remaining: last - reached)]
        var size = 0.0
        for definition in current {
            let own = sizes[definition.name] ?? 0
            if size > 0, size + own > largest {
                divided.append(Group(definitions: [], remaining: last - reached))
                size = 0
            }
            divided[divided.count - 1].definitions.append(definition)
            size += own
        }
        guard divided.count > 1 else { return false }
        groups.replaceSubrange(..<1, with: divided)
        return true
    }
}
