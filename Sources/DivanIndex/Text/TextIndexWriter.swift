// SPDX-License-Identifier: Apache-2.0

package import DivanStorage

/// Changes a full-text index inside one write transaction: what documents say now takes the place of what they
/// said before.
///
/// Documents and terms have numbers, so that what is kept of a word in a document is a few bytes:
///
///     document "a"   "the cat sat"          ordinal 1
///     document "b"   "a cat and a cat"      ordinal 2
///
///     terms          cat → 1    sat → 2
///     postings       1 → (1 once, at 1) (2 twice, at 1 and 4)    2 → (1 once, at 2)
///     documents      a → 1, terms 1 2       b → 2, terms 1
///     ids            1 → a      2 → b
///     lengths        2 2
///
/// A search merges the postings of its terms, which are in the order of ordinals, and asks for the IDs of what it
/// found at the end.
///
/// ## Invariants
///
/// `TextIndexReader.verify(check:)` tests them.
///
/// 1. A document with words has an ordinal of its own, a row in `documents` and one in `ids` that name each other, and
///    its number of words in `lengths`. Others have none of these.
/// 2. A document has a posting of each term that its row names, and of no other; it has as many words as its
///    postings have occurrences.
/// 3. The head of a term counts its postings. A term without postings has no head.
/// 4. The totals are what the rows add up to.
/// 5. No ordinal and no number of a term is given twice, so a row that is left over is noticed.
package struct TextIndexWriter {
    private let stores: TextIndexStores
    private let writer: any StorageWriter
    private var totals = TextIndexTotals()

    /// A document that is written.
    private struct Change {
        /// Its place in the batch.
        var place: Int
        var ordinal: UInt64
        /// The terms that it had; nil for a document that was not there.
        var former: [UInt64]?
    }

    /// Makes a writer.
    package init(_ stores: TextIndexStores, _ writer: any StorageWriter) {
        self.stores = stores
        self.writer = writer
    }

    /// Replaces what documents say.
    ///
    /// - Parameters:
    ///   - batch: The ``DocumentTerms`` of the documents, each document once; nothing for one that is deleted,
    ///     purged or without words.
    ///   - places: Which documents of the batch; all unless given.
    ///   - vocabulary: What numbers the batch's terms.
    ///   - isNew: Whether a document certainly is not in the index yet, which saves looking.
    /// - Returns: How many postings were written, found to be there already, or removed.
    /// - Throws: `StorageError`, ``IndexCorruption``.
    package mutating func replace(
        with batch: EmissionBatch, at places: [Int]? = nil, _ vocabulary: TermVocabulary,
        isNew: (_ place: Int) -> Bool
    ) throws -> Int {
        totals = try stores.totals(writer)
        let places = places ?? Array(0..<batch.count)
        var changes = try findChanges(of: batch, places, isNew)
        guard !changes.isEmpty else { return 0 }
        var inverted = InvertedBatch(batch, changes.map { ($0.place, $0.ordinal) })
        let numbers = try TermNumbers(
            of: inverted, in: vocabulary.terms, stores, writer, &totals)
        inverted.numbers = numbers.numbers
        let gone = try writeDocuments(&changes, batch, numbers)
        try writeIDs(changes, batch)
        try writeLengths(changes, batch)
        var merge = PostingMerge(stores, writer)
        try merge.apply(inverted, gone, newFrom: numbers.firstNew)
        totals.unusedTerms += UInt64(merge.emptied)
        totals.unusedTerms -= min(totals.unusedTerms, UInt64(merge.revived))
        try UnusedTerms(stores, writer).removeIfMany(&totals)
        try writer.set(totals.bytes.span, forKey: TextIndexTotals.key, in: stores.lengths)
        return inverted.count + gone.count
    }

    private static func value(_ batch: EmissionBatch, _ place: Int) -> Range<Int>? {
        batch.rows(of: place).first.map { batch.rows[$0].value }
    }

    // MARK: - Documents

    /// The documents that are or were in the index, by ordinal; new ones get their ordinals.
    private mutating func findChanges(
        of batch: EmissionBatch, _ places: [Int], _ isNew: (Int) -> Bool
    ) throws -> [Change] {
        let isEmpty = totals.documents == 0
        var changes: [Change] = []
        changes.reserveCapacity(places.count)
        var known: [Int] = []
        for place in places {
            if isEmpty || isNew(place) {
                guard Self.value(batch, place) != nil else { continue }
                changes.append(Change(place: place, ordinal: totals.nextOrdinal))
                totals.nextOrdinal += 1
            } else {
                known.append(place)
            }
        }
        guard !known.isEmpty else { return changes }
        // Looked for in their order, so that each block is read once.
        known.sort {
            let bytes = batch.bytes.span
            return compare(
                bytes.extracting(batch.id(of: $0)), bytes.extracting(batch.id(of: $1)))
                < 0
        }
        let documents = try BlockLookup(stores.documents, writer)
        defer { documents.close() }
        for place in known {
            let id = batch.bytes.span.extracting(batch.id(of: place))
            var former: IndexedDocument?
            _ = try documents.withValue(forKey: id) { former = try IndexedDocument($0) }
            if let former {
                changes.append(
                    Change(place: place, ordinal: former.ordinal, former: former.numbers))
            } else if Self.value(batch, place) != nil {
                changes.append(Change(place: place, ordinal: totals.nextOrdinal))
                totals.nextOrdinal += 1
            }
        }
        changes.sort { $0.ordinal < $1.ordinal }
        return changes
    }

    /// Writes the rows of `documents`, and returns the postings that go, in order.
    private func writeDocuments(
        _ changes: inout [Change], _ batch: EmissionBatch, _ terms: TermNumbers
    ) throws -> [InvertedBatch.Gone] {
        var (edits, bytes) = (BlockEdits(), [UInt8]())
        edits.reserve(changes.count)
        var gone: [InvertedBatch.Gone] = []
        var numbers: [UInt64] = []
        var sorter = NumberSorter()
        for change in changes {
            numbers.removeAll(keepingCapacity: true)
            if let value = Self.value(batch, change.place) {
                DocumentTerms.forEach(batch.bytes.span, in: value) {
                    numbers.append(terms.numbers[$0.number])
                }
                sorter.sort(&numbers)
            }
            if change.former == numbers { continue }
            let start = bytes.count
            bytes.append(
                copying: batch.bytes.span.extracting(batch.id(of: change.place)))
            let keyEnd = bytes.count
            if !numbers.isEmpty {
                IndexedDocument(ordinal: change.ordinal, numbers: numbers).append(to: &bytes)
            }
            edits.append(
                numbers.isEmpty ? .remove : change.former == nil ? .put : .replace, at: start,
                keySize: keyEnd - start, valueSize: bytes.count - keyEnd)
            var index = 0
            for number in change.former ?? [] {
                while index < numbers.count, numbers[index] < number { index += 1 }
                if index < numbers.count, numbers[index] == number { continue }
                gone.append(InvertedBatch.Gone(number: number, ordinal: change.ordinal))
            }
        }
        edits.sort(in: bytes)
        try checked(stores.documents.edit(edits, of: bytes, writer))
        gone.sort { ($0.number, $0.ordinal) < ($1.number, $1.ordinal) }
        return gone
    }

    private func writeIDs(_ changes: [Change], _ batch: EmissionBatch) throws {
        var (edits, bytes) = (BlockEdits(), [UInt8]())
        for change in changes {
            let isThere = Self.value(batch, change.place) != nil
            guard isThere == (change.former == nil) else { continue }
            let start = bytes.count
            OrderedNumber.append(change.ordinal, to: &bytes)
            let keyEnd = bytes.count
            if isThere {
                bytes.append(
                    copying: batch.bytes.span.extracting(batch.id(of: change.place)))
            }
            edits.append(
                isThere ? .put : .remove, at: start, keySize: keyEnd - start,
                valueSize: bytes.count - keyEnd)
        }
        edits.sort(in: bytes)
        try checked(stores.ids.edit(edits, of: bytes, writer))
    }

    private mutating func writeLengths(_ changes: [Change], _ batch: EmissionBatch) throws {
        var index = 0
        while index < changes.count {
            let key = DocumentLengths.row(changes[index].ordinal)
            var lengths = DocumentLengths()
            _ = try writer.withValue(forKey: key, in: stores.lengths) {
                lengths = try DocumentLengths($0)
            }
            let before = lengths
            while index < changes.count, DocumentLengths.row(changes[index].ordinal) == key {
                let change = changes[index]
                let former = lengths[change.ordinal]
                let value = Self.value(batch, change.place)
                let length =
                    value.map { DocumentTerms.length(batch.bytes.span.extracting($0)) } ?? 0
                guard (former > 0) == (change.former != nil), totals.words >= former,
                    totals.documents > 0 || former == 0
                else {
                    throw IndexCorruption("The length of a document is missing.")
                }
                lengths[change.ordinal] = length
                totals.words = totals.words - former + length
                if former == 0 { totals.documents += 1 }
                if length == 0 { totals.documents -= 1 }
                index += 1
            }
            if lengths.isEmpty {
                _ = try writer.remove(key: key, in: stores.lengths)
            } else if lengths != before {
                try writer.set(lengths.bytes.span, forKey: key, in: stores.lengths)
            }
        }
    }
}

/// Refuses an index in which a row is missing that must be there.
func checked(_ outcomes: [BlockEditor.Outcome]) throws {
    if outcomes.contains(.missing) {
        throw IndexCorruption("A row of a full-text index is missing.")
    }
}
