// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON

/// The content of ``SelectRows``, to which each row refers.
final class SelectTable: Sendable {
    /// The names of the columns.
    let keys: [String]
    /// The columns that tell which document or group a row is of.
    let identifying: [Int]
    let cells: SelectCells
    let rowCount: Int

    init(_ building: SelectTableBuilder) {
        (keys, identifying) = (building.keys, building.identifying)
        (cells, rowCount) = (building.cells, building.rowCount)
    }

    /// Whether some rows are the same as others with the same columns.
    func isEqual(_ rows: Range<Int>, to other: SelectTable, from start: Int) -> Bool {
        let width = keys.count
        return cells.isEqual(
            rows.lowerBound * width..<rows.upperBound * width, to: other.cells,
            from: start * width)
    }
}

/// The values of rows, one row behind the other: packed where all columns stand in documents as they are, and such as
/// expressions give where a column is computed.
///
/// What expressions give can be more than what can be packed, a literal that is not a number for example.
enum SelectCells: Sendable {
    case packed(PackedList)
    case computed([JSONValue?])

    subscript(place: Int) -> Fragment {
        switch self {
        case .packed(let list): Fragment(list[place])
        case .computed(let values): Fragment(values[place])
        }
    }

    /// Whether some values are the same as others.
    func isEqual(_ places: Range<Int>, to others: SelectCells, from start: Int) -> Bool {
        let offset = start - places.lowerBound
        return switch (self, others) {
        case (.packed(let list), .packed(let other)):
            places.allSatisfy { list.isEqual($0, to: other, $0 + offset) }
        case (.computed(let values), .computed(let other)):
            places.allSatisfy { values[$0] == other[$0 + offset] }
        default: places.allSatisfy { self[$0].value == others[$0 + offset].value }
        }
    }
}

/// A table that is being made.
struct SelectTableBuilder {
    let keys: [String]
    let identifying: [Int]
    private(set) var rowCount = 0
    /// One of the two has the values of all rows.
    private var packed = PackedList()
    private var computed: [JSONValue?] = []
    private let isPacked: Bool
    private let isDistinct: Bool
    /// What tells the rows apart, where each is wanted once.
    private var seen = Set<[UInt8]>()

    /// Makes one without rows.
    ///
    /// - Parameters:
    ///   - keys: The names of the columns.
    ///   - identifying: The columns that tell which document or group a row is of.
    ///   - isPacked: Whether rows are added by ``appendPacked(_:)``; else by ``appendComputed(_:)``.
    ///   - isDistinct: Whether a row that is there is not added again.
    ///   - capacity: How many rows to make room for.
    init(keys: [String], identifying: [Int], isPacked: Bool, isDistinct: Bool, capacity: Int) {
        (self.keys, self.identifying) = (keys, identifying)
        (self.isPacked, self.isDistinct) = (isPacked, isDistinct)
        if isPacked {
            packed.reserveCapacity(capacity * keys.count)
        } else {
            computed.reserveCapacity(capacity * keys.count)
        }
    }

    fileprivate var cells: SelectCells { isPacked ? .packed(packed) : .computed(computed) }

    /// Adds a row of computed values.
    ///
    /// - Parameter fill: Appends the row's values.
    /// - Throws: What `fill` throws; the rows are of no use then.
    mutating func appendComputed(_ fill: (inout [JSONValue?]) throws -> Void) rethrows {
        let start = computed.count
        try fill(&computed)
        if isDistinct {
            var identity: [UInt8] = []
            for value in computed[start...] {
                if let value {
                    SelectGroups.coder.append(value, to: &identity)
                } else {
                    identity.append(RowKeyCoder.missing)
                }
            }
            guard seen.insert(identity).inserted else {
                return computed.removeLast(computed.count - start)
            }
        }
        rowCount += 1
    }

    /// Adds a row of packed values.
    ///
    /// - Parameter fill: Appends the row's values; false when it cannot, and then there is no row.
    /// - Returns: What `fill` returned.
    /// - Throws: What `fill` throws; the rows are of no use then.
    mutating func appendPacked(_ fill: (inout PackedList) throws -> Bool) rethrows -> Bool {
        let mark = packed.mark
        guard try fill(&packed) else {
            packed.removeAll(since: mark)
            return false
        }
        if isDistinct {
            var identity: [UInt8] = []
            for place in packed.count - keys.count..<packed.count {
                if let value = packed[place] {
                    SelectGroups.coder.append(value, to: &identity)
                } else {
                    identity.append(RowKeyCoder.missing)
                }
            }
            guard seen.insert(identity).inserted else {
                packed.removeAll(since: mark)
                return true
            }
        }
        rowCount += 1
        return true
    }

    /// Keeps some rows, after skipping some.
    mutating func keep(_ limit: Int?, after offset: Int) {
        let first = min(offset, rowCount)
        let kept = min(limit ?? .max, rowCount - first)
        guard kept < rowCount else { return }
        let places = first * keys.count..<(first + kept) * keys.count
        if isPacked { packed.keep(places) } else { computed = Array(computed[places]) }
        rowCount = kept
    }
}

extension SelectRows {
    /// The rows of a table as they are now.
    init(_ building: SelectTableBuilder) { self.init(SelectTable(building)) }
}
