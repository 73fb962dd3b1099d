// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// How some numbers are distributed.
struct Distribution: Sendable {
    /// The parts of the numbers that are told of, in CouchDB's notation.
    static let parts: [(name: Int, part: Double)] = [
        (50, 0.5), (75, 0.75), (90, 0.9), (95, 0.95), (99, 0.99), (999, 0.999),
    ]

    private let sorted: [Double]
    /// Their mean; 0 of none.
    let mean: Double

    /// Takes numbers.
    init(_ numbers: [Double]) {
        sorted = numbers.sorted()
        mean = numbers.isEmpty ? 0 : numbers.reduce(0, +) / Double(numbers.count)
    }

    /// The number below which a part of them lies; 0 of none.
    func below(_ part: Double) -> Double {
        guard !sorted.isEmpty else { return 0 }
        let place = Int(exactly: (Double(sorted.count) * part).rounded(.down)) ?? 0
        return sorted[min(sorted.count - 1, place)]
    }

    /// As `_stats` tells of it.
    var json: JSONValue {
        let squares = sorted.reduce(0) { $0 + ($1 - mean) * ($1 - mean) }
        let variance = sorted.count > 1 ? squares / Double(sorted.count - 1) : 0
        return [
            "min": .double(sorted.first ?? 0), "max": .double(sorted.last ?? 0),
            "arithmetic_mean": .double(mean), "median": .double(below(0.5)),
            "variance": .double(variance),
            "standard_deviation": .double(variance.squareRoot()),
            "percentile": .array(
                Self.parts.map { [JSONValue($0.name), .double(below($0.part))] }),
            "n": JSONValue(sorted.count),
        ]
    }
}
