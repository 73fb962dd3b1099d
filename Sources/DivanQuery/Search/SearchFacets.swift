// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON

/// Counts what hits have in some fields.
struct SearchFacets {
    private let query: SearchQuery
    private let budget: SearchBudget
    private let drilled: [(field: String, values: NameSet)]
    private var counted: NameMap<NameMap<Int>> = [:]
    private var inRanges: [Int]

    init(_ query: SearchQuery, _ budget: SearchBudget) {
        self.query = query
        self.budget = budget
        drilled = query.drilldown.map { (field: $0.field, values: NameSet($0.values)) }
        inRanges = Array(repeating: 0, count: query.ranges?.count ?? 0)
    }

    /// Whether records of hits are needed.
    static func areWanted(by query: SearchQuery) -> Bool {
        query.counts != nil || query.ranges != nil || !query.drilldown.isEmpty
    }

    /// Whether a hit has what the query drills down to.
    func isIncluded(_ record: SearchRecord) throws -> Bool {
        for (field, values) in drilled {
            let labels = try record.facets(of: field).map(Self.label)
            guard labels.contains(where: values.contains) else { return false }
        }
        return true
    }

    mutating func add(_ record: SearchRecord) throws {
        for field in query.counts ?? [] {
            // A document counts once for a value, however often it has it.
            var seen: NameSet = []
            for value in try record.facets(of: field) {
                guard let text = value.string else {
                    throw DatabaseError(
                        .invalidQuery,
                        "The field '\(field.prefix(100))' has numbers; count them with `ranges`.")
                }
                guard seen.insert(text).inserted else { continue }
                if counted[field]?[text] == nil { try budget.keep(text.utf8.count + 64) }
                counted[field, default: [:]][text, default: 0] += 1
            }
        }
        // Ranges of one field stand together, so its numbers are read once.
        var last: (field: String, numbers: [Double])?
        for (place, range) in (query.ranges ?? []).enumerated() {
            let known = last.flatMap { $0.field.hasSameBytes(as: range.field) ? $0.numbers : nil }
            let numbers = try known ?? Self.numbers(record, range.field)
            last = (range.field, numbers)
            if numbers.contains(where: range.contains) { inRanges[place] += 1 }
        }
    }

    private static func numbers(_ record: SearchRecord, _ field: String) throws -> [Double] {
        try record.facets(of: field).map { value in
            guard value.string == nil, let number = value.double else {
                throw DatabaseError(
                    .invalidQuery,
                    "The field '\(field.prefix(100))' has texts; count them with `counts`.")
            }
            return number
        }
    }

    /// How often each value was found.
    var counts: SearchResult.Counts? {
        query.counts.map { fields in
            fields.map { field in
                let labels = (counted[field] ?? [:]).map { (label: $0.0, count: $0.1) }
                return (field: field, labels: first(labels.sorted(by: Self.isFirst)))
            }
        }
    }

    /// How many numbers of hits are in each range, by the fields in the order of the query.
    var ranges: SearchResult.Counts? {
        query.ranges.map { ranges in
            var result: SearchResult.Counts = []
            for (range, count) in zip(ranges, inRanges) {
                if result.last.map({ !$0.field.hasSameBytes(as: range.field) }) ?? true {
                    result.append((field: range.field, labels: []))
                }
                result[result.count - 1].labels.append((label: range.label, count: count))
            }
            guard query.mostLabels != nil else { return result }
            return result.map {
                (field: $0.field, labels: first($0.labels.sorted(by: Self.isFirst)))
            }
        }
    }

    private func first(_ labels: [(label: String, count: Int)]) -> [(label: String, count: Int)] {
        query.mostLabels.map { Array(labels.prefix($0)) } ?? labels
    }

    private static func isFirst(
        _ left: (label: String, count: Int), _ right: (label: String, count: Int)
    ) -> Bool {
        left.count != right.count
            ? left.count > right.count
            : left.label.utf8.lexicographicallyPrecedes(right.label.utf8)
    }

    private static func label(_ value: JSONValue) -> String { value.string ?? value.description }
}
