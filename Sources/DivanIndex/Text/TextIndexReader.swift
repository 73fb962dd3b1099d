// SPDX-License-Identifier: Apache-2.0

package import DivanModel
package import DivanStorage

/// Reads a full-text index inside one transaction: see ``TextIndexWriter``.
package struct TextIndexReader {
    let stores: TextIndexStores
    let reader: any StorageReader
    /// What the index counts as a whole.
    package let totals: TextIndexTotals

    /// Reads an index.
    ///
    /// - Throws: `StorageError`, ``IndexCorruption``.
    package init(_ stores: TextIndexStores, _ reader: any StorageReader) throws {
        self.stores = stores
        self.reader = reader
        totals = try stores.totals(reader)
    }

    // MARK: - Terms

    /// The documents that have a term.
    package func postings(of term: [UInt8]) throws -> any Postings {
        let terms = try BlockLookup(stores.terms, reader)
        defer { terms.close() }
        var number: UInt64 = 0
        _ = try terms.withValue(forKey: term.span) { number = try TermNumbers.number($0) }
        return try TermPostings(number, stores, reader)
    }

    /// The documents that have a term which begins so.
    ///
    /// - Parameters:
    ///   - prefix: The beginning.
    ///   - needsPlaces: Whether the places are asked for.
    ///   - prefixes: How many prefixes the search has, which share its memory.
    ///   - check: Is called on the way, and throws when the search is to end.
    /// - Returns: The postings of all these terms as if they were one.
    /// - Throws: `StorageError`, ``IndexCorruption``.
    package func postings(
        ofPrefix prefix: [UInt8], needsPlaces: Bool, sharedBy prefixes: Int = 1,
        _ check: @escaping () throws -> Void = {}
    ) throws -> any Postings {
        let cursor = try BlockCursor(stores.terms, reader)
        defer { cursor.close() }
        var numbers: [UInt64] = []
        var found = try cursor.seek(toAtLeast: prefix.span)
        while found {
            var isInside = false
            try cursor.withRow { term, row in
                isInside = commonPrefix(term, prefix.span) == prefix.count
                if isInside { numbers.append(try TermNumbers.number(row)) }
            }
            guard isInside else { break }
            found = try cursor.next()
        }
        return try PrefixPostings(
            numbers, below: totals.nextOrdinal, needsPlaces: needsPlaces, sharedBy: prefixes, check,
            stores, reader)
    }

    // MARK: - Documents

    /// The IDs of documents.
    ///
    /// - Parameter ordinals: Their ordinals, ascending.
    /// - Returns: Their IDs in the same order.
    /// - Throws: `StorageError`, ``IndexCorruption`` for an ordinal that no document has.
    package func documentIDs(_ ordinals: [UInt64]) throws -> [DocumentID] {
        let rows = try BlockLookup(stores.ids, reader)
        defer { rows.close() }
        var (ids, key) = ([DocumentID](), [UInt8]())
        ids.reserveCapacity(ordinals.count)
        for ordinal in ordinals {
            key.removeAll(keepingCapacity: true)
            OrderedNumber.append(ordinal, to: &key)
            let isFound = try rows.withValue(forKey: key.span) {
                ids.append(try RowDocumentID.decode($0))
            }
            guard isFound else { throw IndexCorruption("The ID of a document is missing.") }
        }
        return ids
    }

    /// Reads how many words documents have, which are asked for in their order.
    package func lengths() -> LengthReader { LengthReader(stores, reader) }

    /// Reads the lengths of documents, and keeps those around the last one.
    package struct LengthReader {
        private let stores: TextIndexStores
        private let reader: any StorageReader
        private var row: Int64 = TextIndexTotals.key
        /// The row as it is stored: of most rows the length of one document is wanted.
        private var lengths: [UInt8] = []

        fileprivate init(_ stores: TextIndexStores, _ reader: any StorageReader) {
            self.stores = stores
            self.reader = reader
        }

        /// How many words a document has.
        package mutating func length(of ordinal: UInt64) throws -> UInt64 {
            if DocumentLengths.row(ordinal) != row {
                row = DocumentLengths.row(ordinal)
                lengths.removeAll(keepingCapacity: true)
                _ = try reader.withValue(forKey: row, in: stores.lengths) {
                    lengths.append(copying: $0)
                }
            }
            let length =
                lengths.isEmpty ? 0 : try DocumentLengths.length(of: ordinal, lengths.span)
            guard length > 0 else { throw IndexCorruption("The length of a document is missing.") }
            return length
        }
    }
}
