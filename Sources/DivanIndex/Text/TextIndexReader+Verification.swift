// SPDX-License-Identifier: Apache-2.0

internal import DivanModel
internal import DivanStorage

extension TextIndexReader {
    /// Checks the invariants of ``TextIndexWriter``.
    ///
    /// - Parameter check: Called now and then; throws to stop the work.
    /// - Returns: One sentence for each kind of problem; empty when all is well.
    /// - Throws: `StorageError`, ``IndexCorruption``, and what `check` throws.
    package func verify(check: (_ rows: Int) throws -> Void) throws -> [String] {
        var problems: [String] = []
        var found = TextIndexTotals()
        (found.nextOrdinal, found.nextNumber) = (totals.nextOrdinal, totals.nextNumber)
        var expected = Counted()
        var seen = 0
        try BlockCursor.forEachRow(of: stores.documents, reader) { id, row in
            let document = try IndexedDocument(row)
            for number in document.numbers { expected.add(number, document.ordinal) }
            found.documents += 1
            if try !isID(id, of: document.ordinal) {
                problems.append(
                    "The document '\(try RowDocumentID.decode(id).text)' has an ordinal of another."
                )
            }
            seen += 1
            if seen.isMultiple(of: 4_096) { try check(seen) }
        }
        var ids: UInt64 = 0
        try BlockCursor.forEachRow(of: stores.ids, reader) { _, _ in ids += 1 }
        let postings = try verifyPostings(check)
        let lengths = try countWords()
        if lengths.count != found.documents {
            problems.append("The index has lengths of other documents than it has.")
        }
        found.words = lengths.words
        try BlockCursor.forEachRow(of: stores.terms, reader) { _, row in
            found.terms += 1
            if try !postings.terms.contains(TermNumbers.number(row)) { found.unusedTerms += 1 }
        }
        if postings.count != expected.count || postings.postings != expected.postings {
            problems.append("The postings are not those that the documents name.")
        }
        if postings.words != lengths.words || postings.occurrences != lengths.occurrences {
            problems.append("The documents do not have as many words as their postings.")
        }
        if ids != found.documents || found != totals
            || UInt64(postings.terms.count) != found.terms - found.unusedTerms
        {
            problems.append("The index counts other documents, words or terms than it has.")
        }
        return problems
    }

    private func isID(_ id: Span<UInt8>, of ordinal: UInt64) throws -> Bool {
        var key: [UInt8] = []
        OrderedNumber.append(ordinal, to: &key)
        let ids = try BlockLookup(stores.ids, reader)
        defer { ids.close() }
        var isSame = false
        _ = try ids.withValue(forKey: key.span) { isSame = compare($0, id) == 0 }
        return isSame
    }

    private func countWords() throws -> Counted {
        var counted = Counted()
        let cursor = try reader.cursor(in: stores.lengths)
        defer { cursor.close() }
        var found = try cursor.seek(toAtLeast: 0)
        while found {
            let start = UInt64(clamping: cursor.integerKey) &* DocumentLengths.perRow
            try cursor.withValue { row in
                for (place, length) in try DocumentLengths(row).numbers.enumerated()
                where length > 0 {
                    counted.add(words: length, start &+ UInt64(place))
                    counted.count += 1
                }
            }
            found = try cursor.next()
        }
        return counted
    }

    /// What postings, or the rows of documents, add up to: if the sums of hashes are the same, so is what was
    /// added, in whatever order.
    private struct Counted {
        var count: UInt64 = 0
        var postings: UInt64 = 0
        var words: UInt64 = 0
        var occurrences: UInt64 = 0
        var terms: Set<UInt64> = []

        mutating func add(_ number: UInt64, _ ordinal: UInt64) {
            count += 1
            postings &+= Self.hash(number &* 0x9E37_79B9_7F4A_7C15 ^ Self.hash(ordinal))
        }

        mutating func add(words: UInt64, _ ordinal: UInt64) {
            self.words &+= words
            occurrences &+= words &* Self.hash(ordinal)
        }

        private static func hash(_ number: UInt64) -> UInt64 {
            var hash = number &* 0xFF51_AFD7_ED55_8CCD
            hash ^= hash >> 33
            hash = hash &* 0xC4CE_B9FE_1A85_EC53
            return hash ^ hash >> 33
        }
    }

    /// Reads all postings, and sees that they stand in order and that heads count them.
    private func verifyPostings(_ check: (_ rows: Int) throws -> Void) throws -> Counted {
        var counted = Counted()
        var block = PostingBlock()
        var term = (number: UInt64(0), last: UInt64(0), expected: UInt64(0), found: UInt64(0))
        func end() throws {
            guard term.expected == term.found else {
                throw IndexCorruption("The head of a term counts other postings than it has.")
            }
        }
        try BlockCursor.forEachRow(of: stores.postings, reader) { key, value in
            let parts = try PostingKey.parts(key)
            try block.load(value, isHead: parts.ordinal == nil)
            if parts.number != term.number {
                try end()
                guard parts.ordinal == nil, block.documentCount > 0 else {
                    throw IndexCorruption("A term has no head.")
                }
                term = (parts.number, 0, block.documentCount, 0)
                counted.terms.insert(parts.number)
            }
            guard try block.areInvariantsKept(),
                block.ordinals.first ?? .max > term.last,
                parts.ordinal.map({ $0 <= block.ordinals.first ?? 0 && $0 > term.last }) ?? true
            else { throw IndexCorruption("The postings of a term are not in order.") }
            term.last = block.ordinals.last ?? term.last
            term.found += UInt64(block.count)
            for (ordinal, frequency) in zip(block.ordinals, block.frequencies) {
                counted.add(parts.number, ordinal)
                counted.add(words: frequency, ordinal)
            }
            try check(Int(clamping: counted.count))
        }
        try end()
        return counted
    }
}
