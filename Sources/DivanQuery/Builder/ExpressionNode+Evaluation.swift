// SPDX-License-Identifier: Apache-2.0

internal import DivanDatabase
internal import DivanJSON
internal import DivanModel

extension ExpressionNode {
    /// What the expression is in a scope; nil for missing.
    ///
    /// - Throws: `DatabaseError` with code `.io` or `.corrupted`.
    func value(in scope: ExpressionScope) throws -> JSONValue? {
        switch self {
        case .literal(let value): return value
        case .property(let path, let source):
            return scope.body(of: source).flatMap { path.value(in: $0) }?.jsonValue()
        case .meta(let field, let source): return try value(of: field, source, scope)
        case .document(let source):
            return scope.document(of: source).map { .object($0.properties) }
        case .variable(let name, let path):
            guard let value = scope.variables[name] else { return .none }
            return path.steps.isEmpty ? value : path.value(in: PackedValue(value))?.jsonValue()
        case .collated(let node, _): return try node.value(in: scope)
        case .arithmetic(let operation, let left, let right):
            guard let left = try left.value(in: scope), let right = try right.value(in: scope)
            else { return .none }
            return operation.apply(left, right)
        case .function(let function, let arguments):
            var values: [JSONValue] = []
            for argument in arguments {
                guard let value = try argument.value(in: scope) else { return .none }
                values.append(value)
            }
            return function.apply(values)
        // Bound, folded and refused before anything is computed.
        case .parameter, .aggregate, .tooDeep: return .none
        default: return try truth(in: scope).map { .bool($0) } ?? JSONValue.null
        }
    }

    /// Appends what the expression is in a scope, in the form of a row key; one byte for missing.
    ///
    /// A property goes from the packed document to the key without being unpacked.
    func appendKey(in scope: ExpressionScope, _ coder: RowKeyCoder, to key: inout [UInt8]) throws {
        switch self {
        case .property(let path, let source):
            if let value = scope.body(of: source).flatMap({ path.value(in: $0) }) {
                coder.append(value, to: &key)
            } else {
                key.append(RowKeyCoder.missing)
            }
        case .collated(let node, _): try node.appendKey(in: scope, coder, to: &key)
        default:
            if let value = try value(in: scope) {
                coder.append(value, to: &key)
            } else {
                key.append(RowKeyCoder.missing)
            }
        }
    }

    private func value(of field: MetaField, _ source: String?, _ scope: ExpressionScope) throws
        -> JSONValue?
    {
        guard let document = scope.document(of: source) else { return .none }
        switch field {
        case .id: return .string(document.id.text)
        case .revisionID: return .string(document.revisionID.description)
        case .sequence: return .integer(Int64(clamping: document.sequence))
        case .isDeleted: return .bool(document.isDeleted)
        case .expiration: return try scope.expiration(of: document)
        }
    }

    /// Whether the expression holds; nil when that is unknown.
    func truth(in scope: ExpressionScope) throws -> Bool? {
        switch self {
        case .all(let nodes):
            return try nodes.truth(decisive: false) { try $0.truth(in: scope) }
        case .any(let nodes):
            return try nodes.truth(decisive: true) { try $0.truth(in: scope) }
        case .not(let node): return try node.truth(in: scope).map { !$0 }
        case .test(let test, let node):
            let value = try node.value(in: scope)
            switch test {
            case .missing: return value == nil
            case .null: return value.map(\.isNull) ?? false
            case .valued: return value.map { !$0.isNull } ?? false
            }
        case .compare(let comparison, let left, let right):
            return try Comparing(left, right, scope).holds(comparison)
        // The value is computed once, since it may be made of such conditions in its turn.
        case .between(let node, let low, let high):
            let value = try node.value(in: scope)
            let ends: [(Comparison, ExpressionNode)] = [
                (.greaterOrEqual, low), (.lessOrEqual, high),
            ]
            return try ends.truth(decisive: false) { comparison, end in
                try Comparing(value, of: node, end, scope).holds(comparison)
            }
        case .oneOf(let node, let list):
            let value = try node.value(in: scope)
            return try list.truth(decisive: true) { item in
                try Comparing(value, of: node, item, scope).holds(.equal)
            }
        case .like(let text, let form):
            guard let text = try text.value(in: scope)?.string,
                let form = try form.value(in: scope)?.string
            else { return nil }
            return LikeForm(form).matches(text)
        case .matches(let text, let pattern):
            guard let text = try text.value(in: scope)?.string,
                let pattern = try pattern.value(in: scope)?.string
            else { return nil }
            return scope.occurs(pattern, in: text)
        case .quantified(let quantifier, let name, let array, let condition):
            return try quantify(quantifier, name, array, condition, scope)
        default: return try value(in: scope)?.bool
        }
    }

    private func quantify(
        _ quantifier: Quantifier, _ name: String, _ array: ExpressionNode,
        _ condition: ExpressionNode, _ scope: ExpressionScope
    ) throws -> Bool? {
        guard let elements = try array.value(in: scope)?.array else { return nil }
        let outer = scope.variables[name]
        defer { scope.variables[name] = outer }
        func holds(_ element: JSONValue) throws -> Bool {
            scope.variables[name] = element
            return try condition.truth(in: scope) ?? false
        }
        switch quantifier {
        case .any: return try elements.contains(where: holds)
        case .every: return try elements.allSatisfy(holds)
        case .anyAndEvery: return try !elements.isEmpty && elements.allSatisfy(holds)
        }
    }
}
