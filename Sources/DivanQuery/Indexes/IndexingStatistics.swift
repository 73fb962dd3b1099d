// SPDX-License-Identifier: Apache-2.0

/// What bringing an index up to date took, and where the time went.
///
/// ```swift
/// try view.updateIndex()
/// print(view.statistics)     // 10000 documents, 20000 rows: map 0.031 s, encode …
/// ```
///
/// Map functions run on all cores; their times are added up. A slow index whose `mapping` is large has
/// a map function that does too much: look at the type of a document first, or set
/// ``DatabaseView/documentType``.
public struct IndexingStatistics: Sendable, Equatable {
    /// Documents that were looked at.
    public var documents = 0
    /// Rows that were added, removed or changed.
    public var rows = 0
    /// Time in the map function, all cores together.
    public var mapping = Duration.zero
    /// Time encoding what it emitted, all cores together; estimated from one document in sixteen.
    public var encoding = Duration.zero
    /// Time writing rows, one core.
    public var inserting = Duration.zero
    /// Time in the reduce when the index was built from nothing; else it is a part of `inserting`.
    public var reducing = Duration.zero

    /// Makes empty statistics.
    public init() {}
}

extension IndexingStatistics: CustomStringConvertible {
    /// All of it in one line.
    public var description: String {
        "\(documents) documents, \(rows) rows: map \(mapping), encode \(encoding), "
            + "insert \(inserting), reduce \(reducing)"
    }
}
