// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON
internal import DivanModel

/// Columns of a query that stand in the packed bodies of documents, so that no document is made for them: IDs, and
/// properties of the first source. An index leads to the documents; see ``CoveredColumns`` for columns that it has itself.
struct StoredColumns {
    /// For each column where it stands in the body; nil for the ID.
    private let paths: [PackedPath?]

    /// Nil if a column is something else.
    init?(_ nodes: [ExpressionNode], source: String?) {
        var paths: [PackedPath?] = []
        for node in nodes {
            if case .meta(.id, let name) = node.uncollated,
                name == nil || name.hasSameBytes(as: source)
            {
                paths.append(nil)
            } else if let path = PackedPath(node, source) {
                paths.append(path)
            } else {
                return nil
            }
        }
        self.paths = paths
    }

    /// Appends the values of the columns of a document.
    ///
    /// - Returns: True: a body tells all.
    func append(_ id: DocumentID, _ body: Span<UInt8>, to values: inout PackedList) -> Bool {
        for place in paths.indices {
            if let path = paths[place] {
                values.append(path, of: body)
            } else {
                values.append(text: id.text)
            }
        }
        return true
    }
}
