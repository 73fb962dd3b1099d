// SPDX-License-Identifier: Apache-2.0

internal import DivanJSON

extension ExpressionNode {
    /// What indexes of a collation can tell about a condition on the documents of the first source.
    ///
    /// - Parameters:
    ///   - collation: The collation of the indexes. Comparisons of another one are left out.
    ///   - source: The name of the first source.
    /// - Returns: A necessary condition.
    func constraint(_ collation: Collation, source: String?) -> QueryConstraint {
        Constraining(collation: collation, source: source).constraint(self)
    }

    /// Whether the constraint on the documents of the first source is all of the condition: a document fulfils one
    /// if and only if it fulfils the other.
    func hasWholeConstraint(_ collation: Collation, source: String?) -> Bool {
        func isProperty(_ node: ExpressionNode) -> Bool {
            guard case .property(let path, let name) = node.uncollated,
                path.isInBody
            else { return false }
            return name == nil || name.hasSameBytes(as: source)
        }
        switch self {
        case .all(let nodes), .any(let nodes):
            return nodes.allSatisfy { $0.hasWholeConstraint(collation, source: source) }
        case .between(let value, let low, let high):
            let ends: [ExpressionNode] = [
                .compare(.greaterOrEqual, value, low), .compare(.lessOrEqual, value, high),
            ]
            return ends.allSatisfy { $0.hasWholeConstraint(collation, source: source) }
        case .oneOf(let value, let list):
            return list.allSatisfy {
                ExpressionNode.compare(.equal, value, $0)
                    .hasWholeConstraint(collation, source: source)
            }
        case .test(.missing, let node): return node.collation == nil && isProperty(node)
        case .test(.null, let node): return isProperty(node)
        case .compare(let comparison, let left, let right):
            guard let value = right.constant ?? left.constant,
                isProperty(right.constant == nil ? right : left)
            else { return false }
            if value.isNull || comparison == .equal || comparison == .identical { return true }
            guard comparison != .notEqual, value.bool == nil else { return false }
            return value.double != nil || (left.collation ?? right.collation ?? .raw) == collation
        default: return false
        }
    }

    /// The first collation that a condition asks for.
    var firstCollation: Collation? {
        if let collation { return collation }
        for child in children { if let collation = child.firstCollation { return collation } }
        return nil
    }
}

/// Reads conditions as intervals of properties.
private struct Constraining {
    let collation: Collation
    let source: String?
    /// The elements that a variable stands for, inside a quantifier.
    var variable: (name: String, array: PropertyPath)?

    func constraint(_ node: ExpressionNode) -> QueryConstraint {
        switch node {
        case .all(let nodes): return .all(nodes.map(constraint))
        case .any(let nodes): return .any(nodes.map(constraint))
        case .compare(let comparison, let left, let right):
            let used = left.collation ?? right.collation ?? .raw
            if let value = right.constant { return compared(left, comparison, value, used) }
            guard let value = left.constant else { return .anything }
            return compared(right, comparison.mirrored, value, used)
        case .between(let value, let low, let high):
            return .all([
                constraint(.compare(.greaterOrEqual, value, low)),
                constraint(.compare(.lessOrEqual, value, high)),
            ])
        case .oneOf(let value, let list):
            return .any(list.map { constraint(.compare(.equal, value, $0)) })
        case .like(let text, let form):
            guard let form = form.constant?.string else { return .anything }
            return inside(text, [.prefix(LikeForm(form).prefix)], collation)
        case .matches(let text, _): return inside(text, [.type(of: "")], collation)
        case .test(.missing, let value): return tested(value, [.missing])
        case .test(.null, let value): return inside(value, [.exactly(.null)], collation)
        case .test(.valued, let value): return inside(value, [.present], collation)
        case .quantified(let quantifier, let name, let array, let condition):
            return quantified(quantifier, name, array, condition)
        default: return .anything
        }
    }

    private func compared(
        _ node: ExpressionNode, _ comparison: ExpressionNode.Comparison, _ value: JSONValue,
        _ used: Collation
    ) -> QueryConstraint {
        // Nothing compares with null, but null is null.
        if value.isNull, comparison != .identical { return .nothing }
        let value =
            node.isExpiration ? Comparing.milliseconds(value, isConstant: true) : value
        // Equality is the same in all collations.
        if comparison == .equal || comparison == .identical {
            return inside(node, [.exactly(value)], collation)
        }
        // The Booleans are two types to a collation.
        if case .bool = value { return inside(node, [.present], collation) }
        // Numbers have one order in all collations.
        let used = value.double == nil ? used : collation
        return inside(node, [comparison.interval(of: value) ?? .present], used)
    }

    /// A missing value fulfils no other condition either; a joined source is not looked at.
    private func tested(_ node: ExpressionNode, _ intervals: [ValueInterval]) -> QueryConstraint {
        if case .property = node { return inside(node, intervals, collation) }
        return .anything
    }

    private func inside(
        _ node: ExpressionNode, _ intervals: [ValueInterval], _ used: Collation
    ) -> QueryConstraint {
        switch node.uncollated {
        case .property(let path, let name) where isFirst(name) && used == collation:
            // To an index "_id" and its like are no properties.
            guard path.isInBody else { return .anything }
            return .inside(IndexComponent(path), intervals)
        case .meta(.id, let name) where isFirst(name) && used == .raw:
            return .inside(IndexComponent(.documentID), intervals)
        case .meta(.expiration, let name) where isFirst(name):
            return .inside(IndexComponent(.expiration), intervals)
        case .variable(let name, let path)
        where name.hasSameBytes(as: variable?.name) && used == collation:
            guard let variable else { return .anything }
            return .inside(IndexComponent(variable.array, element: path), intervals)
        default: return .anything
        }
    }

    private func isFirst(_ name: String?) -> Bool {
        name == nil || name.hasSameBytes(as: source)
    }

    private func quantified(
        _ quantifier: ExpressionNode.Quantifier, _ name: String, _ array: ExpressionNode,
        _ condition: ExpressionNode
    ) -> QueryConstraint {
        guard variable == nil, case .property(let path, let source) = array, isFirst(source) else {
            return .anything
        }
        let isArray = inside(array, [.type(of: .array([]))], collation)
        guard quantifier != .every else { return isArray }
        var inner = self
        inner.variable = (name, path)
        return .all([isArray, inner.constraint(condition).onElements])
    }
}

extension QueryConstraint {
    /// The part of the constraint that concerns elements: the rest of a quantifier's condition
    /// concerns the whole document, whose parts may have other names inside.
    fileprivate var onElements: QueryConstraint {
        switch self {
        case .inside(let component, _): component.isOfElements ? self : .anything
        case .all(let parts): .all(parts.map(\.onElements))
        case .any(let parts): .any(parts.map(\.onElements))
        case .anything, .nothing: self
        }
    }
}

extension ExpressionNode {
    /// The value of an expression that is the same for all documents.
    var constant: JSONValue? {
        if case .literal(let value) = uncollated { value } else { .none }
    }
}

extension ExpressionNode.Comparison {
    /// The comparison with its sides exchanged.
    var mirrored: ExpressionNode.Comparison {
        switch self {
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        case .equal, .notEqual, .identical: self
        }
    }
}
