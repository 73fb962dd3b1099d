// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

/// The names that a query gives to its columns, for the clauses that come after the columns.
///
///     select  COUNT() as "n"          group by  "n"  ──► a property, since columns count groups
///     having  "n" > 1                           "n"  ──► COUNT()
///     order by  SUM(".n"), "n.x"      ".n", "n.x"    ──► properties
///
/// A name is that of the column, also where documents have a property of that name: what a query selects under a name is
/// what its order means by it. Inside an aggregate, where there are no columns yet, it is a property.
struct ColumnAliases {
    private var nodes: NameMap<ExpressionNode> = [:]

    /// Collects the names; of two columns with one name, the first has it.
    init(_ columns: [SelectResult]) {
        for column in columns {
            guard let alias = column.alias, nodes[alias] == nil, !column.isNamedAfterSource else {
                continue
            }
            nodes[alias] = column.node
        }
    }

    /// An expression with columns in the place of their names.
    ///
    /// - Parameters:
    ///   - node: The expression.
    ///   - inGroups: Whether there are groups already; if not, the names of columns that ask for them are properties.
    /// - Returns: The expression.
    func resolved(_ node: ExpressionNode, inGroups: Bool = true) -> ExpressionNode {
        guard !nodes.isEmpty else { return node }
        return node.mapped { part in
            switch part {
            case .aggregate: return part
            case .property(let path, source: nil):
                guard path.steps.count == 1, let key = path.steps[0].key, let column = nodes[key]
                else { return nil }
                return inGroups || column.aggregates.isEmpty ? column : nil
            default: return nil
            }
        }
    }
}

extension SelectResult {
    /// Whether it is the document of a source, under the name of that.
    fileprivate var isNamedAfterSource: Bool {
        if case .document(let source?) = node { source.hasSameBytes(as: alias) } else { false }
    }
}
