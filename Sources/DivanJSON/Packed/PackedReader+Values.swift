// SPDX-License-Identifier: Apache-2.0

extension PackedReader {
    /// Calls a closure for each property, until one is corrupt.
    ///
    /// - Returns: Whether all were there.
    @inline(__always)
    @discardableResult
    func forEachProperty<E: Error>(
        of object: PackedNode, _ body: (_ key: PackedNode, _ value: PackedNode) throws(E) -> Void
    ) throws(E) -> Bool {
        guard object.isObject else { return false }
        var offset = object.start
        for _ in 0..<object.count {
            guard let key = node(at: offset, limit: object.end), key.isString,
                let value = node(at: key.end, limit: object.end)
            else { return false }
            offset = value.end
            try body(key, value)
        }
        return offset == object.end
    }

    /// Calls a closure for each element, until one is corrupt.
    ///
    /// - Returns: Whether all were there.
    @inline(__always)
    @discardableResult
    func forEachElement<E: Error>(
        of array: PackedNode, _ body: (_ element: PackedNode) throws(E) -> Void
    ) throws(E) -> Bool {
        guard array.isArray else { return false }
        var offset = array.start
        for _ in 0..<array.count {
            guard let element = node(at: offset, limit: array.end) else { return false }
            offset = element.end
            try body(element)
        }
        return offset == array.end
    }

    /// Unpacks a value; what is corrupt, or nested deeper than anything packed, becomes null.
    func jsonValue(_ node: PackedNode, depth: Int = JSONValue.maximumDepth) -> JSONValue {
        if node.isObject {
            guard depth > 0 else { return .null }
            var properties = JSONObject()
            properties.reserveCapacity(min(node.count, 1024))
            forEachProperty(of: node) { key, value in
                properties[string(key) ?? ""] = jsonValue(value, depth: depth - 1)
            }
            return .object(properties)
        }
        if node.isArray {
            guard depth > 0 else { return .null }
            var elements: [JSONValue] = []
            elements.reserveCapacity(min(node.count, 1024))
            forEachElement(of: node) { elements.append(jsonValue($0, depth: depth - 1)) }
            return .array(elements)
        }
        return scalar(node)
    }

    private func scalar(_ node: PackedNode) -> JSONValue {
        switch node.tag {
        case PackedTag.true: .bool(true)
        case PackedTag.false: .bool(false)
        default:
            string(node).map { .string($0) } ?? int64(node).map { .integer($0) }
                ?? exactDouble(node).map { .double($0) } ?? unsigned(node).map { .unsigned($0) }
                ?? bigNumber(node).map { .number($0) } ?? .null
        }
    }
}
