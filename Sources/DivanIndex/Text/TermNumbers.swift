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
        let terms = batch.terms.sorted { vocabulary.precedes($0, $1) }
        var new: [Int] = []
        let cursor = try BlockCursor(stores.terms, writer)
        defer { cursor.close() }
        let isEmpty = totals.terms == 0
        for term in terms {
            try vocabulary.withBytes(term) { bytes in
                guard !isEmpty, try cursor.seek(toAtLeast: bytes), cursor.isAt(bytes) else {
                    return new.append(term)
                }
                try cursor.withValue { numbers[term] = try Self.number($0) }
            }
        }
        let ranked = new.sorted {
            (batch.postings($1).count, $0) < (batch.postings($0).count, $1)
        }
        for term in ranked {
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
                .put, at: start, keySize: keyEnd - start, valueSize: bytes.count - keyEnd,
                of: bytes)
        }
        _ = try stores.terms.edit(edits, of: bytes, writer)
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

/// Removes the rows of terms that no document has any more, once they are many.
struct UnusedTerms {
    /// Fewer are not worth reading all terms.
    private static let least: UInt64 = 1_000

    private let stores: TextIndexStores
    private let writer: any StorageWriter

    init(_ stores: TextIndexStores, _ writer: any StorageWriter) {
        self.stores = stores
        self.writer = writer
    }

    func removeIfMany(_ totals: inout TextIndexTotals) throws {
        guard totals.unusedTerms >= Self.least, totals.unusedTerms > totals.terms / 4 else {
            return
        }
        var (edits, bytes) = (BlockEdits(), [UInt8]())
        let terms = try BlockCursor(stores.terms, writer)
        let heads = try BlockCursor(stores.postings, writer)
        var found = try terms.seekToFirst()
        while found {
            try terms.withRow { term, row in
                var key: [UInt8] = []
                PostingKey.append(try TermNumbers.number(row), to: &key)
                if try heads.seek(toAtLeast: key.span), heads.isAt(key.span) { return }
                let start = bytes.count
                bytes.append(copying: term)
                edits.append(
                    .remove, at: start, keySize: bytes.count - start, valueSize: 0, of: bytes)
            }
            found = try terms.next()
        }
        terms.close()
        heads.close()
        try checked(stores.terms.edit(edits, of: bytes, writer))
        totals.terms -= min(totals.terms, UInt64(edits.count))
        totals.unusedTerms = 0
    }
}
