// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex
internal import DivanModel

/// Which indexes a pass feeds together.
///
/// All that are outdated begin together, and each document is read once for all of them. Their rows share
/// the memory for rows that wait, so the more indexes there are, the fewer documents come to a write, and
/// each write goes through the whole of an index. So once a piece has told how large the rows will
/// be, they go on in groups:
///
///     1 … 8 ──► a piece ──► 1 2 3 │ 4 5 6 │ 7 8         each group reads the documents that are left
///
/// The first group goes on with what has been mapped for it; the others map that piece again.
///
/// With D bytes of documents left, indexes whose rows take R bytes in all, memory for M bytes and groups
/// whose rows take G, documents are read R/G times, and each row is written anew by half of G/M writes. A
/// byte of either costs about the same, so D·R/G + R·G/2M is to be kept small: G² = 2·D·M. But what fits
/// into memory is written at once, by two cores and into an index without rows; so groups are as large as
/// that, with what the writing of one index takes, unless the documents are large, G > 2M. The first piece only estimates
/// what the others have, so a tenth of the memory is left free.
struct PassGroups {
    private struct Group {
        var definitions: [IndexDefinition]
        /// How many changes lie before it.
        var remaining: UInt64 = 0
    }

    /// The groups of outdated indexes; the first one is being fed.
    private var groups: [Group]

    init(_ definitions: [IndexDefinition]) { groups = [Group(definitions: definitions)] }

    /// The indexes to feed; nil when all are done.
    var current: [IndexDefinition]? { groups.first?.definitions }

    /// How many changes lie before the groups that wait.
    var remainingOfOthers: UInt64 { groups.dropFirst().reduce(0) { $0 + $1.remaining } }

    /// Goes on to the next group.
    mutating func next() { groups.removeFirst() }

    /// Divides the indexes that are fed, if that is cheaper than going on with all of them.
    ///
    /// - Parameters:
    ///   - part: What has been mapped for them.
    ///   - last: The sequence that they are to reach.
    ///   - memory: The memory that waiting rows may take.
    mutating func divide(by part: IndexPart, through last: SequenceNumber, memory: Int) {
        let reached = part.lastSequence
        guard let current, current.count > 1, reached > part.start, last > reached
        else { return }
        let share = Double(last - part.start) / Double(reached - part.start)
        var sizes: [IndexName: Double] = [:]
        // What the writing of one index takes beside the rows of all.
        var writing = 0.0
        for (index, rows) in zip(part.indexes, part.rows) {
            sizes[index.definition.name] = share * Double(rows.emissions.size)
            writing = max(writing, share * Double(rows.emissions.sizeOfWriting))
        }
        let documents = share * Double(part.bytes)
        let best = (2 * documents * Double(memory)).squareRoot()
        let largest = best > 2 * Double(memory) ? best : 0.9 * Double(memory)
        var divided = [Group(definitions: [])]
        var size = 0.0
        for unit in Self.inseparable(current) {
            let own = unit.reduce(0) { $0 + (sizes[$1.name] ?? 0) }
            if size > 0, size + own + writing > largest {
                divided.append(Group(definitions: [], remaining: last - part.start))
                size = 0
            }
            divided[divided.count - 1].definitions += unit
            size += own
        }
        if divided.count > 1 { groups.replaceSubrange(..<1, with: divided) }
    }

    /// Indexes in units that are fed together: a mapper of many views maps for all of them whenever one is fed, and that is most of
    /// what they cost.
    private static func inseparable(_ definitions: [IndexDefinition]) -> [[IndexDefinition]] {
        var units: [[IndexDefinition]] = []
        for definition in definitions {
            let known = definition.group.flatMap { group in
                units.firstIndex { $0[0].group?.mapper === group.mapper }
            }
            if let known { units[known].append(definition) } else { units.append([definition]) }
        }
        return units
    }
}
