// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex
internal import DivanJSON
internal import Synchronization

/// Makes the terms of documents for one pass of the indexer, on as many threads as it has.
///
/// A thread borrows a ``TextWorker`` for some documents, which knows the words that came before. All of them number their
/// terms in one vocabulary, by which the index writes what was mapped.
final class TextMapping: TermSource {
    /// The terms of the documents that wait to be written.
    let vocabulary = TermVocabulary()
    private let analyzer: TextAnalyzer
    private let texts: DocumentTexts
    /// The type of the documents that are indexed; nil for all.
    private let type: [UInt8]?
    private static let type = PackedPath([(name: "type", index: nil)])
    /// Those that no thread uses.
    private let workers = Mutex<[TextWorker]>([])

    init(_ analyzer: TextAnalyzer, _ texts: DocumentTexts, documentType: String?) {
        self.analyzer = analyzer
        self.texts = texts
        type = documentType.map { Array($0.utf8) }
    }

    func makeMap() -> IndexDefinition.LentMap {
        let loan = Loan(self)
        return { body, batch in loan.map(body, into: &batch) }
    }

    /// A worker that one thread has.
    private final class Loan {
        private let mapping: TextMapping
        private var worker: TextWorker

        init(_ mapping: TextMapping) {
            self.mapping = mapping
            worker =
                mapping.workers.withLock { $0.popLast() }
                ?? TextWorker(mapping.analyzer, mapping.vocabulary)
        }

        deinit { mapping.workers.withLock { $0.append(worker) } }

        /// Adds the terms of a packed body, whose document has been begun.
        func map(_ body: Span<UInt8>, into batch: inout EmissionBatch) {
            if let type = mapping.type, !TextMapping.type.isText(type, in: body) { return }
            worker.begin()
            mapping.texts.forEach(in: body) { worker.add($0) }
            worker.end(into: &batch)
        }
    }

    /// About how much memory it takes.
    var size: Int {
        vocabulary.size + workers.withLock { $0.reduce(0) { $0 + $1.size } }
    }

    /// Forgets its terms when they take more than a quarter of the memory for indexing; no document that was mapped may
    /// wait.
    func removeTerms(memory: Int) {
        guard size > memory / 4 else { return }
        // Workers know the numbers of terms, which are given anew.
        workers.withLock { $0 = [] }
        vocabulary.removeAll()
    }
}
