// SPDX-License-Identifier: Apache-2.0

internal import DivanIndex
internal import DivanJSON
internal import DivanModel

/// Columns of a query that stand in the rows of an index, so that no document is read for them.
///
///     select id, email        index on "email"        row   key of email │ ID
///
/// A row does not tell how a number was written, so one with a number, array or object in a column needs its document.
final class CoveredColumns {
    /// The first column that each component of the index is; nil for none.
    private let columns: [Int?]
    /// The first column that is the ID.
    private let idColumn: Int?
    /// Columns that are the same as a column before them.
    private let copies: [(source: Int, place: Int)]
    private let count: Int
    private let coder: RowKeyCoder

    /// Nil if the index does not have all columns.
    init?(_ nodes: [ExpressionNode], source: String?, map: PropertyIndexMap) {
        guard !map.hasElements else { return nil }
        var columns: [Int?] = Array(repeating: nil, count: map.components.count)
        var idColumn: Int?
        var copies: [(source: Int, place: Int)] = []
        func note(_ column: Int, _ first: inout Int?) {
            if let first { copies.append((first, column)) } else { first = column }
        }
        count = nodes.count
        coder = map.coder
        for (column, node) in nodes.enumerated() {
            switch node.uncollated {
            case .meta(.id, let name) where name == nil || name.hasSameBytes(as: source):
                note(column, &idColumn)
            case .property(let path, let name) where name == nil || name.hasSameBytes(as: source):
                // To an index "_id" and its like are more than properties of the body.
                guard path.isInBody,
                    let place = map.components.firstIndex(of: IndexComponent(path))
                else { return nil }
                note(column, &columns[place])
            default: return nil
            }
        }
        (self.columns, self.idColumn, self.copies) = (columns, idColumn, copies)
    }

    /// Appends the values of the columns; false, with some values appended, when the row does not tell all of them.
    func append(from row: Span<UInt8>, to values: inout PackedList) throws -> Bool {
        let start = values.count
        values.appendMissing(count)
        var offset = 0
        do throws(RowKeyCoder.Failure) {
            for column in columns {
                guard let column, offset < row.count, row[offset] != RowKeyCoder.missing else {
                    try coder.skipComponents(1, of: row, at: &offset)
                    continue
                }
                guard try coder.decode(row, at: &offset, into: &values, at: start + column) else {
                    return false
                }
            }
        } catch {
            throw IndexCorruption("A row's key is damaged.")
        }
        if let idColumn {
            try values.setText(at: start + idColumn) { text throws(IndexCorruption) in
                try RowKey.appendDocumentID(in: row, at: offset, to: &text)
            }
        }
        for (source, place) in copies { values.copy(start + source, to: start + place) }
        return true
    }
}
