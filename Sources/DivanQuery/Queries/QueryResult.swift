// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
public import DivanModel

/// The rows that a query found, all of one moment.
///
/// A collection with random access. Results are equal when their rows are, so a program can see
/// whether a second run found anything new.
public struct QueryResult: RandomAccessCollection, Sendable {
    private let rows: [QueryRow]
    private let core: DatabaseCore
    /// Every change up to here is in the result.
    public internal(set) var sequence: SequenceNumber
    var purge: UInt64
    /// The number of rows of the whole view or database, not only of those that the query finds.
    public let totalRows: Int
    /// How many rows of the view come before the first of the result; nil for reduced results, for
    /// several keys, and unless the query asked by ``ViewQuery/includeOffset``.
    public let offset: Int?
    /// Whether the stored index was too old and could not be brought up to date, since the database is
    /// open for reading only: the documents were mapped for this query.
    public internal(set) var isScanned = false
    /// Where the index stood; nil when the answer is not from an index.
    let place: IndexTouches.Place?

    init(
        _ rows: [QueryRow], core: DatabaseCore, sequence: SequenceNumber, purge: UInt64,
        totalRows: Int, offset: Int?, place: IndexTouches.Place? = nil
    ) {
        self.rows = rows
        self.core = core
        self.sequence = sequence
        self.purge = purge
        self.totalRows = totalRows
        self.offset = offset
        self.place = place
    }

    /// The position of the first row.
    public var startIndex: Int { 0 }

    /// The position after the last row.
    public var endIndex: Int { rows.count }

    /// The row at a position.
    public subscript(position: Int) -> QueryRow { rows[position] }

    /// Whether the database has changed since; if not, another run finds the same rows.
    ///
    /// A change need not concern the query, so this may be true though the rows are still right.
    public var isStale: Bool {
        get throws {
            let state = try core.read { try $0.state() }
            return state.lastSequence > sequence || state.lastPurge > purge
        }
    }
}

extension QueryResult: Equatable {
    /// Results are equal when their rows are, in the same order.
    public static func == (left: QueryResult, right: QueryResult) -> Bool {
        left.rows == right.rows
    }
}
