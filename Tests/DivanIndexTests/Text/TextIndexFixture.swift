// SPDX-License-Identifier: Apache-2.0

import DivanModel
import DivanSQLite
import DivanStorage
import DivanTestSupport

@testable import DivanIndex

/// A full-text index beside a naive model of it.
final class TextIndexFixture {
    private(set) var engine: SQLiteEngine
    private(set) var stores: TextIndexStores
    /// The places of each term in each document.
    private(set) var model: [String: [String: [UInt64]]] = [:]

    /// Makes an index in a directory, or in memory.
    init(in directory: String? = nil) throws {
        engine =
            try directory.map { try SQLiteEngine(directory: $0) } ?? SQLiteEngine.inMemory()
        stores = TextIndexStores(number: 1, engine: engine)
    }

    /// Closes an index in a directory and opens it again, so that no log of writes is left.
    func reopen(in directory: String) throws {
        engine.close()
        engine = try SQLiteEngine(directory: directory)
        stores = TextIndexStores(number: 1, engine: engine)
    }

    /// Replaces what documents say, in one transaction.
    func replace(_ documents: [(id: String, words: [String])]) throws {
        var batch = EmissionBatch()
        let vocabulary = TermVocabulary()
        for (id, words) in documents {
            batch.begin(DocumentID(id))
            var terms: [String: [UInt64]] = [:]
            for (place, word) in words.enumerated() {
                terms[word, default: []].append(UInt64(place))
            }
            let occurrences = terms.flatMap { term, places in
                let number = vocabulary.number(of: Array(term.utf8)) ?? 0
                return places.map { DocumentTerms.occurrence(of: number, at: $0) }
            }
            if !occurrences.isEmpty {
                batch.appendValue { DocumentTerms.append(occurrences.sorted(), to: &$0) }
            }
            batch.end()
            model[id] = terms.isEmpty ? nil : terms
        }
        try engine.write { writer in
            var index = TextIndexWriter(stores, writer)
            _ = try index.replace(with: batch, vocabulary) { _ in false }
        }
    }

    func read<T>(_ body: (TextIndexReader) throws -> T) throws -> T {
        try engine.read { try body(TextIndexReader(stores, $0)) }
    }

    /// The documents with a term, and the places in each, as the index has them.
    func found(_ term: String) throws -> [String: [UInt64]] {
        try read { index in
            let postings = try index.postings(of: Array(term.utf8))
            return try found(postings, index)
        }
    }

    func found(_ postings: any Postings, _ index: TextIndexReader) throws -> [String: [UInt64]] {
        var (ordinals, lists) = ([UInt64](), [[UInt64]]())
        var next: UInt64 = 1
        while let stretch = try postings.seek(next) {
            var (own, frequencies) = ([UInt64](), [UInt64]())
            var (places, ends) = ([UInt64](), [Int]())
            postings.append(stretch, to: &own, &frequencies)
            try postings.readPlaces(own, into: &places, &ends)
            var start = 0
            for (end, frequency) in zip(ends, frequencies) {
                if end - start != Int(frequency) { throw IndexCorruption("It counts wrong.") }
                lists.append(Array(places[start..<end]))
                start = end
            }
            ordinals += own
            next = stretch.upperBound + 1
        }
        let ids = try index.documentIDs(ordinals).map(\.text)
        // A document that came twice shows by its places.
        return Dictionary(zip(ids, lists), uniquingKeysWith: +)
    }

    /// The same as the model has them.
    func expected(_ isWanted: (String) -> Bool) -> [String: [UInt64]] {
        model.compactMapValues { terms in
            let places = terms.filter { isWanted($0.key) }.values.joined().sorted()
            return places.isEmpty ? nil : places
        }
    }
}
