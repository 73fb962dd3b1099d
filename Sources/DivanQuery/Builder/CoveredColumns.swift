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
    /// The columns that each component of the index is.
    private let columns: [[Int]]
    private let idColumns: [Int]
    private let count: Int
    private let coder: RowKeyCoder

    /// Nil if the index does not have all columns.
    init?(_ nodes: [ExpressionNode], source: String?, map: PropertyIndexMap) {
        guard !map.hasElements else { return nil }
        var columns: [[Int]] = Array(repeating: [], count: map.components.count)
        var idColumns: [Int] = []
        count = nodes.count
        coder = map.coder
        for (column, node) in nodes.enumerated() {
            switch node.uncollated {
            case .meta(.id, let name) where name == nil || name.hasSameBytes(as: source):
                idColumns.append(column)
            case .property(let path, let name) where name == nil || name.hasSameBytes(as: source):
                // To an index "_id" and its like are more than properties of the body.
                guard path.isInBody,
                    let place = map.components.firstIndex(of: IndexComponent(path))
                else { return nil }
                columns[place].append(column)
            default: return nil
            }
        }
        (self.columns, self.idColumns) = (columns, idColumns)
    }

    /// Appends the values of the columns; false, with some values appended, when the row does not tell all of them.
    func append(from row: Span<UInt8>, to values: inout [JSONValue?]) throws -> Bool {
        let start = values.count
        values.append(contentsOf: repeatElement(nil, count: count))
        var offset = 0
        do throws(RowKeyCoder.Failure) {
            for columns in columns {
                guard !columns.isEmpty, offset < row.count, row[offset] != RowKeyCoder.missing
                else {
                    try coder.skipComponents(1, of: row, at: &offset)
                    continue
                }
                let value = try coder.decode(row, at: &offset)
                switch value {
                case .null, .bool, .string: for column in columns { values[start + column] = value }
                default: return false
                }
            }
        } catch {
            throw IndexCorruption("A row's key is damaged.")
        }
        guard !idColumns.isEmpty else { return true }
        let id = JSONValue.string(try RowKey.documentID(in: row, at: offset).text)
        for column in idColumns { values[start + column] = id }
        return true
    }
}
