// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanPlatform

/// The state of an aggregate of one group. Its result is the same in whatever order values are added.
struct AggregateFold {
    private let aggregate: ExpressionNode.Aggregate
    private let order: ValueOrder
    private var count: Int64 = 0
    private var sum = ExactSum()
    private var best: JSONValue?

    init(_ aggregate: ExpressionNode.Aggregate, collation: Collation) {
        self.aggregate = aggregate
        order = ValueOrder(collation, strings: ICUCollator.root)
    }

    mutating func addRow() { addRows(1) }

    mutating func addRows(_ number: Int64) { count += number }

    mutating func add(_ value: JSONValue) {
        guard !value.isNull else { return }
        switch aggregate {
        case .count: count += 1
        case .sum, .average: if sum.add(value) { count += 1 }
        // The order is exact: of values that collate as equal, such as 1 and 1.0, always the same one is chosen.
        case .minimum: if best.map({ order.compare(value, $0) < 0 }) ?? true { best = value }
        case .maximum: if best.map({ order.compare(value, $0) > 0 }) ?? true { best = value }
        }
    }

    var result: JSONValue {
        switch aggregate {
        case .count: .integer(count)
        case .sum: sum.value
        case .average: count == 0 ? JSONValue.null : sum.mean(of: count)
        case .minimum, .maximum: best ?? JSONValue.null
        }
    }
}
