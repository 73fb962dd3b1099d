// SPDX-License-Identifier: Apache-2.0

import Divan
import DivanJSON

@testable import DivanQuery

/// Gives each document the fields that its property `fields` says, in the form of `_search`.
final class CallingMapper: GroupMapper {
    let analyzers: SearchAnalyzers

    init(_ analyzers: SearchAnalyzers) { self.analyzers = analyzers }

    func map(_ documents: [Document]) throws -> [PackedValue] {
        try documents.map { document in
            try SearchRows.rows(
                of: document.body["fields"], document.id, for: .clouseau, analyzers)
        }
    }
}

extension SearchIndex {
    /// An index of the fields that documents say themselves.
    static func calling(
        _ database: Database, analyzer: JSONValue = "whitespace", isPartitioned: Bool = false
    ) throws -> SearchIndex {
        let analyzers = try SearchAnalyzers(["analyzer": analyzer], for: .clouseau)
        let view = database.view(named: "_search t/t")
        define(
            view, version: "1 \(analyzer)", by: CallingMapper(analyzers),
            isPartitioned: isPartitioned)
        return SearchIndex(view, analyzers, .clouseau)
    }
}
