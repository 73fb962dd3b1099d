// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanPlatform
internal import DivanQuery

/// CouchDB's reduce functions that have names in place of source, such as `_sum`.
package enum BuiltInReduce {
    /// The most values that `_top_N` and `_bottom_N` keep.
    private static let mostRanks = 100

    /// Whatever follows these names does not count, as in CouchDB.
    private static let plain: [(name: String, reduce: Reduce)] = [
        ("_count", .count), ("_sum", .sum), ("_stats", .statistics),
        ("_approx_count_distinct", .approximateDistinctCount),
        ("_first", .custom { _, values, _ in values.first ?? .null }),
        ("_last", .custom { _, values, _ in values.last ?? .null }),
    ]

    /// What is wrong with a name; nil when there is a reduce of that name.
    package static func problem(with name: String) -> String? {
        for prefix in ["_top_", "_bottom_"] {
            guard let digits = name.afterBytePrefix(prefix) else { continue }
            guard let count = Int(digits, radix: 10) else { return "invalid rank reducer" }
            return (1...mostRanks).contains(count)
                ? nil : "rank value must be between 1 and \(mostRanks)"
        }
        return reduce(named: name) == nil
            ? "`\(name.prefix(100))` is not a supported reduce function." : nil
    }

    /// The reduce of a name; nil when there is none.
    static func reduce(named name: String) -> Reduce? {
        if let known = plain.first(where: { name.hasBytePrefix($0.name) }) { return known.reduce }
        if let count = name.afterBytePrefix("_top_").flatMap({ Int($0, radix: 10) }) {
            return rank(count) { $0 > 0 }
        }
        if let count = name.afterBytePrefix("_bottom_").flatMap({ Int($0, radix: 10) }) {
            return rank(count) { $0 < 0 }
        }
        return nil
    }

    /// Keeps the values that come first in the order of keys, each once.
    private static func rank(
        _ count: Int, _ comesFirst: @escaping @Sendable (Int) -> Bool
    ) -> Reduce? {
        guard (1...mostRanks).contains(count) else { return nil }
        let order = ValueOrder(.unicode, strings: ICUCollator.root)
        return .custom { _, values, isRereduce in
            let all = isRereduce ? values.flatMap { $0.array ?? [] } : values
            let sorted = all.sorted {
                comesFirst(order.compare($0, $1))
            }
            var kept: [JSONValue] = []
            for value in sorted where kept.count < count {
                if kept.last.map({ order.compare($0, value) != 0 }) ?? true { kept.append(value) }
            }
            return .array(kept)
        }
    }
}
