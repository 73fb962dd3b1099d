// SPDX-License-Identifier: Apache-2.0

import BenchmarkInput

/// The rows on full text, beside SQLite's FTS5, on each kind of texts.
extension Workload {
    static func texts(_ count: Int) -> [Workload] {
        Texts.ofFullText.flatMap { texts(of: $0, count) }
    }

    private static func texts(of texts: Texts, _ count: Int) -> [Workload] {
        let documents = texts.documents(of: count)
        func work(_ work: String, _ operations: Int, _ start: Start) -> Workload {
            Workload(
                name: prefix(of: texts) + work, work: work, ids: .generated,
                operations: operations, start: start, floors: .fullText, texts: texts,
                documents: documents)
        }
        let searches = TextQueries.Kind.allCases.filter { kind in
            // None of the 25 words of the person documents is rare.
            texts != .people || kind != .rare
        }
        func operations(_ kind: TextQueries.Kind) -> Int {
            // Lists of the person documents are long.
            kind == .rare ? 2000 : texts == .people ? 20 : 100
        }
        return [
            work("text_build", documents, .copy),
            // Rounds of a thousand documents, of which none comes twice.
            work("text_update", max(1, min(20, documents / 1000)), .copy),
        ] + searches.map { work("text_\($0.rawValue)", operations($0), .indexed) }
    }

    private static func prefix(of texts: Texts) -> String {
        texts == .people ? "" : "\(texts.rawValue)_"
    }

    /// Whether it is one of these.
    var isFullText: Bool { work.hasPrefix("text_") }

    /// The name of the row of how much the files grow; nil for a workload that has none.
    var sizeName: String? {
        work == "text_build" ? Self.prefix(of: texts) + "text_size" : nil
    }

    /// The name of its documents and their IDs, in the names of files.
    var inputName: String { Self.prefix(of: texts) + ids.rawValue }
}
