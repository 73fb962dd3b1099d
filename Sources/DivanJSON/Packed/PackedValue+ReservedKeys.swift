// SPDX-License-Identifier: Apache-2.0

extension PackedValue {
    /// The top-level keys that begin with an underscore, in their order; usually none.
    ///
    /// A document's body may hold few of them: they belong to the database, not to the app.
    public var reservedKeys: [String] {
        withReader { reader, node in
            var keys: [String] = []
            guard let node else { return keys }
            reader.forEachProperty(of: node) { key, _ in
                if key.length > 0, reader.byte(at: key.start) == 0x5F {
                    keys.append(reader.string(key) ?? "")
                }
            }
            return keys
        }
    }
}
