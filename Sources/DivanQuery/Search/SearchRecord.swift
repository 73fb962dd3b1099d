// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON

/// What an index keeps of a document beside its terms.
struct SearchRecord {
    private let record: PackedValue?

    init(_ record: PackedValue?) { self.record = record }

    /// The fields that results show: all that are stored, or some. What is shown of a document is kept by a budget.
    func stored(_ names: NameSet?, _ budget: SearchBudget) throws -> JSONObject {
        guard let all = record?["s"] else { return [:] }
        guard let names else {
            try budget.keep(all.byteCount)
            return all.jsonValue().object ?? [:]
        }
        var fields = JSONObject()
        try all.forEachProperty { name, value in
            guard names.contains(name) else { return }
            try budget.keep(name.utf8.count + value.byteCount)
            fields[name] = value.jsonValue()
        }
        return fields
    }

    /// The values of a field.
    func values(of field: String) -> [JSONValue] {
        guard let value = record?["v"]?[field]?.jsonValue() else { return [] }
        return value.array ?? [value]
    }

    /// The values of a field by which hits are counted.
    ///
    /// - Throws: `DatabaseError` with code `.invalidQuery` when it is no such field.
    func facets(of field: String) throws -> [JSONValue] {
        let values = self.values(of: field)
        guard !values.isEmpty else { return [] }
        var isFacet = false
        record?["f"]?.forEachElement { isFacet = isFacet || field.hasSameBytes(as: $0.string) }
        guard isFacet else {
            throw DatabaseError(
                .invalidQuery,
                "The field '\(field.prefix(100))' is no facet; index it with the option `facet`.")
        }
        return values
    }

    /// The most bytes of a text that results are sorted by, so that a bookmark, which has it, is short.
    static let longestSorted = 256

    /// What a document is sorted by: of several values the one that stands first, of a text its beginning.
    ///
    /// - Throws: `DatabaseError` with code `.invalidQuery` when the field has values of another kind alone.
    func value(_ field: String, _ kind: SearchOrder.Kind, isDescending: Bool) throws -> JSONValue? {
        let all = values(of: field)
        let fitting = all.filter { value in
            switch kind {
            case .any: true
            case .number: value.string == nil
            case .text: value.string != nil
            }
        }
        guard !fitting.isEmpty || all.isEmpty else {
            let (has, write) =
                kind == .number ? ("texts", "<string>") : ("numbers", "<number>")
            throw DatabaseError(
                .invalidQuery,
                "The field '\(field.prefix(100))' has \(has); sort by it with \(write).")
        }
        let isFirst = { (left: JSONValue, right: JSONValue) in
            let compared = SearchTop.compare(left, right)
            return isDescending ? compared > 0 : compared < 0
        }
        return fitting.min(by: isFirst).map { value -> JSONValue in
            guard let text = value.string else { return value }
            return .string(SearchAnalyzer.cut(text, to: Self.longestSorted))
        }
    }
}
