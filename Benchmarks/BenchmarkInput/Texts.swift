// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The documents of a row. Those of the rows on full text have their text in the property `bio`.
public enum Texts: String, Sendable, CaseIterable {
    /// The biographies of the person documents: 25 words, each as common as the others.
    case people
    /// Made-up words, each as often as its rank tells: see ``ZipfDocument``.
    case zipf
    /// The entries of Webster's dictionary of 1913, where its package is installed: see ``DictionaryEntries``.
    case dictionary
    /// The records of the Yahoo! Cloud Serving Benchmark: see ``RecordDocument``.
    case records

    /// How many documents of this kind a benchmark of so many person documents has; 0 for texts that are
    /// not installed.
    public func documents(of count: Int) -> Int {
        switch self {
        case .people, .records: count
        // They are nine times as long.
        case .zipf: max(1, count / 5)
        case .dictionary: min(count, DictionaryEntries.count)
        }
    }

    /// The kinds of the rows on full text.
    public static let ofFullText: [Texts] = [.people, .zipf, .dictionary]

    /// Writes the documents of a benchmark of so many person documents.
    public func write(to path: String, of count: Int, ids: InputFile.IDKind) throws {
        let count = documents(of: count)
        switch self {
        case .people:
            try InputFile.write(to: path, count: count, ids: ids)
        case .zipf:
            var documents = ZipfDocument(seed: 428)
            try InputFile.write(to: path, count: count, ids: ids) { documents.next() }
        case .records:
            // A tenth more, for what is inserted meanwhile.
            var documents = RecordDocument(seed: 429)
            try InputFile.write(to: path, count: count + count / 10 + 10, ids: ids) {
                documents.next()
            }
        case .dictionary:
            var documents = try DictionaryEntries(spread: count)
            try InputFile.write(to: path, count: count, ids: ids) { try documents.next() }
        }
    }
}
