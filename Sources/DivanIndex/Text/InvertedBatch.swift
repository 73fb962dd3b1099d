// SPDX-License-Identifier: Apache-2.0

internal import DivanModel

/// The postings of a batch of documents by term: for each term its documents in the order of their ordinals.
///
/// Postings are counted, and then each is put where it belongs: nothing is compared, and a posting takes eight
/// bytes beside those that it has in the batch.
struct InvertedBatch {
    /// A posting that an index loses.
    struct Gone {
        var number: UInt64
        var ordinal: UInt64
    }

    /// A posting of the batch.
    private struct Entry {
        /// Which of the documents.
        var document: UInt32
        /// Where what tells how often, and where, stands in the document's value, which has less than 4 GB.
        var start: UInt32
    }

    let bytes: [UInt8]
    private let ordinals: [UInt64]
    /// Where the documents' values begin in the batch.
    private let starts: [Int]
    private var entries: [Entry]
    /// Where the postings of each term of the vocabulary end.
    private var ends: [Int]
    /// The index's numbers of the terms of the vocabulary; 0 for those that the batch has not.
    var numbers: [UInt64] = []

    /// Inverts a batch.
    ///
    /// - Parameters:
    ///   - batch: The batch, whose rows are ``DocumentTerms``.
    ///   - documents: Their places in the batch and their ordinals, which ascend.
    init(_ batch: EmissionBatch, _ documents: [(place: Int, ordinal: UInt64)]) {
        bytes = batch.bytes
        ordinals = documents.map(\.ordinal)
        starts = documents.map { entry in
            batch.documents[entry.place].rows.first.map { batch.rows[$0].keyEnd } ?? 0
        }
        let span = batch.bytes.span
        var counts: [Int] = []
        func values(_ body: (_ document: Int, _ value: Range<Int>) -> Void) {
            for (document, entry) in documents.enumerated() {
                for row in batch.documents[entry.place].rows {
                    body(document, batch.rows[row].keyEnd..<batch.rows[row].end)
                }
            }
        }
        values { _, value in
            DocumentTerms.forEach(span, in: value) { term in
                while counts.count <= term.number { counts.append(0) }
                counts[term.number] += 1
            }
        }
        // First where the postings of each term begin, which moves on to where they end.
        var total = 0
        for number in counts.indices { (counts[number], total) = (total, total + counts[number]) }
        var entries = [Entry](repeating: Entry(document: 0, start: 0), count: total)
        values { document, value in
            DocumentTerms.forEach(span, in: value) { term in
                entries[counts[term.number]] = Entry(
                    document: UInt32(document), start: UInt32(term.start - value.lowerBound))
                counts[term.number] += 1
            }
        }
        self.entries = entries
        ends = counts
    }

    /// How many postings there are.
    var count: Int { entries.count }

    /// The terms of the vocabulary that the batch has.
    var terms: [Int] { ends.indices.filter { !postings($0).isEmpty } }

    /// The postings of a term of the vocabulary.
    func postings(_ term: Int) -> Range<Int> { (term == 0 ? 0 : ends[term - 1])..<ends[term] }

    /// The ordinal of a posting's document.
    func ordinal(_ posting: Int) -> UInt64 { ordinals[Int(entries[posting].document)] }

    /// Adds a posting to those of a block.
    func add(_ posting: Int, to packer: inout PostingPacker) {
        let (frequency, places) = content(of: posting)
        packer.append(ordinal(posting), frequency, bytes.span.extracting(places))
    }

    /// Whether a block has a posting as it is here.
    func isKnown(
        _ posting: Int, to block: PostingBlock, from position: inout PostingBlock.Position
    ) throws -> Bool {
        let (frequency, places) = content(of: posting)
        return try block.has(
            ordinal(posting), frequency, bytes.span.extracting(places), from: &position)
    }

    private func content(of posting: Int) -> (frequency: UInt64, places: Range<Int>) {
        let entry = entries[posting]
        return DocumentTerms.posting(
            bytes.span, at: starts[Int(entry.document)] + Int(entry.start))
    }
}
