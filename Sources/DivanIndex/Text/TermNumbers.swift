// SPDX-License-Identifier: Apache-2.0

internal import DivanModel
internal import DivanStorage

/// The index's numbers of the terms of a batch. Terms that are new get the next ones, the most frequent first, so
/// that small numbers are those which most documents name.
struct TermNumbers {
    /// By the terms' numbers in the vocabulary; 0 for those that the batch has not.
    private(set) var numbers: [UInt64]
    /// The first number that was given now.
    let firstNew: UInt64

    init(
        of batch: InvertedBatch, in vocabulary: ByteTable, _ stores: TextIndexStores,
        _ writer: any StorageWriter, _ totals: inout TextIndexTotals
    ) throws {
        numbers = [UInt64](repeating: 0, count: vocabulary.count)
        firstNew = totals.nextNumber
        let terms = vocabulary.sorted(batch.terms)
        var new: [Int] = []
        let known = try BlockLookup(stores.terms, writer)
        defer { known.close() }
        let isEmpty = totals.terms == 0
        for term in terms {
            try vocabulary.withBytes(term) { bytes in
                let isKnown =
                    try !isEmpty
                    && known.withValue(forKey: bytes) { numbers[term] = try Self.number($0) }
                if !isKnown { new.append(term) }
            }
        }
        for term in Self.byFrequency(new, batch) {
            numbers[term] = totals.nextNumber
            totals.nextNumber += 1
        }
        totals.terms += UInt64(new.count)
        var (edits, bytes) = (BlockEdits(), [UInt8]())
        edits.reserve(new.count)
        for term in new {
            let start = bytes.count
            vocabulary.withBytes(term) { bytes.append(copying: $0) }
            let keyEnd = bytes.count
            Varint.append(numbers[term], to: &bytes)
            edits.append(
                .put, at: start, keySize: keyEnd - start, valueSize: bytes.count - keyEnd)
        }
        _ = try stores.terms.edit(edits, of: bytes, writer)
    }

    /// Terms in the order in which they get their numbers.
    private static func byFrequency(_ terms: [Int], _ batch: InvertedBatch) -> [Int] {
        // A batch has fewer postings of a term than there may be terms; more would count alike.
        let most = UInt64(DocumentTerms.mostTerms)
        var ranks = terms.map { term in
            (most - min(most, UInt64(batch.postings(term).count))) * most + UInt64(term)
        }
        var sorter = NumberSorter()
        sorter.sort(&ranks)
        return ranks.map { Int($0 % most) }
    }

    /// Reads a row of the store `terms`.
    static func number(_ row: Span<UInt8>) throws -> UInt64 {
        var offset = 0
        let number = try? Varint.decode(row, at: &offset)
        guard let number, number > 0, number < PostingBlock.largest, offset == row.count else {
            throw IndexCorruption("The number of a term is damaged.")
        }
        return number
    }
}
