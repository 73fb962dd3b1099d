// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanIndex

/// A way to get documents among which are all that a query finds.
indirect enum AccessPath: Sendable {
    /// Nothing can be found.
    case nothing
    /// The documents of a range of IDs, in order of ID.
    case documents(RowRange)
    /// Rows of an index: ranges of keys that do not overlap, in order.
    case index(IndexAccess)
    /// Documents that expire in a range of times, the next one first.
    case expirations(RowRange)
    /// What several ways give.
    case union([AccessPath])
}

/// Rows of one index that are read.
struct IndexAccess: Sendable {
    var map: PropertyIndexMap
    var record: IndexRecord
    var ranges: [RowRange]
    /// How many components of the keys are the same in all the ranges.
    var fixedComponents = 0
    /// Whether the rows in the ranges are exactly those of the documents that fulfil the constraint, but for rows that
    /// stand for values too large for a key.
    var isExact = false

    /// Whether a document may have several of the rows.
    var mayRepeat: Bool { map.hasElements }
}

/// A way, and what it costs: rows of indexes, and documents of a scan, that are read.
struct PricedAccess: Sendable {
    var path: AccessPath
    /// Exact for indexes that were counted; 0 for one that is read until a limit is reached; for a range of IDs, at
    /// most.
    var rows: Int
    /// Whether a query may hope for fewer, since the number is a bound only.
    var isBound = false

    static let nothing = PricedAccess(path: .nothing, rows: 0)
}

extension AccessPath {
    /// The same where what it gives is tested again.
    var inexact: AccessPath {
        guard case .index(var access) = self else { return self }
        access.isExact = false
        return .index(access)
    }

    /// The names of the indexes that are read.
    var indexNames: [String] {
        switch self {
        case .nothing, .documents, .expirations: []
        case .index(let access): [access.map.index.name]
        case .union(let paths): paths.flatMap(\.indexNames)
        }
    }

    /// What is read, in words.
    var words: String {
        switch self {
        case .nothing: return "nothing: no document can match"
        case .documents(.all): return "all documents, by ID"
        case .documents: return "documents in a range of IDs"
        case .expirations: return "documents that expire in a range of times"
        case .index(let access):
            let count = access.ranges.count
            let ranges = count == 1 ? "1 range" : "\(count) ranges"
            return "\(ranges) of the index '\(access.map.index.name)'"
        case .union(let paths): return paths.map(\.words).joined(separator: "; ")
        }
    }
}
