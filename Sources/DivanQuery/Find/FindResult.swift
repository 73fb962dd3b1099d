// SPDX-License-Identifier: Apache-2.0

public import DivanDatabase
public import DivanJSON
public import DivanModel

/// The documents that a ``FindQuery`` found, all of one moment.
public struct FindResult: RandomAccessCollection, Sendable {
    var rows: [FindRow]
    /// The bookmark for a query of the next page; nil when this page has no row.
    public internal(set) var bookmark: String?
    /// What the run did.
    public internal(set) var statistics: FindStatistics
    /// Advice, when the query would gain by an index.
    public internal(set) var warning: String?
    /// The names of the indexes that were read.
    @ByBytes package internal(set) var indexNames: [String] = []

    /// The position of the first row.
    public var startIndex: Int { 0 }
    /// The position after the last row.
    public var endIndex: Int { rows.count }
    /// The row at a position.
    public subscript(position: Int) -> FindRow { rows[position] }
}

/// A document that was found.
public struct FindRow: Sendable {
    /// The document.
    public let document: Document
    let projection: Projection?
    /// What `_conflicts` is; nil where it is no property, or not wanted.
    var conflicts: [RevisionID]?

    /// The document's ID.
    public var id: DocumentID { document.id }

    /// What was asked for: the wanted properties, or the whole document with `_id` and `_rev`.
    public var properties: JSONObject {
        projection?.properties(of: subject) ?? Projection.whole(document)
    }

    /// Appends the wanted properties as JSON text, without making values of them.
    ///
    /// - Returns: Whether there are such; false where the whole document is wanted.
    package func appendProperties(to text: inout [UInt8]) -> Bool {
        guard let projection else { return false }
        projection.appendJSON(of: subject, to: &text)
        return true
    }

    private var subject: SelectorSubject {
        var subject = SelectorSubject(document, tellsDeletion: true)
        subject.conflicts = conflicts
        return subject
    }
}

extension FindRow: Equatable {
    /// Rows are equal when they give the same properties of the same document.
    public static func == (left: FindRow, right: FindRow) -> Bool {
        if left.projection == nil, right.projection == nil {
            return left.document == right.document
        }
        return left.id == right.id && left.properties == right.properties
    }
}

extension FindResult: Equatable {
    /// Results are equal when their rows are, in the same order.
    public static func == (left: FindResult, right: FindResult) -> Bool {
        left.rows == right.rows
    }
}

/// What a run of a query did.
public struct FindStatistics: Sendable, Hashable {
    /// How many rows of indexes, or IDs of a scan, were read.
    public var rowsExamined = 0
    /// How many documents were read and tested.
    public var documentsExamined = 0
    /// How many documents were found.
    public var resultsReturned = 0
    /// How long it took, bringing indexes up to date included.
    public var duration = Duration.zero
}

/// How a query is run: which index, at what estimated cost, and what is left to do.
public struct FindExplanation: Sendable {
    /// The index that is read; nil for several, or none.
    public internal(set) var index: PropertyIndex?
    /// A way that was considered, in words, with the rows it would read.
    public struct Candidate: Sendable, Hashable {
        /// What would be read.
        public var description: String
        /// The names of the indexes that would be read.
        @ByBytes public var indexNames: [String]
        /// How many rows: exact for indexes, the most there can be otherwise.
        public var rows: Int
    }

    /// An index on a property that the query asks for, and that it does not read.
    public struct UnusedIndex: Sendable, Hashable {
        /// Its name.
        @ByBytes public var name: String
        /// Why it is not read, as the rest of a sentence that begins with "since".
        @ByBytes public var reason: String
    }

    /// What is read, in words.
    public internal(set) var access: String
    /// The names of the indexes that are read.
    @ByBytes package internal(set) var indexNames: [String] = []
    /// How many rows that is by the counts of the indexes.
    public internal(set) var estimatedRows: Int
    /// How many rows were read in fact.
    public internal(set) var actualRows: Int
    /// How many documents were found.
    public internal(set) var results: Int
    /// Whether what is found is sorted afterwards.
    public internal(set) var isSorted: Bool
    /// Everything that was considered.
    public internal(set) var candidates: [Candidate]
    /// The indexes on properties that the query asks for which it does not read.
    public internal(set) var unused: [UnusedIndex]
    /// All of it in a few lines for people.
    public internal(set) var text: String
}

extension FindExplanation: CustomStringConvertible {
    /// The text.
    public var description: String { text }
}
