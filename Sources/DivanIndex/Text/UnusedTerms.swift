// SPDX-License-Identifier: Apache-2.0

internal import DivanStorage

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
        let heads = try BlockLookup(stores.postings, writer)
        var found = try terms.seekToFirst()
        while found {
            try terms.withRow { term, row in
                var key: [UInt8] = []
                PostingKey.append(try TermNumbers.number(row), to: &key)
                if try heads.contains(key.span) { return }
                let start = bytes.count
                bytes.append(copying: term)
                edits.append(
                    .remove, at: start, keySize: bytes.count - start, valueSize: 0)
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
