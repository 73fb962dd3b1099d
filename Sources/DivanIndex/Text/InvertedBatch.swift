// SPDX-License-Identifier: Apache-2.0

internal import DivanModel

/// The postings of a batch of documents by term: for each term its documents in the order of their ordinals.
///
/// Postings are counted, and then each is put where it belongs: nothing is compared, and a posting takes eight
/// bytes beside those that it has in the batch. These lie far apart for documents that follow each other in a list, so most
/// postings carry their places along, which are few.
struct InvertedBatch {
    /// A posting that an index loses.
    struct Gone {
        var number: UInt64
        var ordinal: UInt64
    }

    /// A posting of the batch: which of the documents, in 27 bits, as no batch has more; how many bytes its places take, in
    /// three bits, and these; or 0, and where its frequency and places begin in the document's value.
    private struct Entry {
        private static let sizeBits: UInt64 = 3
        private static let contentBits: UInt64 = 34
        private let packed: UInt64

        init(document: Int, places: ShortPlaces?, start: Int) {
            precondition(
                document < 1 << 27 && start < 1 << Self.contentBits, "A batch is too large.")
            let (size, content) = places.map { ($0.size, UInt64($0.bytes)) } ?? (0, UInt64(start))
            packed =
                (UInt64(document) << Self.sizeBits | UInt64(size)) << Self.contentBits | content
        }

        var document: Int { Int(packed >> (Self.contentBits + Self.sizeBits)) }

        /// The places, if it carries them along.
        var places: ShortPlaces? {
            let size = Int(packed >> Self.contentBits & 7)
            return size == 0
                ? nil : ShortPlaces(size: size, bytes: UInt32(truncatingIfNeeded: packed))
        }

        var start: Int { Int(packed & (1 << Self.contentBits - 1)) }
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
            batch.rows(of: entry.place).first.map { batch.rows[$0].keyEnd } ?? 0
        }
        let span = batch.bytes.span
        var counts: [Int] = []
        func values(_ body: (_ document: Int, _ value: Range<Int>) -> Void) {
            for (document, entry) in documents.enumerated() {
                for row in batch.rows(of: entry.place) {
                    body(document, batch.rows[row].value)
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
        var entries = [Entry](
            repeating: Entry(document: 0, places: nil, start: 0), count: total)
        values { document, value in
            DocumentTerms.forEach(span, in: value) { term in
                entries[counts[term.number]] = Entry(
                    document: document, places: ShortPlaces(span, term.places),
                    start: term.start - value.lowerBound)
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

    /// The same in the order of the index's numbers.
    var termsByNumber: [Int] {
        var order: [UInt64] = []
        var sorter = NumberSorter()
        let terms = terms
        // An index gives far fewer numbers than fit beside the places of the terms.
        guard terms.allSatisfy({ numbers[$0] < 1 << 36 }), terms.count < 1 << 28 else {
            return terms.sorted { numbers[$0] < numbers[$1] }
        }
        for (place, term) in terms.enumerated() {
            order.append(numbers[term] << 28 | UInt64(place))
        }
        sorter.sort(&order, below: 28)
        return order.map { terms[Int($0 & (1 << 28 - 1))] }
    }

    /// The postings of a term of the vocabulary.
    func postings(_ term: Int) -> Range<Int> { (term == 0 ? 0 : ends[term - 1])..<ends[term] }

    /// The ordinal of a posting's document.
    func ordinal(_ posting: Int) -> UInt64 { ordinals[entries[posting].document] }

    /// Adds a posting to those of a block.
    func add(_ posting: Int, to packer: inout PostingPacker) {
        let entry = entries[posting]
        if let places = entry.places {
            packer.append(ordinals[entry.document], places)
        } else {
            let (frequency, places) = content(of: entry)
            packer.append(ordinals[entry.document], frequency, bytes.span.extracting(places))
        }
    }

    /// Whether a block has a posting as it is here.
    func isKnown(
        _ posting: Int, to block: PostingBlock, from position: inout PostingBlock.Position
    ) throws -> Bool {
        let entry = entries[posting]
        let ordinal = ordinals[entry.document]
        if let places = entry.places { return try block.has(ordinal, places, from: &position) }
        let (frequency, places) = content(of: entry)
        return try block.has(ordinal, frequency, bytes.span.extracting(places), from: &position)
    }

    private func content(of entry: Entry) -> (frequency: UInt64, places: Range<Int>) {
        DocumentTerms.posting(bytes.span, at: starts[entry.document] + entry.start)
    }
}
