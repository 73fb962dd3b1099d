// SPDX-License-Identifier: Apache-2.0

extension PackedValue {
    /// The top-level keys that begin with an underscore, in their order; usually none.
    ///
    /// A document's body may hold few of them: they belong to the database, not to the app.
    public var reservedKeys: [String] {
        withReader { reader, node in
            var keys: [String] = []
            guard let node, node.isObject else { return keys }
            var offset = node.start
            for _ in 0..<node.count {
                guard let key = reader.node(at: offset, limit: node.end), key.isString else {
                    break
                }
                let first = key.length > 0 ? reader.byte(at: key.start) : 0
                // Keys are sorted, and no letter but a capital stands before the underscore.
                if first > 0x5F { break }
                if first == 0x5F { keys.append(reader.string(key) ?? "") }
                offset = reader.end(ofValueAt: key.end, limit: node.end)
                if offset < 0 { break }
            }
            return keys
        }
    }

    /// Whether the value is an object.
    public var isObject: Bool { withReader { _, node in node?.isObject ?? false } }
}
