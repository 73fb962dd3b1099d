// SPDX-License-Identifier: Apache-2.0

package import DivanDatabase
package import DivanJSON
package import DivanModel

/// Makes the rows that a document has in a search index: see ``SearchIndex`` for their form.
package struct SearchRows {
    /// The words of a field, or a text that is a term of it.
    private struct Terms {
        var positions: NameMap<[Int]> = [:]
        /// How many words there are, which scores depend on, and the place behind the last one. Places have gaps.
        var (words, end) = (0, 0)
        var boost = 1.0
        /// Whether it has words, whose number counts for the mean.
        var hasWords = false
    }

    private let service: SearchService
    private let analyzers: SearchAnalyzers
    private var terms: NameMap<Terms> = [:]
    private var numbers: NameMap<Set<Double>> = [:]
    private var texts: NameSet = []
    private var stored = JSONObject()
    private var sorted = JSONObject()
    private var facets: NameSet = []
    private var textLeft = SearchRows.mostText

    private init(_ service: SearchService, _ analyzers: SearchAnalyzers) {
        self.service = service
        self.analyzers = analyzers
    }

    /// The rows of a document.
    ///
    /// - Parameters:
    ///   - emitted: What the function has said of it: an array of calls of `index`.
    ///   - id: The document.
    ///   - service: The form of the calls.
    ///   - analyzers: What finds the words of fields.
    /// - Returns: What a ``GroupMapper`` answers for one view: an array of an array of rows `[key, value]`, which is empty for a
    ///   document without fields.
    /// - Throws: `DatabaseError` with code `.invalidQuery` when a field has two types where it may have one.
    package static func rows(
        of emitted: PackedValue?, _ id: DocumentID, for service: SearchService,
        _ analyzers: SearchAnalyzers
    ) throws -> PackedValue {
        var rows = SearchRows(service, analyzers)
        var count = 0
        try emitted?.forEachElement { call in
            guard let field = SearchField(call, for: service) else { return }
            count += 1
            try rows.add(field)
        }
        guard count > 0 else { return PackedValue([[]]) }
        return rows.finished(id)
    }

    /// The rows of a document in a text index of `_find`.
    ///
    /// - Parameters:
    ///   - document: The document.
    ///   - definition: What the index has.
    ///   - analyzers: What finds the words of fields.
    /// - Returns: As above.
    /// - Throws: As above; fields of a text index have one type each.
    package static func rows(
        of document: Document, in definition: TextDefinition, _ analyzers: SearchAnalyzers
    ) throws -> PackedValue {
        // One of which that is unknown has rows, since it would be missed until it changes. `_find` tests it again.
        guard definition.filter?.truth(of: document) != false else { return PackedValue([[]]) }
        var rows = SearchRows(.clouseau, analyzers)
        for field in TextFields.of(document, in: definition) { try rows.add(field) }
        return rows.finished(document.id)
    }

    private mutating func add(_ field: SearchField) throws {
        switch field.content {
        case .words(let text):
            // What becomes of a text takes several times its length.
            let text = SearchAnalyzer.cut(text, to: textLeft)
            textLeft -= text.utf8.count
            let tokens = analyzers[field.name].tokens(of: text)
            var known = terms[field.name] ?? Terms()
            // No phrase goes from one value to the next, as in Lucene's positions with a gap.
            let start = known.end == 0 ? 0 : known.end + Self.gap
            for token in tokens {
                known.positions[token.term, default: []].append(start + token.position)
            }
            known.hasWords = true
            known.words += tokens.count
            known.end = max(known.end, start + (tokens.last.map { $0.position + 1 } ?? 0))
            known.boost = field.boost
            terms[field.name] = known
        case .text(let text): addTerm(text, field)
        case .number(let number): numbers[field.name, default: []].insert(number == 0 ? 0 : number)
        case .unsearched: break
        }
        try checkType(field)
        if field.isStored { Self.add(field.shown ?? field.value, field.name, to: &stored) }
        guard field.isSorted else { return }
        var value = field.value
        // A long text that nothing is counted by is only sorted by its beginning.
        if !field.isFacet, let text = value.string {
            value = .string(SearchAnalyzer.cut(text, to: SearchRecord.longestSorted))
        }
        Self.add(value, field.name, to: &sorted)
        if field.isFacet { facets.insert(field.name) }
    }

    private mutating func addTerm(_ text: String, _ field: SearchField) {
        var known = terms[field.name] ?? Terms()
        let start = known.end == 0 ? 0 : known.end + Self.gap
        known.positions[SearchAnalyzer.cut(text), default: []].append(start)
        known.words += 1
        known.end = start + 1
        known.boost = field.boost
        terms[field.name] = known
    }

    /// In Nouveau's indexes a field is of one type.
    private mutating func checkType(_ field: SearchField) throws {
        guard service == .nouveau else { return }
        var isText = false
        switch field.content {
        case .words, .text: isText = true
        case .number: break
        case .unsearched: return
        }
        if isText { texts.insert(field.name) }
        guard texts.contains(field.name), numbers[field.name] != nil else { return }
        throw DatabaseError(
            .invalidQuery,
            "The field '\(field.name.prefix(100))' is indexed as a number and as a text; give them two names."
        )
    }

    /// How many bytes of a document's texts are taken apart; words behind them are not found.
    static let mostText = 1 << 20
    private static let gap = 100

    /// Adds a value; a field with several has an array of them.
    private static func add(_ value: JSONValue, _ name: String, to object: inout JSONObject) {
        switch object[name] {
        case nil: object[name] = value
        case .array(var values)?:
            // In place: the object must not hold the array, too, or all of it is copied.
            object[name] = .null
            values.append(value)
            object[name] = .array(values)
        case let known?: object[name] = .array([known, value])
        }
    }

    private func finished(_ id: DocumentID) -> PackedValue {
        var rows: [JSONValue] = []
        var (words, fields) = (0, 0)
        // In the order of keys, so that the same documents make the same index.
        for (field, known) in Self.sorted(terms.map { ($0.0, $0.1) }) {
            if known.hasWords {
                words += known.words
                fields += 1
            }
            for (term, positions) in Self.sorted(known.positions.map { ($0.0, $0.1) }) {
                var value: [JSONValue] = [JSONValue(known.words), SearchKey.value(known.boost)]
                value += positions.map { JSONValue($0) }
                rows.append([SearchKey.term(field, term), .array(value)])
            }
        }
        for (field, values) in Self.sorted(numbers.map { ($0.0, $0.1) }) {
            rows += values.sorted().map { [SearchKey.number(field, $0), .null] }
        }
        rows.append([SearchKey.term(SearchKey.identifier, id.text), [1, 1, 0]])
        var record: JSONObject = ["w": [JSONValue(words), JSONValue(fields)]]
        if !stored.isEmpty { record["s"] = .object(stored) }
        if !sorted.isEmpty { record["v"] = .object(sorted) }
        if !facets.isEmpty {
            record["f"] = .array(
                facets.map { .string($0) }.sorted { SearchTop.compare($0, $1) < 0 })
        }
        rows.append([SearchKey.documents, .object(record)])
        return PackedValue([.array(rows)])
    }

    private static func sorted<Value>(_ entries: [(String, Value)]) -> [(String, Value)] {
        entries.sorted { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }
    }
}
