// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

extension ExpressionNode {
    /// The same tree with some nodes replaced by others.
    ///
    /// - Parameter replace: Gives what stands in a node's place; nil to look at its parts.
    /// - Returns: The other tree.
    func mapped(_ replace: (ExpressionNode) throws -> ExpressionNode?) rethrows -> ExpressionNode {
        if let other = try replace(self) { return other }
        func map(_ node: ExpressionNode) throws -> ExpressionNode { try node.mapped(replace) }
        switch self {
        case .literal, .parameter, .property, .meta, .document, .variable, .tooDeep: return self
        case .compare(let comparison, let left, let right):
            return .compare(comparison, try map(left), try map(right))
        case .between(let value, let low, let high):
            return .between(try map(value), try map(low), try map(high))
        case .oneOf(let value, let list): return .oneOf(try map(value), try list.map(map))
        case .like(let text, let form): return .like(try map(text), try map(form))
        case .matches(let text, let pattern): return .matches(try map(text), try map(pattern))
        case .test(let test, let node): return .test(test, try map(node))
        case .all(let nodes): return .all(try nodes.map(map))
        case .any(let nodes): return .any(try nodes.map(map))
        case .not(let node): return .not(try map(node))
        case .arithmetic(let operation, let left, let right):
            return .arithmetic(operation, try map(left), try map(right))
        case .function(let function, let nodes): return .function(function, try nodes.map(map))
        case .quantified(let quantifier, let name, let array, let condition):
            return .quantified(quantifier, name, try map(array), try map(condition))
        case .aggregate(let aggregate, let node): return .aggregate(aggregate, try node.map(map))
        case .collated(let node, let collation): return .collated(try map(node), collation)
        }
    }

    /// The aggregates in it, outermost ones only.
    var aggregates: [(Aggregate, ExpressionNode?)] {
        if case .aggregate(let aggregate, let node) = self { return [(aggregate, node)] }
        return children.flatMap(\.aggregates)
    }
}
